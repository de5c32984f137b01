import json
from os import environ
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import urlopen


def ask(client):
    form = {"grant_type": "client_credentials", "client_id": client, "client_secret": environ["KEY"]}
    data = urlencode({**form, "scope": "customer-insights"}).encode()
    with urlopen(environ["TOKEN_URL"], data, timeout=35) as answer:
        return json.load(answer)


print(json.dumps({"token": ask("acme")["access_token"]}))

try:
    print(json.dumps(ask("globex")))
except HTTPError as error:
    print(json.dumps({"denied": json.load(error)["error"]}))

# It keeps no tokens: the application itself asks again.
print(json.dumps({"again": ask("acme")["access_token"]}))
