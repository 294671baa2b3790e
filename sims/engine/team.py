"""Several threads on one kernel: the SMs of a quantum, then the memory channels, each taken by whichever thread is free.

SMs share nothing while they run their part of a quantum, and neither do channels, so who runs which does not matter to the
result. A quantum lasts well below a millisecond, too short to wake a thread of the operating system for it: helpers spin on
``generation``. After :data:`PATIENCE` turns in vain they offer their core to others before each further turn, so that more
threads than cores cost little.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from sims.engine.jit import Record, compiled

TEAM = np.dtype(
    {
        # A cache line each for what all wait on, what all take from, and what all report to.
        "names": ["generation", "task", "count", "threads", "first_cycle", "cycles", "next", "working"],
        "formats": ["i8"] * 8,
        "offsets": [0, 8, 16, 24, 32, 40, 64, 128],
        "itemsize": 192,
    }
)
"""One record: ``task`` and its ``count`` of items, ``next`` item to take, helpers ``working`` on it; a stretch of cycles for
those tasks that have one."""

DONE, RUN_SMS, RUN_TIGHT_SMS, RUN_RESUMED_SMS, RUN_CHANNELS = range(5)
"""Tasks; DONE sends the helpers home."""

PATIENCE = 2000

yield_core = types.ExternalFunction("sched_yield", types.int32())


def _place(builder: Any, team: types.Type, record: Any, name: str) -> Any:
    _, offset = team.field(name)
    place = builder.gep(record, [ir.Constant(ir.IntType(64), offset)], inbounds=True)
    return builder.bitcast(place, ir.IntType(64).as_pointer())


def _adder(name: str) -> Any:
    @intrinsic  # type: ignore[misc]
    def add(typing_context: Any, team: Any, amount: Any) -> Any:
        """Add to the field as one step that all threads see; returns what it was before."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.atomic_rmw("add", _place(builder, team, arguments[0], name), arguments[1], "seq_cst")

        return types.int64(team, types.int64), generate

    return add


def _reader(name: str) -> Any:
    @intrinsic  # type: ignore[misc]
    def read(typing_context: Any, team: Any) -> Any:
        """The field as other threads left it, and with it all that they wrote before."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.load_atomic(_place(builder, team, arguments[0], name), "acquire", 8)

        return types.int64(team), generate

    return read


add_generation, add_next, add_working = _adder("generation"), _adder("next"), _adder("working")
read_generation, read_working = _reader("generation"), _reader("working")


@compiled
def open_task(team: Record, task: int, count: int) -> None:
    """The helpers may start on ``count`` items."""
    team.task = task
    team.count = count
    team.next = 0
    team.working = team.threads - 1
    add_generation(team, 1)


@compiled
def take(team: Record) -> int:
    """An item that nobody has taken; -1 when there is none left."""
    item = add_next(team, 1)
    return item if item < team.count else -1


@compiled
def wait_for_helpers(team: Record) -> None:
    """Until all have finished the task."""
    turns = 0
    while read_working(team) > 0:
        turns += 1
        if turns > PATIENCE:
            yield_core()


@compiled
def wait_for_task(team: Record, seen: int) -> int:
    """Until a task after generation ``seen`` is open; returns its generation."""
    turns = 0
    while True:
        generation = read_generation(team)
        if generation != seen:
            return generation
        turns += 1
        if turns > PATIENCE:
            yield_core()


@compiled
def finish(team: Record) -> None:
    """A helper has no more to do for this task."""
    add_working(team, -1)
