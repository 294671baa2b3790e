"""The app's one token: who may use the API, and how the pages' session stands for it.

There is a single bearer token per app, shared by pages, profilers and runners. It is compared in constant time, and appears
in no log, page or error. Pages sign in with it once; what the session keeps is a keyed fingerprint of the token, so a new
token ends every old session.
"""

import hmac
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import CsrfViewMiddleware
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed, PermissionDenied
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from cascade_site.errors import TooManyRequests
from cascade_site.throttle import Bucket

if TYPE_CHECKING:
    # DRF's views import this module while they are being loaded themselves.
    from rest_framework.views import APIView

wrong_api_tokens = Bucket(allowed=1000)
SESSION_KEY = "cascade_token"
SIGN_IN_LINK_MAX_AGE_S = 24 * 3600


class Client:
    """Whoever holds the token. There are no user accounts on the API."""

    is_authenticated = True
    is_anonymous = False


def token_matches(candidate: str) -> bool:
    """Whether a text is the app's token, in time that does not depend on where they differ."""
    return hmac.compare_digest(candidate.encode("utf-8", "surrogateescape"), settings.CASCADE_TOKEN.encode())


def bearer_token(header: str) -> str | None:
    """The token of an ``Authorization`` header, or None for any other scheme or shape."""
    scheme, _, value = header.partition(" ")
    value = value.strip()
    return value if scheme.lower() == "bearer" and value and " " not in value else None


def token_fingerprint() -> str:
    """What a session stores in place of the token."""
    return signing.Signer(salt="cascade.session").signature(settings.CASCADE_TOKEN)


def sign_in(request: HttpRequest) -> None:
    """Open a page session for a request that has shown the token."""
    request.session.cycle_key()
    request.session[SESSION_KEY] = token_fingerprint()


def sign_out(request: HttpRequest) -> None:
    request.session.pop(SESSION_KEY, None)


def session_is_signed_in(session: Any) -> bool:
    """Whether a session was opened with the token that is valid now."""
    return hmac.compare_digest(str(session.get(SESSION_KEY, "")), token_fingerprint())


def sign_in_code() -> str:
    """A code for a sign-in link: it opens one page session within a day, and is not the token."""
    return signing.TimestampSigner(salt="cascade.link").sign(token_fingerprint()[:16])


def sign_in_code_is_valid(code: str) -> bool:
    try:
        value = signing.TimestampSigner(salt="cascade.link").unsign(code, max_age=SIGN_IN_LINK_MAX_AGE_S)
    except signing.BadSignature:
        return False
    return hmac.compare_digest(value, token_fingerprint()[:16])


class _CsrfCheck(CsrfViewMiddleware):
    def _reject(self, request: HttpRequest, reason: str) -> str:
        return reason


def refuse_forged(request: HttpRequest) -> None:
    """Raise unless an unsafe request that a session authorises carries the CSRF token of its pages."""
    check = _CsrfCheck(lambda _request: HttpResponse())
    check.process_request(request)
    reason = check.process_view(request, lambda _request: HttpResponse(), (), {})
    if reason:
        raise PermissionDenied(f"The request was refused because it does not come from one of these pages: {reason}")


def refuse_other_sites(request: HttpRequest) -> None:
    """Without a token, what keeps another site's page from writing here is the browser's own word for where it is from."""
    if request.method not in ("GET", "HEAD", "OPTIONS") and request.headers.get("Sec-Fetch-Site") == "cross-site":
        raise PermissionDenied("The request was refused because it comes from another site.")


def refuse_guessing(address: str) -> None:
    """Note a wrong token of an address; raise 429 once there were too many within a minute. A right one always passes."""
    if wrong_api_tokens.is_spent(address):
        raise TooManyRequests("Too many wrong tokens came from your address. Wait a minute, then use the right one.")
    wrong_api_tokens.spend(address)


class TokenAuthentication(BaseAuthentication):
    """``Authorization: Bearer <token>``; any other ``Authorization`` header is a failure, not a guest."""

    def authenticate(self, request: Request) -> tuple[Client, None] | None:
        if settings.CASCADE_NO_AUTH:
            refuse_other_sites(request._request)
            return Client(), None
        header = request.headers.get("Authorization")
        if header is None:
            return None
        token = bearer_token(header)
        if token is None or not token_matches(token):
            refuse_guessing(request.META.get("REMOTE_ADDR", ""))
            raise AuthenticationFailed("The token is wrong. Send the app's token as 'Authorization: Bearer <token>'.")
        return Client(), None

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


class PageSession(BaseAuthentication):
    """The session of a page that was opened with the token, CSRF-checked on unsafe methods."""

    def authenticate(self, request: Request) -> tuple[Client, None] | None:
        if not session_is_signed_in(request._request.session):
            return None
        refuse_forged(request._request)
        return Client(), None


class HasToken(BasePermission):
    """Every API route but health."""

    message = "Send the app's token as 'Authorization: Bearer <token>'."

    def has_permission(self, request: Request, view: "APIView") -> bool:
        return isinstance(request.user, Client)
