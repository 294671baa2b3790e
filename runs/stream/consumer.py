"""The stream's HTTP side: an ASGI application of its own, beside Django.

Django's own async views pin a thread per open response; this holds a coroutine per stream, and no database connection.
"""

import asyncio
import json
import logging
from typing import Any

from channels.consumer import AsyncConsumer
from channels.exceptions import StopConsumer
from django.db import Error as DatabaseError

from runs.stream.access import Admission, Ask, Refusal, admit
from runs.stream.frames import KEEP_ALIVE
from runs.stream.hub import RETRY_S, Hub, get_hub, in_pool

logger = logging.getLogger(__name__)

KEEP_ALIVE_S = 15.0

_STREAM_HEADERS = (
    ("Content-Type", "text/event-stream; charset=utf-8"),
    ("Cache-Control", "no-cache, no-transform"),
    ("X-Accel-Buffering", "no"),
    ("X-Content-Type-Options", "nosniff"),
    # The address may hold the token.
    ("Referrer-Policy", "no-referrer"),
)
_ERROR_HEADERS = (("Content-Type", "application/json"), ("X-Content-Type-Options", "nosniff"))


class RunEvents(AsyncConsumer):
    """One client's stream of one run."""

    channel_layer_alias = None

    def __init__(self) -> None:
        self._task: asyncio.Task[None] | None = None
        self._started = False

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            if self._task is not None:
                self._task.cancel()
                await asyncio.gather(self._task, return_exceptions=True)

    async def dispatch(self, message: dict[str, Any]) -> None:
        """The stock dispatcher first hops to a thread to look after database connections; a stream has none."""
        if message["type"] == "http.request" and not message.get("more_body"):
            self._task = asyncio.create_task(self._respond())
        elif message["type"] == "http.disconnect":
            raise StopConsumer

    async def _respond(self) -> None:
        run_id: str = self.scope["url_route"]["kwargs"]["run_id"]
        try:
            answer = await in_pool(admit, Ask(self.scope), run_id)
            if isinstance(answer, Refusal):
                await self._refuse(answer)
            else:
                await self._stream(run_id, answer)
        except Exception:
            logger.exception("The event stream of %s failed.", run_id)
            if not self._started:
                await self._refuse(Refusal(500, "The server failed on this request; its log says why."))

    async def _refuse(self, refusal: Refusal) -> None:
        head = self.scope["method"] == "HEAD"
        body = b"" if refusal.detail is None else json.dumps({"detail": refusal.detail}).encode()
        headers = refusal.headers + (_ERROR_HEADERS if body else ()) + (("Content-Length", str(len(body))),)
        await self._start(refusal.status, headers)
        await self.send({"type": "http.response.body", "body": b"" if head else body})

    async def _start(self, status: int, headers: tuple[tuple[str, str], ...]) -> None:
        self._started = True
        pairs = [(name.encode(), value.encode()) for name, value in headers]
        await self.send({"type": "http.response.start", "status": status, "headers": pairs})

    async def _stream(self, run_id: str, admission: Admission) -> None:
        await self._start(200, _STREAM_HEADERS)
        hub = get_hub()
        try:
            await self._follow(hub, run_id, admission.after)
        finally:
            # Also when the server stops: a stream that ends cleanly is one that the client resumes at once.
            await self.send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _follow(self, hub: Hub, run_id: str, after: int) -> None:
        """Send what follows ``after``, then what comes, until the run has ended.

        Sending waits for a slow client (see ``cascade_site/http.py``), so nothing is queued for one: it is simply
        further back in the journal than the others.
        """
        with hub.watching(run_id) as news:
            while True:
                news.clear()
                try:
                    batch = await hub.read(run_id, after)
                except DatabaseError as problem:
                    logger.warning("The event stream of %s waits for the database: %s", run_id, problem)
                    await self._write(KEEP_ALIVE)
                    await asyncio.sleep(RETRY_S)
                    continue
                if batch.frames:
                    await self._write(batch.frames)
                    after = batch.last_id
                if batch.ended:
                    return
                if batch.complete:
                    await self._wait(news)

    async def _wait(self, news: asyncio.Event) -> None:
        while True:
            try:
                await asyncio.wait_for(news.wait(), KEEP_ALIVE_S)
                return
            except TimeoutError:
                await self._write(KEEP_ALIVE)

    async def _write(self, data: bytes) -> None:
        await self.send({"type": "http.response.body", "body": data, "more_body": True})
