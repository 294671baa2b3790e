"""The hub: wakes the right streams, reads once for many, and needs no wake-up to notice."""

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any

import pytest
from channels.layers import channel_layers, get_channel_layer

from runs.events import WAKE_GROUP
from runs.stream import hub as hub_module
from runs.stream.hub import Hub
from runs.stream.journal import Batch


class Journal:
    """Stands in for the database: counts its reads, and holds them until it is told to go on."""

    def __init__(self) -> None:
        self.last_id = 0
        self.reads: list[int] = []
        self.go_on = threading.Event()
        self.go_on.set()

    def read_batch(self, run_id: str, after: int) -> Batch:
        self.reads.append(after)
        last_id = self.last_id
        self.go_on.wait(5)
        return Batch(b"x" * (last_id - after), last_id, True, False)

    def positions_of(self, run_ids: list[str]) -> dict[str, int]:
        return dict.fromkeys(run_ids, self.last_id)


@pytest.fixture
def journal(monkeypatch: pytest.MonkeyPatch) -> Journal:
    journal = Journal()
    monkeypatch.setattr(hub_module, "read_batch", journal.read_batch)
    monkeypatch.setattr(hub_module, "positions_of", journal.positions_of)
    channel_layers.backends.clear()
    return journal


def play(scene: Coroutine[Any, Any, None]) -> None:
    async def act() -> None:
        try:
            await asyncio.wait_for(scene, 10)
        finally:
            for task in asyncio.all_tasks() - {asyncio.current_task()}:
                task.cancel()

    asyncio.run(act())


def test_streams_at_the_same_place_share_one_read(journal: Journal) -> None:
    async def scene() -> None:
        hub = Hub()
        with hub.watching("run-a"):
            batches = await asyncio.gather(*(hub.read("run-a", 0) for _ in range(50)))
        assert len(batches) == 50
        assert journal.reads == [0]

    play(scene())


def test_a_read_that_began_before_the_news_is_not_shared_after_it(journal: Journal) -> None:
    async def scene() -> None:
        hub = Hub()
        journal.go_on.clear()
        with hub.watching("run-a"):
            early = asyncio.create_task(hub.read("run-a", 0))
            while not journal.reads:
                await asyncio.sleep(0.01)
            journal.last_id = 1
            hub.wake("run-a")
            late = asyncio.create_task(hub.read("run-a", 0))
            await asyncio.sleep(0.05)
            journal.go_on.set()
            assert (await early).last_id == 0
            assert (await late).last_id == 1

    play(scene())


def test_one_stream_that_goes_away_leaves_the_others_their_read(journal: Journal) -> None:
    async def scene() -> None:
        hub = Hub()
        journal.last_id = 3
        journal.go_on.clear()
        with hub.watching("run-a"):
            leaving, staying = (asyncio.create_task(hub.read("run-a", 0)) for _ in range(2))
            await asyncio.sleep(0.05)
            leaving.cancel()
            journal.go_on.set()
            assert (await staying).last_id == 3

    play(scene())


def test_a_wake_up_through_the_channel_layer_reaches_the_streams_of_its_run_alone(journal: Journal) -> None:
    async def scene() -> None:
        hub = Hub()
        with hub.watching("run-a") as a, hub.watching("run-b") as b:
            await asyncio.sleep(0.05)
            await get_channel_layer().group_send(WAKE_GROUP, {"type": "run.news", "run_id": "run-a"})
            await asyncio.wait_for(a.wait(), 0.5)
            assert not b.is_set()

    play(scene())


def test_news_without_a_wake_up_are_noticed_all_the_same(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_module, "POLL_S", 0.05)

    async def scene() -> None:
        hub = Hub()
        with hub.watching("run-a") as news:
            await asyncio.sleep(0.2)
            news.clear()
            journal.last_id = 1
            await asyncio.wait_for(news.wait(), 2)

    play(scene())


def test_nothing_is_kept_of_a_run_that_nobody_watches(journal: Journal) -> None:
    async def scene() -> None:
        hub = Hub()
        with hub.watching("run-a"):
            await hub.read("run-a", 0)
        hub.wake("run-a")
        assert not hub._waiting
        assert not hub._news
        assert not hub._reads

    play(scene())
