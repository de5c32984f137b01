"""Signs requests with botocore: a JSON array on stdin, the headers of each request as a JSON array on stdout."""

import base64
import json
import sys

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials


class SigV4AuthAt(SigV4Auth):
    """`add_auth` of botocore reads the clock; this one is told the time."""

    def add_auth_at(self, request, timestamp):
        request.context["timestamp"] = timestamp
        self._modify_request_before_signing(request)
        canonical_request = self.canonical_request(request)
        string_to_sign = self.string_to_sign(request, canonical_request)
        self._inject_signature_to_request(request, self.signature(string_to_sign, request))


def sign(to_sign):
    request = AWSRequest(
        method=to_sign["method"],
        url=to_sign["url"],
        headers=to_sign["headers"],
        data=base64.b64decode(to_sign["body"]),
    )
    keys = to_sign["credentials"]
    credentials = Credentials(keys["accessKeyId"], keys["secretAccessKey"], keys.get("sessionToken"))
    signer = SigV4AuthAt(credentials, to_sign["service"], to_sign["region"])
    signer.add_auth_at(request, to_sign["timestamp"])
    return dict(request.headers.items())


json.dump([sign(to_sign) for to_sign in json.load(sys.stdin)], sys.stdout)
