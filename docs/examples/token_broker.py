"""Tokens of the token broker, for Python in Lambda: copy this file. It needs botocore alone, which Lambda has.

    broker = TokenBroker(os.environ["TOKEN_BROKER_URL"])  # once, outside of the handler, for all threads
    read = lambda token: requests.get(API, headers={"Authorization": "Bearer " + token["access_token"]}, timeout=10)
    answer = broker.call("acme", "customer-insights", read)  # once more with a new token after a 401
Usage: python3 token_broker.py <client> <service>   (with TOKEN_BROKER_URL and AWS credentials; it prints no token)
"""
import json, os, random, re, sys, threading, time
from botocore import auth, awsrequest, exceptions, httpsession, session


class TokenBrokerError(Exception):
    """A problem of the broker (RFC 9457), an answer of AWS in front of it, which has no type, or no answer."""
    def __init__(self, status, problem):
        super().__init__(f"{status} {problem.get('type', 'from AWS')}: {problem.get('detail', '')}")
        self.type, self.retryable = problem.get("type"), problem.get("retryable", status == 429 or status >= 500)


class TokenBroker:
    def __init__(self, url):
        self.url, self.lock, self.pairs = url.rstrip("/") + "/token", threading.Lock(), {}
        self.session, self.http = session.Session(), httpsession.URLLib3Session(timeout=20)
        regions = re.findall(r"\.lambda-url\.([^.]+)\.on\.", url)
        self.region = regions[0] if regions else self.session.get_config_variable("region")

    def token(self, client, service, refused=None):
        """The broker's answer, kept while the token lives; `refused`: the fingerprint of one that was turned away."""
        with self.lock:
            pair = self.pairs.setdefault((client, service), {"lock": threading.Lock(), "ends": 0, "renew": 0})
        with pair["lock"]:  # one request for all threads
            now, asked = time.time(), {"client": client, "service": service, **({"refused": refused} if refused else {})}
            held = pair["token"] if now < pair["ends"] else None
            if held and (refused != held["fingerprint"] if refused else now < pair["renew"]):
                return held
            try:
                token = self.ask(asked, attempts=1 if held and not refused else 4)
            except TokenBrokerError:
                if refused or not held:
                    raise
                pair["renew"] = now + 15
                return held  # a living token serves, and its renewal has time
            left = token["expires_in"]
            pair.update(token=token, ends=now + left - min(30, left * 0.2), renew=now + left * 0.85)
            return token

    def call(self, client, service, send, is_refused=lambda answer: answer.status_code == 401):
        """What `send` gives for a token, or for its successor when the service turns the first one away."""
        token = self.token(client, service)
        answer = send(token)
        try:
            successor = self.token(client, service, token["fingerprint"]) if is_refused(answer) else token
        except TokenBrokerError as error:
            if error.type != "refused-again":  # then the broker stands by the token: the call is refused
                raise
            successor = token
        return answer if successor["fingerprint"] == token["fingerprint"] else send(successor)

    def ask(self, members, attempts=4):
        keys = self.session.get_credentials().get_frozen_credentials()
        for attempt in range(1, attempts + 1):
            request = awsrequest.AWSRequest("POST", self.url, {"content-type": "application/json"}, json.dumps(members))
            auth.SigV4Auth(keys, "lambda", self.region).add_auth(request)  # a signature lives for five minutes
            try:
                answer = self.http.send(request.prepare())
                status, pause, told = answer.status_code, int(answer.headers.get("Retry-After", 0)), answer.content
            except exceptions.HTTPClientError:  # its text may quote what was sent
                status, pause, told = 503, 0, b'{"type": "network-error"}'
            body = json.loads(told) if told.startswith(b"{") else {}  # AWS calls even a plain text JSON
            if status == 200 and "expires_in" in body:
                return body
            error, pause = TokenBrokerError(status, body), pause + random.random() * 0.2 * 2**attempt
            if not error.retryable or error.type == "refused-again" or attempt == attempts or pause > 10:
                raise error
            time.sleep(pause)


if __name__ == "__main__":
    url, pair = os.environ.get("TOKEN_BROKER_URL"), sys.argv[1:]
    issued = TokenBroker(url).token(*pair) if url and len(pair) == 2 else sys.exit(__doc__)
    print(f"{issued['fingerprint']} lives {issued['expires_in']} s")
