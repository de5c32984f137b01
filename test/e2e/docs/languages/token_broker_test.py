"""The promises of token_broker.py, and of the fake beside it, that need no broker."""
import json, pprint, random, socket, threading, time, unittest
from concurrent.futures import ThreadPoolExecutor
from botocore import exceptions
from fake_token_broker import FakeTokenBroker
from token_broker import TokenBroker, TokenBrokerError

random.random = lambda: 0.5
URL = "https://broker.example.com"
WITHOUT_ANSWER = [
    exceptions.EndpointConnectionError(endpoint_url=URL), exceptions.ConnectTimeoutError(endpoint_url=URL),
    exceptions.SSLError(endpoint_url=URL, error="x"), exceptions.ProxyConnectionError(proxy_url=URL),
    exceptions.ReadTimeoutError(endpoint_url=URL), exceptions.ConnectionClosedError(endpoint_url=URL),
]

def outcome(broker):
    try:
        return broker.token("acme", "x")["access_token"]
    except TokenBrokerError as error:
        return error.type

def together(calls, function):
    barrier = threading.Barrier(calls)
    with ThreadPoolExecutor(calls) as pool:
        return list(pool.map(lambda _: [barrier.wait(), function()][1], range(calls)))

class TokenBrokerTest(unittest.TestCase):
    def test_repeats_every_failure_without_an_answer_and_a_living_token_serves_meanwhile(self):
        for error in WITHOUT_ANSWER:
            broker, attempts = FakeTokenBroker(), []
            outcome(broker)
            def fail(request):
                attempts.append(request)
                raise error
            broker.send = fail
            broker.clock += 3200
            self.assertEqual((outcome(broker), outcome(broker), len(attempts)), ("fake-1", "fake-1", 1), error)
            broker.clock += 400
            self.assertEqual((outcome(broker), len(attempts)), ("network-error", 5), error)

    def test_begins_no_attempt_after_its_timeout_and_ends_one_read_later_when_the_broker_hangs(self):
        with socket.create_server(("127.0.0.1", 0)) as server:
            url = f"http://127.0.0.1:{server.getsockname()[1]}"
            broker, attempts, began = TokenBroker(url, 1, sleep=lambda _: None, read_limits=(0.5, 0.4)), [], time.monotonic()
            connect = broker.connect
            broker.connect = lambda read_limit: [attempts.append(read_limit), connect(read_limit)][1]
            outcomes = together(20, lambda: outcome(broker))
            self.assertEqual((set(outcomes), len(attempts)), ({"network-error", "timeout"}, 2))
            self.assertLess(time.monotonic() - began, 1 + 0.5 + 1)

    def test_waits_no_longer_than_its_timeout_while_another_thread_searches_for_aws_keys(self):
        broker, is_begun, others_are_done = FakeTokenBroker(), threading.Event(), threading.Event()
        broker.timeout, search = 0.2, broker.session.get_credentials
        def slowly():
            is_begun.set()
            others_are_done.wait(5)
            return search()
        broker.session.get_credentials = slowly
        with ThreadPoolExecutor(1) as pool:
            first = pool.submit(outcome, broker)
            is_begun.wait(5)
            self.assertEqual(set(together(19, lambda: outcome(broker))), {"timeout"})
            others_are_done.set()
            self.assertEqual(first.result(), "fake-1")

    def test_renews_a_living_token_in_one_thread_while_the_others_go_on_with_it(self):
        broker, served, others_are_done = FakeTokenBroker(), [], threading.Event()
        outcome(broker)
        broker.clock += 3200
        send = broker.send
        broker.send = lambda request: [others_are_done.wait(5), send(request)][1]
        def call():
            served.append(outcome(broker))
            if len(served) == 19: others_are_done.set()
        together(20, call)
        self.assertEqual((served, len(broker.asked)), (["fake-1"] * 19 + ["fake-2"], 2))

    def test_prints_no_token_though_its_member_and_json_have_it(self):
        token = FakeTokenBroker().token("acme", "x")
        for shown in [str(token), repr(token), f"{token}", "%s" % token, pprint.pformat(token)]:
            self.assertRegex(shown, r"\[redacted\]")
            self.assertNotIn("fake-1", shown)
        self.assertEqual([token["access_token"], json.loads(json.dumps(token))["access_token"]], ["fake-1"] * 2)

    def test_the_fake_issues_lets_tokens_end_replaces_refused_ones_and_fails(self):
        broker = FakeTokenBroker()
        self.assertEqual([outcome(broker), outcome(broker)], ["fake-1", "fake-1"])
        broker.clock += 3600
        self.assertEqual((outcome(broker), len(broker.asked)), ("fake-2", 2))
        broker.failure = {"type": "token-endpoint-unavailable", "detail": "It is down.", "retryable": True}
        broker.clock += 3200
        self.assertEqual(outcome(broker), "fake-2")
        broker.clock += 400
        began = broker.clock
        self.assertEqual((outcome(broker), len(broker.asked)), ("token-endpoint-unavailable", 7))
        self.assertGreater(broker.clock, began)
        broker.failure = None
        self.assertEqual(outcome(broker), "fake-3")
        service = lambda token: 200 if token["access_token"] == "fake-4" else 401
        self.assertEqual(broker.call("acme", "x", service, is_refused=lambda status: status == 401), 200)
        self.assertEqual(outcome(broker), "fake-4")
