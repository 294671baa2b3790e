"""Waking the streams is a hint: whatever becomes of it, the change and its event stand."""

import asyncio
from typing import Any

import pytest

from runs import events
from runs.models import Run
from runs.stream.journal import position_of
from tests.events.test_journal import publish_logs


class Layer:
    """A channel layer that counts its calls and then does what the test wants."""

    def __init__(self, then: Any) -> None:
        self.calls: list[dict[str, Any]] = []
        self._then = then

    async def group_send(self, group: str, message: dict[str, Any]) -> None:
        self.calls.append(message)
        await self._then()


async def answer() -> None:
    """A broker that is there."""


async def refuse() -> None:
    raise ConnectionError("refused")


async def hang() -> None:
    await asyncio.sleep(60)


@pytest.fixture
def layer_that(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(events, "_left_alone_until", 0.0)
    monkeypatch.setattr(events, "WAKE_S", 0.05)

    def install(then: Any) -> Layer:
        layer = Layer(then)
        monkeypatch.setattr(events, "get_channel_layer", lambda: layer)
        return layer

    return install


def test_the_streams_are_woken_after_the_commit(run: Run, layer_that: Any) -> None:
    layer = layer_that(answer)
    publish_logs(run, 3)
    assert layer.calls == [{"type": "run.news", "run_id": run.id}]


@pytest.mark.parametrize("then", [refuse, hang])
def test_a_broker_that_is_away_fails_no_change(run: Run, layer_that: Any, then: Any) -> None:
    layer_that(then)
    publish_logs(run, 1)
    position = position_of(run.id)
    assert position is not None
    assert position.last_id == 2


@pytest.mark.parametrize("then", [refuse, hang])
def test_a_broker_that_is_away_is_not_asked_again_for_a_while(run: Run, layer_that: Any, then: Any) -> None:
    layer = layer_that(then)
    for _ in range(3):
        publish_logs(run, 1)
    assert len(layer.calls) == 1
