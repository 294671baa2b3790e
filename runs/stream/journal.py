"""Reading a run's journal from a position on: plain functions for a thread of the pool, one or two queries each."""

from collections.abc import Collection
from dataclasses import dataclass

from django.db.models import Exists
from django_eventstream.models import Event, EventCounter

from runs.events import channel_of
from runs.models import ENDED, Run
from runs.stream.frames import encode_frames

BATCH_EVENTS = 200
"""What is read and sent at once: some 100 KB, so that a long replay costs neither side much memory."""


@dataclass(frozen=True, slots=True)
class Position:
    """How far a run's journal goes."""

    last_id: int
    ended: bool
    """The run has ended: nothing is expected after ``last_id``."""


@dataclass(frozen=True, slots=True)
class Batch:
    """A stretch of a run's journal, ready to send."""

    frames: bytes
    last_id: int
    """The id of its last event; where nothing was new, the position that was asked from."""
    complete: bool
    """Nothing followed ``last_id`` when it was read."""
    ended: bool
    """Complete, and the run has ended: the stream is over."""


def position_of(run_id: str) -> Position | None:
    """Where a run's journal stands; None where there is no such run."""
    run = Run.objects.filter(pk=run_id, status__in=ENDED)
    row = EventCounter.objects.annotate(ended=Exists(run)).filter(name=channel_of(run_id)).values_list("value", "ended")
    found = row.first()
    return Position(*found) if found else None


def positions_of(run_ids: Collection[str]) -> dict[str, int]:
    """The last event id of each run, in one query."""
    run_of = {channel_of(run_id): run_id for run_id in run_ids}
    rows = EventCounter.objects.filter(name__in=run_of).values_list("name", "value")
    return {run_of[name]: value for name, value in rows}


def read_batch(run_id: str, after: int, limit: int = BATCH_EVENTS) -> Batch:
    """The events that follow ``after``, at most ``limit``.

    The journal's end is looked up after its events: seen the other way round, a last event that is written in between
    would leave the stream waiting for more.
    """
    rows = list(
        Event.objects.filter(channel=channel_of(run_id), eid__gt=after)
        .order_by("eid")
        .values_list("eid", "type", "data")[:limit]
    )
    last_id = rows[-1][0] if rows else after
    position = position_of(run_id)
    # A run that was deleted meanwhile has no journal any more: that ends its streams too.
    complete = position is None or position.last_id <= last_id
    return Batch(encode_frames(rows), last_id, complete, complete and (position is None or position.ended))
