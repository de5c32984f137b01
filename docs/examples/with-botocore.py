"""Asks the token broker for a token, signed by botocore, which every machine with boto3 has.

Usage: python3 with-botocore.py <client> <service>
Needs TOKEN_BROKER_URL, AWS_DEFAULT_REGION (that of the URL), and what boto3 needs to find its credentials.
"""

import json
import sys
import time
from os import environ

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.httpsession import URLLib3Session
from botocore.session import Session

TIMEOUT_SECONDS = 20  # Longer than the broker itself can take.
ATTEMPTS = 3

aws = Session()
http = URLLib3Session(timeout=TIMEOUT_SECONDS)


class TokenBrokerError(Exception):
    """A problem of the broker (RFC 9457), or an answer of AWS in front of it, which has no type."""

    def __init__(self, status, problem):
        super().__init__(f"{status} {problem.get('type', 'from AWS')}: {problem.get('detail', problem)}")
        self.status = status
        self.type = problem.get("type")
        self.retryable = problem.get("retryable", status == 429 or status >= 500)


def issue_token(client, service):
    """The broker's answer: access_token, token_type, expires_in and more. Keep it until it expires."""
    for attempt in range(1, ATTEMPTS + 1):
        answer = ask({"client": client, "service": service})
        body = members(answer)
        if answer.status_code == 200:
            return body
        error = TokenBrokerError(answer.status_code, body)
        if not error.retryable or attempt == ATTEMPTS:
            raise error
        time.sleep(int(answer.headers.get("Retry-After", attempt)))


def ask(members):
    """One request, signed anew each time because a signature lives for five minutes."""
    request = AWSRequest(
        method="POST",
        url=environ["TOKEN_BROKER_URL"].rstrip("/") + "/token",
        headers={"content-type": "application/json"},
        data=json.dumps(members),
    )
    credentials = aws.get_credentials().get_frozen_credentials()
    SigV4Auth(credentials, "lambda", aws.get_config_variable("region")).add_auth(request)
    return http.send(request.prepare())


def members(answer):
    """AWS calls even a plain text JSON."""
    try:
        body = json.loads(answer.content)
    except ValueError:
        body = None
    return body if isinstance(body, dict) else {}


if __name__ == "__main__":
    try:
        token = issue_token(*sys.argv[1:3])
    except TokenBrokerError as error:
        sys.exit(str(error))
    print(f"{token['fingerprint']} lives {token['expires_in']} s")
