"""Carries out the orders on its standard input with the example for Python: a line with tabs in, a list in JSON out."""
import functools, json, os, pickle, signal, sys, traceback
from concurrent.futures import ThreadPoolExecutor
from token_broker import TokenBroker, TokenBrokerError

broker_at, pool = functools.lru_cache(TokenBroker), ThreadPoolExecutor(50)

def outcome(broker, client, service, refused=None):
    try:
        return broker.call(client, service, lambda token: token["access_token"], lambda answer: answer == refused)
    except TokenBrokerError as error:
        seen = [*traceback.TracebackException.from_exception(error, capture_locals=True).format(), repr(vars(error))]
        leak = "leak " * (os.environ["AWS_SESSION_TOKEN"] in "".join(seen))
        return leak + "retryable " * error.retryable + str(pickle.loads(pickle.dumps(error)))

def in_child(broker, *pair):
    """Returns whether a child process gets a token while the lock is taken here."""
    with broker.lock:
        child = os.fork()
        if child == 0:
            signal.alarm(5)
            os._exit(outcome(broker, *pair) != "token-1")
    return str(os.waitpid(child, 0)[1] == 0)

for line in sys.stdin:
    kind, times, url, *pair = line.rstrip("\n").split("\t")
    ask = in_child if kind == "fork" else outcome
    running = [pool.submit(ask, broker_at(url), *pair) for _ in range(int(times))]
    print(json.dumps([] if kind == "begin" else [call.result() for call in running]), flush=True)
