import json
from os import environ

from oauthlib.oauth2 import BackendApplicationClient, OAuth2Error, TokenExpiredError
from requests.auth import HTTPBasicAuth
from requests_oauthlib import OAuth2Session

# It takes plain http for this machine only when told so.
environ["OAUTHLIB_INSECURE_TRANSPORT"] = "1"


def session(client):
    return OAuth2Session(client=BackendApplicationClient(client, scope="customer-insights"))


def fetch(session, client):
    return session.fetch_token(environ["TOKEN_URL"], auth=HTTPBasicAuth(client, environ["KEY"]))


acme = session("acme")
print(json.dumps({"token": fetch(acme, "acme")["access_token"]}))

try:
    print(json.dumps(fetch(session("globex"), "globex")))
except OAuth2Error as error:
    print(json.dumps({"denied": error.error}))

acme.token = {**acme.token, "expires_at": 1}
try:
    acme.get(environ["TOKEN_URL"])
except TokenExpiredError:
    print(json.dumps({"again": fetch(acme, "acme")["access_token"]}))
