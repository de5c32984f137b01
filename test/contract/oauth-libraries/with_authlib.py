import json
from os import environ

from authlib.integrations.base_client import OAuthError
from authlib.integrations.requests_client import OAuth2Session


def session(client):
    settings = {"scope": "customer-insights", "grant_type": "client_credentials", "token_endpoint": environ["TOKEN_URL"]}
    return OAuth2Session(client, environ["KEY"], **settings)


acme = session("acme")
print(json.dumps({"token": acme.fetch_token()["access_token"]}))

try:
    print(json.dumps(session("globex").fetch_token()))
except OAuthError as error:
    print(json.dumps({"denied": error.error}))

acme.token = {**acme.token, "expires_at": 1}
acme.ensure_active_token(acme.token)
print(json.dumps({"again": acme.token["access_token"]}))
