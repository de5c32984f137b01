"""Tokens of the token broker, for Python in Lambda: copy this file. It needs botocore alone, which Lambda has.

    broker = TokenBroker(os.environ["TOKEN_BROKER_URL"])  # once, outside of the handler, for all threads
    read = lambda token: requests.get(API, headers={"Authorization": "Bearer " + token["access_token"]}, timeout=10)
    answer = broker.call("acme", "customer-insights", read)  # once more with a new token after a 401
urllib: let `read` return the HTTPError of a 401, with is_refused=lambda answer: answer.status == 401.
aiohttp: await asyncio.to_thread(broker.token, client, service), and after a 401 the same with token["fingerprint"].
Usage: python3 token_broker.py <client> <service>   (with TOKEN_BROKER_URL and AWS credentials; it prints no token)
"""
import concurrent.futures, json, os, random, re, sys, threading, time, weakref
from botocore import auth, awsrequest, exceptions, httpsession, utils
from botocore.session import Session

REFUSALS = [  # of AWS, in front of the broker: the pattern of its 403, and what to do
    ("aws-signature-expired", "signature expired", "set the clock of this machine, which is behind"),
    ("aws-signature-not-yet-current", "signature not yet current", "set the clock of this machine, which is ahead"),
    ("aws-wrong-scope", "be scoped to", "set AWS_REGION to the region of the broker"),
    ("aws-security-token-expired", "ExpiredToken|token .*expired", "renew the AWS credentials, which have expired"),
    ("aws-security-token-invalid", "UnrecognizedClient|token .*invalid", "use AWS keys that belong together"),
    ("aws-signature-mismatch", "InvalidSignature|signature we calculated", "check the secret key, and proxies"),
    ("aws-forbidden", "AccessDenied|Forbidden", "attach the policy that the command `policy` prints to the role"),
]

class TokenBrokerError(Exception):
    """Every failure: `type` names a problem of the broker (RFC 9457), or why there is none."""
    def __init__(self, type, detail, retryable=False, request_id=None):
        super().__init__(type, detail, retryable, request_id)
        self.type, self.detail, self.retryable, self.request_id = self.args

    def __str__(self):
        return f"{self.type}: {self.detail}" + (f" (request {self.request_id})" if self.request_id else "")

class Token(dict):
    """The members of the broker's answer; printed, it shows no token."""
    was_awaited = False  # whether a service that refused it was given time to know it

    def __repr__(self):
        return repr({**self, "access_token": "[redacted]"})

class TokenBroker:
    """Begins no attempt and waits for no other thread after `timeout` seconds: a call ends after that and one attempt,
    4 s to connect and 16 s to read. A living token is renewed in one attempt, with 5 s to read."""
    def __init__(self, url, timeout=20, now=time.time, sleep=time.sleep, read_limits=(16, 5)):
        if not re.fullmatch(r"(https://[^/?#@\s]+|http://(127(\.\d+){3}|localhost|\[::1\])(:\d+)?)/?", url or ""):
            raise TokenBrokerError("wrong-url", "TOKEN_BROKER_URL must be https://<host>, or http:// on this machine")
        self.region = (re.findall(r"\.lambda-url\.([^.]+)\.on\.", url) or [os.environ.get("AWS_REGION")])[0]
        if not self.region:
            raise TokenBrokerError("region-missing", "set AWS_REGION to the region of the broker: its URL names none")
        self.url, self.timeout, self.now, self.sleep = url.rstrip("/") + "/token", timeout, now, sleep
        self.session, self.tokens, self.read_limits = Session(), {}, read_limits
        self.begin()
        BROKERS.add(self)

    def connect(self, read_limit):
        """Returns a connection by the proxy and with the certificates of boto3. A kept one is dead after a freeze."""
        bundle = self.session.get_config_variable("ca_bundle") or os.environ.get("REQUESTS_CA_BUNDLE") or True
        return httpsession.URLLib3Session(bundle, utils.get_environ_proxies(self.url), (4, read_limit))

    def begin(self):
        """Forgets what a child process must not share: locks, and requests of threads that it lacks."""
        self.requests, self.lock, self.loading = {}, threading.Lock(), threading.Lock()

    def token(self, client, service, refused=None):
        """Returns the broker's answer, kept while it lives; `refused`: the fingerprint of a token to be replaced."""
        key, mine = (client, service, refused), concurrent.futures.Future()
        with self.lock:
            held, now = self.tokens.get(key[:2]), self.now()
            held = held if held and held.since <= now < held.ends and held["fingerprint"] != refused else None
            if held and (refused or now < held.renew):
                return held
            if held:
                held.renew = now + 15  # for the other threads, which go on with it, and after a failure
            request = self.requests.setdefault(key, mine)
        outcome = held or TokenBrokerError("timeout", f"there was no answer within {self.timeout} s", True)
        if request is mine:
            try:
                outcome = self.ask(held, key)
            finally:  # shared by all who wait for it
                del self.requests[key]
                mine.set_result(outcome)
        elif not held and concurrent.futures.wait([request], self.timeout).done:
            outcome = request.result()
        if isinstance(outcome, TokenBrokerError):
            raise TokenBrokerError(*outcome.args)
        return outcome

    def call(self, client, service, send, is_refused=lambda answer: answer.status_code == 401):
        """Returns what `send` returns for a token, or for its successor when the service refuses the first one."""
        answer = send(token := self.token(client, service))
        successor = self.token(client, service, token["fingerprint"]) if is_refused(answer) else token
        is_same = successor["fingerprint"] == token["fingerprint"] and not successor.was_awaited
        return answer if is_same else send(successor)

    def ask(self, held, key):
        """Returns a token or the last error, which is not raised here, where AWS's keys are in reach."""
        body = json.dumps({name: value for name, value in zip(("client", "service", "refused"), key) if value})
        deadline, session = time.monotonic() + self.timeout, self.session
        for jitter in [0] if held else [0.4, 0.8, 1.6, 0]:  # seconds; 0 is the last attempt
            began, pause = self.now(), random.random() * jitter
            request = awsrequest.AWSRequest("POST", self.url, {"content-type": "application/json"}, body)
            try:
                with self.loading:  # two threads at once could not load the files of AWS
                    credentials, http = self.session.get_credentials(), self.connect(self.read_limits[bool(held)])
                frozen = credentials and credentials.get_frozen_credentials()
                auth.SigV4Auth(frozen, "lambda", self.region).add_auth(request)
                answer = http.send(request.prepare())
                outcome = read(answer)
                pause += int(*re.findall(r"^\d{1,6}$", answer.headers.get("Retry-After", "")))  # or a proxy's date
            except (exceptions.HTTPClientError, exceptions.ConnectionError, ValueError) as error:
                advice = f"no broker answered ({causes(error)}): check the URL and the network"
                outcome = TokenBrokerError("network-error", advice, True)
            except Exception as error:  # each source of AWS keys has its own
                advice = f"attach a role, or set AWS keys ({causes(error)})"
                outcome = TokenBrokerError("aws-credentials-unavailable", advice)
            if isinstance(outcome, Token):
                life = outcome["expires_in"] - min(30, outcome["expires_in"] * 0.2)
                outcome.since, outcome.renew, outcome.ends = began, began + life * 0.85, began + life
                self.tokens[key[:2]] = outcome
                return outcome
            is_kept = outcome.type == "refused-again"  # the broker stands by its token
            if outcome.type == "aws-security-token-expired" and answer.status_code == 403 and session is self.session:
                self.session = Session()  # whose keys are read anew
                continue
            if is_kept or not outcome.retryable or not jitter or time.monotonic() + pause > deadline:
                break
            self.sleep(pause)
        kept = is_kept and self.tokens.get(key[:2])
        if kept and 1 <= pause < 10:  # the service did not know its new token yet
            self.sleep(pause)
            kept = Token(kept)
            kept.was_awaited = True
        return held or kept or outcome

BROKERS = weakref.WeakSet()
getattr(os, "register_at_fork", lambda **_: None)(after_in_child=lambda: [broker.begin() for broker in BROKERS])

def causes(error):
    """Returns the types of an error and of its cause: their texts may quote what was sent."""
    inner = getattr(error, "kwargs", {}).get("error", error)
    cause = getattr(inner, "__cause__", None) or getattr(inner, "__context__", None) or inner
    return f"{type(error).__name__}, {type(cause).__name__}"

def read(answer):
    """Returns the token of an answer, or the error that it means."""
    status, text = answer.status_code, answer.content.decode(errors="replace")
    body = json.loads(text) if text.startswith("{") else {}  # AWS calls even a plain text JSON
    if status == 200 and isinstance(body.get("expires_in"), int) and {"access_token", "fingerprint"} <= {*body}:
        return Token(body)
    if status != 200 and "type" in body:
        return TokenBrokerError(body["type"], body.get("detail"), body.get("retryable") is True, body.get("request_id"))
    if status == 403:  # its text may repeat the signed request, session token included
        said = f'{answer.headers.get("x-amzn-ErrorType", "")} {body.get("message", body.get("Message", ""))}'.strip()
        shown = "" if "x-amz-" in text.lower() else said.split("\n")[0][:200]
        unknown = "aws-refused", "", shown or "check the URL, the region and the AWS identity"
        return TokenBrokerError(*next(row[::2] for row in [*REFUSALS, unknown] if re.search(row[1], said, re.I)))
    return TokenBrokerError(f"http-{status}", "this answer is of AWS or a proxy", status == 429 or status >= 500)

if __name__ == "__main__":
    len(sys.argv) == 3 or sys.exit(__doc__)
    try:
        issued = TokenBroker(os.environ.get("TOKEN_BROKER_URL")).token(*sys.argv[1:])
    except TokenBrokerError as error:
        sys.exit(str(error))
    print(f"{issued['fingerprint']} lives {issued['expires_in']} s")
