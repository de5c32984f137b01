"""Carries out each order on its standard input in a thread with the example for Python, and prints its outcome."""
import functools, os, pickle, signal, sys, traceback
from concurrent.futures import ThreadPoolExecutor
from token_broker import TokenBroker, TokenBrokerError

broker_at = functools.lru_cache(TokenBroker)

def outcome(broker, client, service, refused=None):
    try:
        return broker.call(client, service, lambda token: token["access_token"], lambda answer: answer == refused)
    except Exception as error:
        if not isinstance(error, TokenBrokerError):
            return repr(error)
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

def carry_out(id, kind, broker, *pair):
    told = (in_child if kind == "fork" else outcome)(broker, *pair)
    sys.stdout.write(id + "\t" + told.replace("\n", "\\n") + "\n")
    sys.stdout.flush()

with ThreadPoolExecutor(50) as pool:
    for line in sys.stdin:
        id, kind, url, *pair = line.rstrip("\n").split("\t")
        pool.submit(carry_out, id, kind, broker_at(url), *pair)
