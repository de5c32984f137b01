import json
from os import environ

from authlib.integrations.requests_client import OAuth2Session, OAuthError


def session(client):
    return OAuth2Session(
        client,
        environ["KEY"],
        scope="customer-insights",
        token_endpoint=environ["TOKEN_URL"],
        grant_type="client_credentials",
    )


acme = session("acme")
print(json.dumps({"token": acme.fetch_token()["access_token"]}))

try:
    print(json.dumps(session("globex").fetch_token()))
except OAuthError as error:
    print(json.dumps({"denied": error.error}))

# It asks again by itself before a request that would carry an expired token.
acme.token = {**acme.token, "expires_at": 1}
acme.ensure_active_token(acme.token)
print(json.dumps({"again": acme.token["access_token"]}))
