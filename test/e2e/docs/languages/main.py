"""Carries out the orders on its standard input with the example for Python: a line with tabs in, a list in JSON out."""
import functools, json, sys
from concurrent.futures import ThreadPoolExecutor
from token_broker import TokenBroker, TokenBrokerError

broker_at, pool = functools.lru_cache(TokenBroker), ThreadPoolExecutor(50)

def outcome(broker, client, service, refused=None):
    try:
        return broker.call(client, service, lambda token: token["access_token"], lambda answer: answer == refused)
    except TokenBrokerError as error:
        return "retryable " * error.retryable + str(error)

for line in sys.stdin:
    kind, times, url, *pair = line.rstrip("\n").split("\t")
    running = [pool.submit(outcome, broker_at(url), *pair) for _ in range(int(times))]
    print(json.dumps([] if kind == "begin" else [call.result() for call in running]), flush=True)
