"""A stand-in for the app: the four routes of one sim, a log by the contract's rules, and faults on demand."""

import base64
import hashlib
import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

TOKEN = "the-runner-token"


@dataclass
class Request:
    method: str
    route: str
    """What follows the sim's id: ``heartbeat``, ``logs``, ``files/NAME``, ``step-timeline``."""
    at: float
    body: dict[str, Any]


@dataclass
class App:
    """What the app knows of the sim, and how it misbehaves."""

    attempt: int = 1
    log: bytearray = field(default_factory=bytearray)
    files: dict[str, bytes] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)
    end: dict[str, Any] | None = None
    stop: bool = False
    fault: Callable[[Request], int | str | None] = lambda request: None
    """A status to answer with, ``"drop"`` to hang up unread, ``"lose"`` to do the work and hang up; None to behave."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def beats(self) -> list[Request]:
        return [request for request in self.requests if request.route == "heartbeat"]

    def states(self) -> list[str]:
        """The states reported, without repetitions."""
        states = [beat.body["state"] for beat in self.beats()]
        return [state for number, state in enumerate(states) if number == 0 or states[number - 1] != state]

    def answer(self, request: Request, raw: bytes, headers: dict[str, str]) -> tuple[int, dict[str, Any]]:
        if request.route == "heartbeat":
            return 200, {"stop": self._heartbeat(request.body)}
        if request.route == "logs":
            return self._append(request.body)
        if request.route.startswith("files/"):
            digest = base64.b64encode(hashlib.sha256(raw).digest()).decode()
            if headers.get("Content-Digest") != f"sha-256=:{digest}:":
                return 422, {"detail": "The digest does not match."}
            self.files[request.route.removeprefix("files/")] = raw
            return 201, {}
        return 200, request.body

    def _heartbeat(self, body: dict[str, Any]) -> bool:
        if self.end is not None or body["attempt"] != self.attempt:
            return True
        if body["state"] in ("finished", "failed", "cancelled"):
            self.end = body
            return False
        return self.stop

    def _append(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        size, offset, data = len(self.log), body["offset"], body["text"].encode()
        known = data[: max(0, size - offset)]
        if body["attempt"] != self.attempt or offset > size or self.log[offset : offset + len(known)] != known:
            return 409, {"detail": "The chunk does not fit.", "size_bytes": size}
        self.log += data[len(known) :]
        return 200, {"size_bytes": len(self.log)}


class AppServer:
    """Serves an :class:`App` on a port; ``down`` and ``up`` take it away and bring it back on the same one."""

    def __init__(self, app: App) -> None:
        self.app = app
        self.port = 0
        self.up()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def up(self) -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", self.port), _handler(self.app))
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()

    def down(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _handler(app: App) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def handle_request(self) -> None:
            raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            parts = urlsplit(self.path)
            route = parts.path.split("/", 4)[4]
            is_json = self.headers.get("Content-Type") == "application/json" and not route.startswith("files/")
            body = json.loads(raw) if is_json else {"attempt": int(parse_qs(parts.query)["attempt"][0])}
            request = Request(self.command, route, time.monotonic(), body)
            with app.lock:
                app.requests.append(request)
                status, answer = self._outcome(request, raw)
            if status:
                data = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)
            self.close_connection = True

        def _outcome(self, request: Request, raw: bytes) -> tuple[int, dict[str, Any]]:
            if self.headers.get("Authorization") != f"Bearer {TOKEN}":
                return 401, {"detail": "The token is wrong."}
            fault = app.fault(request)
            if isinstance(fault, int):
                return fault, {"detail": "A fault."}
            if fault == "drop":
                return 0, {}
            status, answer = app.answer(request, raw, dict(self.headers))
            return (0, {}) if fault == "lose" else (status, answer)

        do_POST = do_PUT = handle_request  # noqa: N815 - the base class's names

        def log_message(self, format: str, *args: Any) -> None:
            pass

    return Handler
