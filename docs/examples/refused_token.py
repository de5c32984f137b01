"""Calls APIs with tokens of `token-broker-client serve`, by Authlib, and replaces a token that an API refuses: copy it.

    tokens = OAuth2Session("acme", KEY, scope="customer-insights", grant_type="client_credentials",
                           token_endpoint="http://127.0.0.1:2775/token")
    session = with_tokens(tokens, "https://insights.example.com")  # for all threads
"""
import concurrent.futures, threading
import requests
from requests.adapters import HTTPAdapter

def with_tokens(tokens, *origins):
    """Returns a session that adds the token for these origins (scheme, host, port) and no others."""
    session, adapter = requests.Session(), RefusedToken(tokens)
    for origin in origins:
        session.mount(origin.rstrip("/") + "/", adapter)  # chosen anew for each step of a redirect
    return session

class RefusedToken(HTTPAdapter):
    """Repeats a request once after a 401, if there is another token and the body can be sent again."""
    def __init__(self, tokens):
        super().__init__()
        tokens.trust_env = False  # no proxy may see the key
        self.tokens, self.token, self.lock, self.asked = tokens, None, threading.Lock(), {}

    def send(self, request, **options):
        token = self.get()
        answer = super().send(authorized(request, token), **options)
        if answer.status_code != 401:
            return answer
        try:
            successor = self.get(token["fingerprint"])
        except Exception:  # after refused-again the broker stands by its token: the API refuses the call
            return answer
        if not isinstance(request.body, (str, bytes, type(None))):
            return answer
        answer.close()
        return super().send(authorized(request, successor), **options)

    def get(self, refused=None):
        """Returns the token, asked for once by all threads that wait; they share a failure, too."""
        mine = concurrent.futures.Future()
        with self.lock:
            if self.token and not self.token.is_expired() and self.token["fingerprint"] != refused:
                return self.token
            asked = self.asked.setdefault(refused, mine)
        if asked is mine:
            try:
                self.token = self.tokens.fetch_token(timeout=35, **({"refused": refused} if refused else {}))
                mine.set_result(self.token)
            except requests.HTTPError as error:  # of a 5xx, without its problem
                mine.set_exception(requests.HTTPError(error.response.text, response=error.response))
            except BaseException as error:
                mine.set_exception(error)
            del self.asked[refused]
        return asked.result()

def authorized(request, token):
    copy = request.copy()
    copy.headers["Authorization"] = "Bearer " + token["access_token"]
    return copy
