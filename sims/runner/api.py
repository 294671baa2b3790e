"""The four routes that a simulator reports by, through a network and a server that may be away."""

import base64
import hashlib
import random
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx

RETRIED = frozenset({408, 423, 425, 429})
"""The client errors that another try may cure; all others are final."""
FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 30.0
HEARTBEAT_TIMEOUT_S = 10.0


class RefusedError(Exception):
    """The app answered and said no: the same request will never pass."""

    def __init__(self, status: int, detail: str, size_bytes: int | None = None) -> None:
        super().__init__(f"the app answered {status}: {detail}")
        self.status = status
        self.size_bytes = size_bytes


class OutOfPatienceError(Exception):
    """The app has been away for longer than a runner waits."""


class Outage:
    """What all threads of a runner know of a server that does not answer; it paces them together.

    Each failure makes the pause until the next try longer, whoever makes it, so that an outage of ten minutes costs a
    runner some thirty requests in all.
    """

    def __init__(self, patience_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._patience_s = patience_s
        self._clock = clock
        self._lock = threading.Lock()
        self._since: float | None = None
        self._failures = 0
        self._next_try = 0.0
        self.is_abandoned = False

    @property
    def lasts(self) -> bool:
        return self._since is not None

    def failed(self, why: str, request_since: float, retry_after_s: float = 0.0) -> None:
        """Note a try without an answer. Raises :class:`OutOfPatienceError` when it has gone on for too long.

        A request counts from its own first try: where one route fails and others answer, the outage as a whole never
        lasts.
        """
        with self._lock:
            now = self._clock()
            self._since = now if self._since is None else self._since
            if now - request_since >= self._patience_s or self.is_abandoned:
                raise OutOfPatienceError(f"the app did not answer for {now - request_since:.0f} s ({why})")
            pause = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2**self._failures)
            # Jitter: a restarted server should not meet all its runners in the same instant.
            self._next_try = now + max(retry_after_s, pause * random.uniform(0.5, 1.0))  # noqa: S311
            self._failures = min(self._failures + 1, 16)

    def abandon(self) -> None:
        """Nobody waits any longer: a request that fails from now on is given up at once."""
        self.is_abandoned = True

    def ended(self) -> None:
        with self._lock:
            self._since, self._failures, self._next_try = None, 0, 0.0

    def pause_s(self) -> float:
        """How long to wait before the next try; claims that try for the caller when it is due."""
        with self._lock:
            now = self._clock()
            left = self._next_try - now
            if left <= 0 and self._since is not None:
                # One thread asks whether the server is back; the others wait for what it finds.
                self._next_try = now + FIRST_PAUSE_S
            return max(0.0, left)


class Api:
    """One sim's reports. Every method tries until the app has answered, and may be called from any thread."""

    def __init__(self, url: str, token: str, sim_id: str, attempt: int, outage: Outage) -> None:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._client = httpx.Client(
            base_url=f"{url}/api/sims/{sim_id}/", headers=headers, timeout=httpx.Timeout(30, connect=5)
        )
        self._attempt = attempt
        self._outage = outage

    def close(self) -> None:
        self._client.close()

    def heartbeat(self, report: dict[str, Any]) -> bool:
        """Report a state; whether the runner is to stop.

        Raises :class:`RefusedError` and :class:`OutOfPatienceError`, as all methods do.
        """
        answer = self._send(lambda: self._client.post("heartbeat", json={"attempt": self._attempt, **report}))
        return bool(answer.json()["stop"])

    def try_heartbeat(self, report: dict[str, Any], since: float) -> bool | None:
        """As ``heartbeat`` but at most one request, and none before its time in an outage; None without an answer.

        ``since``: when the app was last heard of by ``time.monotonic()``; patience counts from there.
        """
        if self._outage.pause_s():
            return None
        body = {"attempt": self._attempt, **report}
        answer = self._try(lambda: self._client.post("heartbeat", json=body, timeout=HEARTBEAT_TIMEOUT_S), since)
        return None if answer is None else bool(answer.json()["stop"])

    def append_log(self, offset: int, text: bytes) -> int:
        """Append a chunk; the size of the log that the app then has."""
        body = {"offset": offset, "text": text.decode(), "attempt": self._attempt}
        return int(self._send(lambda: self._client.post("logs", json=body)).json()["size_bytes"])

    def post_timeline(self, timeline: dict[str, Any], comparison: dict[str, Any]) -> None:
        """One that was predicted here, and that the app may predict anew."""
        body = {"timeline": timeline, "comparison": comparison, "attempt": self._attempt, "origin": "predicted"}
        self._send(lambda: self._client.post("step-timeline", json=body))

    def put_file(self, path: Path, content_type: str) -> None:
        """Upload a file under its name, with a digest that the app checks."""
        with path.open("rb") as file:
            digest = base64.b64encode(hashlib.file_digest(file, "sha256").digest()).decode()
        headers = {
            "Content-Type": content_type,
            "Content-Length": str(path.stat().st_size),
            "Content-Digest": f"sha-256=:{digest}:",
        }

        def put() -> httpx.Response:
            with path.open("rb") as file:
                params = {"attempt": self._attempt}
                return self._client.put(f"files/{path.name}", content=file, headers=headers, params=params)

        self._send(put)

    def _send(self, request: Callable[[], httpx.Response]) -> httpx.Response:
        since = time.monotonic()
        while True:
            while (pause_s := self._outage.pause_s()) and not self._outage.is_abandoned:
                time.sleep(min(pause_s, 0.25))
            answer = self._try(request, since)
            if answer is not None:
                return answer

    def _try(self, request: Callable[[], httpx.Response], since: float) -> httpx.Response | None:
        """The app's answer; None where another try may bring one."""
        try:
            answer = request()
        except httpx.TransportError as error:
            self._outage.failed(f"{type(error).__name__}: {error}", since)
            return None
        if answer.status_code >= 500 or answer.status_code in RETRIED:
            self._outage.failed(f"it answered {answer.status_code}", since, _retry_after_s(answer))
            return None
        self._outage.ended()
        if answer.is_error:
            raise _refusal(answer)
        return answer


def _retry_after_s(answer: httpx.Response) -> float:
    text = answer.headers.get("Retry-After", "")
    return min(float(text), 120.0) if text.isascii() and text.isdigit() else 0.0


def _refusal(answer: httpx.Response) -> RefusedError:
    try:
        body = answer.json()
        return RefusedError(answer.status_code, str(body["detail"]), body.get("size_bytes"))
    except (ValueError, TypeError, KeyError, AttributeError):
        return RefusedError(answer.status_code, answer.reason_phrase)
