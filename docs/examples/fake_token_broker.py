"""A TokenBroker for tests, without network, AWS or waiting: copy this file beside token_broker.py.
    broker = FakeTokenBroker()                        # its tokens are fake-1, fake-2 and so on
    broker.clock += 3600                              # they end; the pauses of the broker move the clock, too
    broker.failure = {"type": "credential-rejected"}  # the answer to every request, until it is None
    assert broker.asked == [{"client": "acme", "service": "customer-insights"}]
"""
import hashlib, itertools, json, types
from token_broker import TokenBroker

class FakeTokenBroker(TokenBroker):
    def __init__(self, lifetime=3600):
        super().__init__("https://fake.lambda-url.us-east-1.on.aws", now=lambda: self.clock, sleep=self.pass_time)
        self.session.set_credentials("AKIDFAKE", "fake")
        self.clock, self.lifetime, self.failure, self.asked, self.issued = 0, lifetime, None, [], {}
        self.names = (f"fake-{number}" for number in itertools.count(1))

    def connect(self, read_limit):
        return self

    def pass_time(self, seconds):
        self.clock += seconds

    def send(self, request):
        self.asked.append(json.loads(request.body))
        status, answer = (424, self.failure) if self.failure else (200, self.issue(**self.asked[-1]))
        return types.SimpleNamespace(status_code=status, headers={}, content=json.dumps(answer).encode())

    def issue(self, client, service, refused=None):
        name, ends = self.issued.get((client, service), ("", 0))
        fingerprint = lambda: hashlib.sha256(name.encode()).hexdigest()[:16]
        if ends - self.clock <= self.lifetime * 0.2 or fingerprint() == refused:
            name, ends = self.issued[client, service] = next(self.names), self.clock + self.lifetime
        return {"access_token": name, "fingerprint": fingerprint(), "expires_in": int(ends - self.clock)}
