"""Who may open a stream, and from where in the journal it goes on.

The stream does not pass through Django's views, so the API's rules are applied here: the token as a header, as
``?token=`` (a browser's EventSource sends no headers), or the session of a page.
"""

from dataclasses import dataclass
from importlib import import_module
from typing import Any
from urllib.parse import parse_qs

from django.conf import settings
from django.http import parse_cookie

from cascade_site.auth import HasToken, bearer_token, session_is_signed_in, token_matches
from cascade_site.errors import no_such
from runs.stream.journal import position_of

WRONG_TOKEN = "The token is wrong. Send the app's token as 'Authorization: Bearer <token>' or as '?token='."  # noqa: S105


@dataclass(frozen=True, slots=True)
class Refusal:
    """An answer in place of a stream; ``detail`` None means one without a body."""

    status: int
    detail: str | None
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Admission:
    """The stream may start with the event that follows ``after``."""

    after: int


class Ask:
    """What a request says that matters here."""

    def __init__(self, scope: dict[str, Any]) -> None:
        self.method: str = scope["method"]
        self.headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        self._query = parse_qs(scope["query_string"].decode("latin-1"), errors="surrogateescape")

    def query(self, name: str) -> str | None:
        return self._query.get(name, [None])[-1]

    @property
    def session_key(self) -> str | None:
        return parse_cookie(self.headers.get("cookie", "")).get(settings.SESSION_COOKIE_NAME)

    @property
    def last_event_id(self) -> int | None:
        """The position to resume from; None on a fresh connection.

        ``?after=`` says the same for a page that was rendered with an event's state and goes on from there: EventSource
        lets nobody set the header. A reconnecting EventSource repeats the query, so the header counts for more.
        """
        text = self.headers.get("last-event-id") or self.query("after") or ""
        return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None


def admit(ask: Ask, run_id: str) -> Admission | Refusal:
    """Check a request for a run's stream. Reads the session and the journal's end: call it on a thread of the pool."""
    refusal = _refuse_stranger(ask)
    if refusal is not None:
        return refusal
    if ask.method != "GET":
        return Refusal(405, f'Method "{ask.method}" not allowed.', (("Allow", "GET"),))
    position = position_of(run_id)
    if position is None:
        return Refusal(404, str(no_such("run", run_id).detail))
    after = ask.last_event_id
    if after is None or after > position.last_id:
        # An id that this journal never gave (a restored database, another run's) leaves only the whole story.
        return Admission(0)
    if after == position.last_id and position.ended:
        # 204 is what tells an EventSource to stop reconnecting.
        return Refusal(204, None)
    return Admission(after)


def _refuse_stranger(ask: Ask) -> Refusal | None:
    if settings.CASCADE_NO_AUTH:
        return None
    header, in_query = ask.headers.get("authorization"), ask.query("token")
    if header is not None or in_query is not None:
        token = bearer_token(header) if header is not None else in_query
        known = token is not None and token_matches(token)
        return None if known else _unauthorized(WRONG_TOKEN)
    return None if _is_signed_in(ask.session_key) else _unauthorized(HasToken.message)


def _is_signed_in(session_key: str | None) -> bool:
    if session_key is None:
        return False
    return session_is_signed_in(import_module(settings.SESSION_ENGINE).SessionStore(session_key))


def _unauthorized(detail: str) -> Refusal:
    return Refusal(401, detail, (("WWW-Authenticate", "Bearer"),))
