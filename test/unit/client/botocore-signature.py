"""Reads a received request as JSON and prints the Authorization header that botocore calculates for it."""

import json
import sys

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

received = json.load(sys.stdin)
signed = received["headers"]["authorization"].split("SignedHeaders=")[1].split(",")[0].split(";")
request = AWSRequest(
    method=received["method"],
    url=received["origin"] + received["url"],
    headers={name: received["headers"][name] for name in signed},
    data=received["body"],
)
request.context["timestamp"] = received["headers"]["x-amz-date"]

signer = SigV4Auth(Credentials("AKIDEXAMPLE", received["secret"]), "lambda", received["region"])
canonical = signer.canonical_request(request)
signature = signer.signature(signer.string_to_sign(request, canonical), request)
print(f"AWS4-HMAC-SHA256 Credential={signer.scope(request)}, SignedHeaders={';'.join(signed)}, Signature={signature}")
