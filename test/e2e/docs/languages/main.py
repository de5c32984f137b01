"""Carries out the orders on its standard input with the example for Authlib: a line with tabs in, a list in JSON out."""

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from os import environ

from authlib.integrations.requests_client import OAuth2Session
from refused_token import with_tokens

tokens = OAuth2Session(
    "acme",
    environ["KEY"],
    scope="customer-insights",
    grant_type="client_credentials",
    token_endpoint=environ["TOKEN_URL"],
)
session = with_tokens(tokens, environ["ORIGIN"])


def carry_out(order):
    kind, _, url, *body = order
    data = {"get": lambda: None, "post": lambda: body[0], "stream": lambda: iter([body[0].encode()])}[kind]()
    try:
        answer = session.request("GET" if kind == "get" else "POST", url, data=data, timeout=60)
        return str(answer.status_code)
    except Exception as error:
        return f"{type(error).__name__} {error}"


for line in sys.stdin:
    order = line.rstrip("\n").split("\t")
    times = int(order[1])
    with ThreadPoolExecutor(times) as pool:
        print(json.dumps(list(pool.map(carry_out, [order] * times))), flush=True)
