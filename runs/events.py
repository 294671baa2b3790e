"""The run's event stream: what happened, in order, kept with the run.

``publish`` appends to django-eventstream's store **in the caller's transaction**, so an event exists exactly when its
state change does; waking the open streams is a hint given after the commit. Whoever misses the hint reads the row.
"""

import asyncio
import json
import logging
import time
from collections.abc import Iterable
from typing import Any

from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from django.core.serializers.json import DjangoJSONEncoder
from django.db import transaction
from django_eventstream.models import Event, EventCounter
from django_eventstream.storage import DjangoModelStorage

WAKE_GROUP = "run-events"
WAKE_S = 1.0
WAKE_PAUSE_S = 5.0

_left_alone_until = 0.0

logger = logging.getLogger(__name__)


class EventStore(DjangoModelStorage):
    """django-eventstream's store without its 24 hour limit: events live as long as their run."""

    def trim_event_log(self) -> None:
        return


def channel_of(run_id: str) -> str:
    """The store's channel of one run."""
    return f"run:{run_id}"


def encode(data: Any) -> str:
    return json.dumps(data, cls=DjangoJSONEncoder, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def open_channel(run_id: str) -> None:
    """Make the run's counter, in the transaction that makes the run.

    The store's own lazy creation breaks when several first writers race for it.
    """
    EventCounter.objects.create(name=channel_of(run_id))
    # The store looks an id up before it reads on from it; id 0 stands for the beginning.
    # (bulk_create, because the model's save() gives every event without an id the next one.)
    Event.objects.bulk_create([Event(channel=channel_of(run_id), type="", data="null", eid=0)])


def publish(run_id: str, events: Iterable[tuple[str, Any]]) -> None:
    """Append ``(type, data)`` events to a run's stream, in order, in four statements however many there are.

    Must be called inside the transaction of the change that the events tell of.
    """
    rows = [(kind, encode(data)) for kind, data in events]
    if not rows:
        return
    channel = channel_of(run_id)
    counter = EventCounter.objects.select_for_update().get(name=channel)
    first = counter.value + 1
    Event.objects.bulk_create(
        [Event(channel=channel, type=kind, data=data, eid=first + n) for n, (kind, data) in enumerate(rows)],
        batch_size=500,
    )
    counter.value += len(rows)
    counter.save(update_fields=["value", "updated"])
    transaction.on_commit(lambda: wake(run_id))


def wake(run_id: str) -> None:
    """Tell the open streams of every web process that a run has news.

    A hint that fails costs the streams a second (they look by themselves). It must not cost the caller more: a broker
    that does not answer is given ``WAKE_S`` once, and is then left alone for ``WAKE_PAUSE_S``.
    """
    global _left_alone_until
    if time.monotonic() < _left_alone_until:
        return
    try:
        async_to_sync(_tell)(run_id)
    except Exception as problem:
        _left_alone_until = time.monotonic() + WAKE_PAUSE_S
        logger.warning("Event streams were not woken: %s", problem or type(problem).__name__)


async def _tell(run_id: str) -> None:
    layer = get_channel_layer()
    await asyncio.wait_for(layer.group_send(WAKE_GROUP, {"type": "run.news", "run_id": run_id}), WAKE_S)


def forget(run_id: str) -> None:
    """Remove a deleted run's events."""
    Event.objects.filter(channel=channel_of(run_id)).delete()
    EventCounter.objects.filter(name=channel_of(run_id)).delete()
