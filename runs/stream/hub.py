"""What tells this process's open streams that there is more to read, and reads it once for all of them.

One hub per event loop listens on one group of the channel layer. Wake-ups are hints: every ``POLL_S`` the hub also
looks at the journals of the runs that are open here, in one query, so a lost hint or a broker that is away only delays.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from itertools import count
from typing import Any, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

from channels.db import database_sync_to_async
from channels.layers import get_channel_layer

from runs.events import WAKE_GROUP
from runs.stream.journal import Batch, positions_of, read_batch

logger = logging.getLogger(__name__)

POLL_S = 1.0
RETRY_S = 1.0
REJOIN_S = 3600.0
"""A layer's group memberships end after a day; joining again is harmless."""

P = ParamSpec("P")
T = TypeVar("T")

_pool = ThreadPoolExecutor(max_workers=4, thread_name_prefix="event-streams")


async def in_pool(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a function that uses the database on one of four threads, however many streams there are."""
    result: T = await database_sync_to_async(function, thread_sensitive=False, executor=_pool)(*args, **kwargs)
    return result


class Hub:
    """The open streams of one event loop."""

    def __init__(self) -> None:
        self._waiting: defaultdict[str, set[asyncio.Event]] = defaultdict(set)
        self._ticks = count()
        self._news: dict[str, int] = {}
        """The tick of each watched run's last news: it tells reads that may have missed them from those that cannot."""
        self._known: dict[str, int] = {}
        self._reads: dict[tuple[str, int, int], asyncio.Task[Batch]] = {}
        self._tasks = [asyncio.create_task(self._listen()), asyncio.create_task(self._poll())]

    @contextmanager
    def watching(self, run_id: str) -> Iterator[asyncio.Event]:
        """An event that is set whenever the run may have something new. Enter before the first read, or miss what falls
        between the two."""
        event = asyncio.Event()
        if run_id not in self._waiting:
            self._news[run_id] = next(self._ticks)
        self._waiting[run_id].add(event)
        try:
            yield event
        finally:
            self._waiting[run_id].discard(event)
            if not self._waiting[run_id]:
                for table in (self._waiting, self._news, self._known):
                    table.pop(run_id, None)

    @property
    def open_streams(self) -> int:
        return sum(map(len, self._waiting.values()))

    async def read(self, run_id: str, after: int) -> Batch:
        """What follows ``after``; streams that stand at the same place share one read.

        Only reads that began since the last news are shared: an older one may have missed what the news is about. The
        caller is watching the run.
        """
        key = (run_id, after, self._news[run_id])
        task = self._reads.get(key)
        if task is None:
            task = asyncio.create_task(in_pool(read_batch, run_id, after))
            self._reads[key] = task
            task.add_done_callback(lambda _: self._reads.pop(key, None))
        # One stream that goes away must not take the others' read with it.
        return await asyncio.shield(task)

    def wake(self, run_id: str) -> None:
        """Set every stream of a run going."""
        if run_id not in self._waiting:
            return
        self._news[run_id] = next(self._ticks)
        for event in self._waiting[run_id]:
            event.set()

    async def _listen(self) -> None:
        layer = get_channel_layer()
        while True:
            try:
                channel = await layer.new_channel()
                await layer.group_add(WAKE_GROUP, channel)
                rejoin = asyncio.create_task(self._rejoin(layer, channel))
                try:
                    while True:
                        # Never under a timeout: a cancelled receive unsubscribes the channel.
                        message = await layer.receive(channel)
                        self.wake(message["run_id"])
                finally:
                    rejoin.cancel()
            except Exception as problem:
                logger.warning("Event streams hear no wake-ups (%s); they look every %g s.", problem, POLL_S)
                await asyncio.sleep(RETRY_S)

    @staticmethod
    async def _rejoin(layer: Any, channel: str) -> None:
        while True:
            await asyncio.sleep(REJOIN_S)
            with suppress(Exception):
                await layer.group_add(WAKE_GROUP, channel)

    async def _poll(self) -> None:
        while True:
            await asyncio.sleep(POLL_S)
            if not self._waiting:
                continue
            try:
                positions = await in_pool(positions_of, list(self._waiting))
            except Exception as problem:
                logger.warning("Event streams cannot read the database: %s", problem)
                continue
            for run_id, last_id in positions.items():
                if self._known.get(run_id) != last_id:
                    self.wake(run_id)
                if run_id in self._waiting:
                    self._known[run_id] = last_id


_hubs: "WeakKeyDictionary[asyncio.AbstractEventLoop, Hub]" = WeakKeyDictionary()


def get_hub() -> Hub:
    """The running loop's hub, made for its first stream."""
    loop = asyncio.get_running_loop()
    if loop not in _hubs:
        _hubs[loop] = Hub()
    return _hubs[loop]


def open_streams() -> int:
    """How many event streams this process holds open."""
    return sum(hub.open_streams for hub in list(_hubs.values()))
