"""HTTP under daphne, with bounded memory and bounded patience.

daphne's own request keeps a whole body in memory twice before the application sees it, sends as fast as the application
writes whether or not the client reads, and lets anybody send anything of any size. Here

- a body stays in the file that Twisted received it into, and the application reads it piece by piece;
- an announced length over the route's limit is answered 413 before the body is read, and a body of unknown length is
  cut off at the limit;
- ``send`` waits while the client is slow;
- headers must be complete in ``HEADERS_S``, and a connection that is silent while it should send is closed.

:mod:`daphne.server` must be imported first: it chooses the reactor.
"""

import asyncio
import json
from io import BytesIO
from typing import IO, Any
from urllib.parse import unquote

from daphne.http_protocol import WebRequest
from twisted.internet import reactor as _reactor
from twisted.internet.interfaces import IPushProducer
from twisted.web import http
from zope.interface import implementer  # type: ignore[import-untyped]

from cascade_site.security import body_limit_bytes, too_large

reactor: Any = _reactor

HEADERS_S = 30
"""From a request's first byte to the end of its headers."""
IDLE_S = 60
"""Without a byte while a request is being received, or between two requests."""
LINGER_S = 5
"""How long a refused body is read and thrown away: closing at once would reset the connection under the answer."""
SEND_S = 60
"""How long a response waits for a client that does not read."""
READ_BYTES = 64 * 1024

_REASONS = {
    400: "Bad Request",
    408: "Request Timeout",
    413: "Content Too Large",
    431: "Request Header Fields Too Large",
    507: "Insufficient Storage",
}


class RequestBody:
    """What the application receives: the body from its file, then, when it comes to that, the disconnect.

    It stands where daphne has a queue that holds the body a second time.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._size = file.seek(0, 2)
        self._sent = 0
        self._complete = False
        self._gone = asyncio.Event()
        file.seek(0)

    async def receive(self) -> dict[str, Any]:
        """The application's ``receive``."""
        if not self._complete and not self._gone.is_set():
            chunk = self._file.read(READ_BYTES)
            self._sent += len(chunk)
            self._complete = self._sent >= self._size
            if self._complete:
                self._file.close()
            return {"type": "http.request", "body": chunk, "more_body": not self._complete}
        await self._gone.wait()
        return {"type": "http.disconnect"}

    def put_nowait(self, message: dict[str, Any]) -> None:
        """What daphne tells the application: of its messages only the disconnect is news."""
        if message["type"] == "http.disconnect":
            self._gone.set()
            self._file.close()


@implementer(IPushProducer)
class Brake:
    """Tells the application's ``send`` when the client's side is full; Twisted pauses and resumes it."""

    def __init__(self) -> None:
        self._free = asyncio.Event()
        self._free.set()

    def pauseProducing(self) -> None:  # noqa: N802
        self._free.clear()

    def resumeProducing(self) -> None:  # noqa: N802
        self._free.set()

    def stopProducing(self) -> None:  # noqa: N802
        self._free.set()

    async def wait(self) -> None:
        """Return when there is room; :class:`TimeoutError` after ``SEND_S``."""
        if not self._free.is_set():
            await asyncio.wait_for(self._free.wait(), SEND_S)


class Request(WebRequest):
    """One request, and the response to it."""

    def __init__(self, channel: "Channel", *args: Any) -> None:
        # Twisted would read every form into memory to parse it; Django does that itself.
        super().__init__(channel, *args, parsePOSTFormSubmission=False)
        self._brake = Brake()
        self._received_bytes = 0

    def handleContentChunk(self, data: bytes) -> None:  # noqa: N802
        """Take a piece of the body, unless it is over the limit with it."""
        self._received_bytes += len(data)
        if self._received_bytes > self.channel.limit_bytes:
            self.channel.refuse(413, too_large(None, self.channel.limit_bytes))
        if self.channel.refused:
            return
        try:
            super().handleContentChunk(data)
        except OSError as problem:
            self.channel.refuse(507, f"The server could not store the request's body: {problem.strerror}.")

    def take_content(self) -> IO[bytes]:
        """The received body; daphne, which would go on to queue it, finds an empty one in its place."""
        content: IO[bytes] = self.content  # type: ignore[has-type]
        self.content = BytesIO()
        return content

    def handle_reply(self, message: dict[str, Any]) -> None:
        """Write a part of the response, with the brake on."""
        if self.producer is None and not self.finished and self.channel is not None:
            self.registerProducer(self._brake, True)
        super().handle_reply(message)

    @property
    def is_stream(self) -> bool:
        """Whether the response is an event stream, which ends only when somebody ends it."""
        types = self.responseHeaders.getRawHeaders(b"Content-Type", [])
        return any(value.startswith(b"text/event-stream") for value in types)

    def finish(self) -> None:
        """End the response."""
        if self.producer is not None:
            self.unregisterProducer()
        super().finish()

    def connectionLost(self, reason: Any) -> None:  # noqa: N802
        """The client is gone: whoever waits to send to it need not wait any longer."""
        self._brake.stopProducing()
        super().connectionLost(reason)

    async def drained(self) -> None:
        """Wait until the client has taken most of what was written; give it up if it does not."""
        try:
            await self._brake.wait()
        except TimeoutError:
            if self.channel is not None:
                self.channel.transport.abortConnection()

    def basic_error(self, status: int, status_text: bytes, body: str) -> None:
        """daphne's own refusals, in the API's form."""
        content = json.dumps({"detail": body}).encode()
        headers = [(b"Content-Type", b"application/json"), (b"Content-Length", str(len(content)).encode())]
        self.handle_reply({"type": "http.response.start", "status": status, "headers": headers})
        self.handle_reply({"type": "http.response.body", "body": content})


class Channel(http.HTTPChannel):
    """One connection. It decides on a body before it is read."""

    requestFactory = Request  # type: ignore[assignment]  # noqa: N815
    transport: Any

    def __init__(self) -> None:
        super().__init__()
        self.refused = False
        self.limit_bytes = 0
        self._headers_call: Any = None
        self._linger_call: Any = None

    def lineReceived(self, line: bytes) -> None:  # noqa: N802
        """A line of the head. The clock runs from the first one, whatever trickles in."""
        if self._headers_call is None:
            self._headers_call = reactor.callLater(HEADERS_S, self._headers_overdue)
        super().lineReceived(line)

    def _headers_overdue(self) -> None:
        self._headers_call = None
        self.refuse(408, f"The headers took more than {HEADERS_S} s.")

    def allHeadersReceived(self) -> None:  # noqa: N802
        """The head is complete: refuse what the route would not take, else go on to the body."""
        self._stop_clock("_headers_call")
        address: bytes = self._path  # type: ignore[assignment]
        path = unquote(address.partition(b"?")[0].decode("latin-1"))
        self.limit_bytes = body_limit_bytes(self._command.decode("latin-1"), path)
        if self.length is not None and self.length > self.limit_bytes:
            self.refuse(413, too_large(self.length, self.limit_bytes))
        else:
            super().allHeadersReceived()

    def rawDataReceived(self, data: bytes) -> None:  # noqa: N802
        """Bytes of a body; those of a refused one are dropped."""
        if not self.refused:
            super().rawDataReceived(data)

    def allContentReceived(self) -> None:  # noqa: N802
        """The body is complete."""
        if not self.refused:
            super().allContentReceived()

    def refuse(self, status: int, detail: str) -> None:
        """Answer here and now, without the application, and take no further request."""
        if self.refused or self.transport is None:
            return
        self.refused = True
        self.setRawMode()
        body = json.dumps({"detail": detail}).encode()
        head = (
            f"HTTP/1.1 {status} {_REASONS[status]}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        self.setTimeout(None)
        self._linger_call = reactor.callLater(LINGER_S, self.transport.abortConnection)

    def lineLengthExceeded(self, line: bytes) -> None:  # noqa: N802
        """A header, or the address, longer than Twisted takes."""
        self.refuse(431, f"A header line has at most {self.MAX_LENGTH} bytes.")

    def _respondToBadRequestAndDisconnect(self) -> None:  # noqa: N802
        self.refuse(400, "The request is not well-formed HTTP/1.1.")

    def connectionLost(self, reason: Any = None) -> None:  # noqa: N802
        """The connection is closed."""
        self._stop_clock("_headers_call")
        self._stop_clock("_linger_call")
        super().connectionLost(reason)

    def _stop_clock(self, name: str) -> None:
        call = getattr(self, name)
        setattr(self, name, None)
        if call is not None and call.active():
            call.cancel()


class Factory(http.HTTPFactory):
    """Makes a :class:`Channel` for each connection."""

    protocol = Channel  # type: ignore[assignment]

    def __init__(self, server: Any) -> None:
        super().__init__(timeout=IDLE_S)
        self.server = server
