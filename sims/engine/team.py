"""Several threads on one kernel: the SMs of a quantum, then the memory channels, each taken by whichever thread is free.

SMs share nothing while they run their part of a quantum, and neither do channels, so who runs which does not matter to the
result. A quantum lasts well below a millisecond, too short to wake a thread of the operating system for it: helpers spin on
``generation``. After :data:`PATIENCE` turns in vain they offer their core to others before each further turn, so that more
threads than cores cost little.

A helper may come late, when it has done something else: each task counts on those that were there before it was opened.

Every thread has a share of the items that is the same each time, since the state of an SM that was run here before is still
in this core's cache; who has done its own goes on with the others'.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from sims.engine.jit import Record, compiled
from sims.engine.threads import MAX_THREADS

CACHE_LINE_BYTES = 64

TEAM = np.dtype(
    {
        # A cache line each for what all wait on, what all report to, and what each takes from.
        "names": [
            "generation", "task", "threads", "members", "count", "first_cycle", "cycles", "memory",
            "arrivals", "working", "done", "taken",
        ],
        "formats": [
            "i8", "i8", "i8", "i8", ("i4", (2,)), "i8", "i8", "i8", "i8", "i8", "i8", ("V64", (2 * MAX_THREADS,)),
        ],
        "offsets": [0, 8, 16, 24, 32, 40, 48, 56, 64, 128, 192, 256],
        "itemsize": 256 + 2 * CACHE_LINE_BYTES * MAX_THREADS,
    }
)  # fmt: skip
"""One record. ``task``: what the helpers are called for; ``arrivals``: helpers that have come so far, ``members``: those of them
that the task counts on; ``working``: how many of these are still at it.

``count``: items of each kind; ``taken``: how many of each thread's share are. ``memory``: how far the memory side is in its
part; ``first_cycle`` and ``cycles``: the stretch its channels run; ``done``: channels that have.
"""

SMS, CHANNELS = range(2)
"""Kinds of items."""
DONE, RUN_SMS, RUN_TIGHT_SMS, RUN_RESUMED_SMS, RUN_MEMORY, RUN_SMS_AND_MEMORY = range(6)
"""Tasks; DONE sends the helpers home."""
CROSSING, CHANNELS_OPEN, FINISHED = range(3)
"""How far the memory side is: one thread runs a crossbar, all may take channels, all is done."""

PATIENCE = 20_000

yield_core = types.ExternalFunction("sched_yield", types.int32())


NUMBER = ir.IntType(64)


def _place(builder: Any, team: types.Type, record: Any, name: str, index: Any = None) -> Any:
    """Where a field of the record lies, or the cache line with this index of a field of lines."""
    offset = ir.Constant(NUMBER, team.dtype.fields[name][1])
    if index is not None:
        offset = builder.add(offset, builder.mul(index, ir.Constant(NUMBER, CACHE_LINE_BYTES)))
    return builder.bitcast(builder.gep(record, [offset], inbounds=True), NUMBER.as_pointer())


@intrinsic  # type: ignore[misc]
def take_of_share(typing_context: Any, team: Any, share: Any) -> Any:
    """How many items of a share were taken before this call, which takes one."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = _place(builder, team, arguments[0], "taken", arguments[1])
        return builder.atomic_rmw("add", place, ir.Constant(NUMBER, 1), "seq_cst")

    return types.int64(team, types.int64), generate


@intrinsic  # type: ignore[misc]
def refill_share(typing_context: Any, team: Any, share: Any) -> Any:
    """None of the share's items is taken."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = _place(builder, team, arguments[0], "taken", arguments[1])
        builder.store_atomic(ir.Constant(NUMBER, 0), place, "release", 8)
        return context.get_dummy_value()

    return types.void(team, types.int64), generate


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


def _writer(name: str) -> Any:
    @intrinsic  # type: ignore[misc]
    def write(typing_context: Any, team: Any, value: Any) -> Any:
        """Set the field, so that who reads it sees all that was written before."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            builder.store_atomic(arguments[1], _place(builder, team, arguments[0], name), "release", 8)
            return context.get_dummy_value()

        return types.void(team, types.int64), generate

    return write


add_generation, add_arrivals, add_working, add_done = map(_adder, ("generation", "arrivals", "working", "done"))
read_generation, read_arrivals, read_working, read_done = map(_reader, ("generation", "arrivals", "working", "done"))
read_memory, write_memory = _reader("memory"), _writer("memory")


@compiled
def refill(team: Record, kind: int, count: int) -> None:
    """There are ``count`` items of the kind to take."""
    team.count[kind] = count
    for thread in range(team.threads):
        refill_share(team, kind * MAX_THREADS + thread)


@compiled
def muster(team: Record) -> int:
    """How many helpers there are for the next task."""
    team.members = read_arrivals(team)
    return team.members


@compiled
def open_task(team: Record, task: int) -> None:
    """The helpers that were mustered may start; what there is to take must be there."""
    team.task = task
    team.memory = CROSSING
    team.working = team.members
    add_generation(team, 1)


@compiled
def take(team: Record, kind: int, thread: int) -> int:
    """An item that nobody has taken, of the thread's own share as long as there are; -1 when there is none left."""
    count = team.count[kind]
    share = thread
    for _ in range(team.threads):
        first = count * share // team.threads
        end = count * (share + 1) // team.threads
        item = first + take_of_share(team, kind * MAX_THREADS + share)
        if item < end:
            return item
        share = share + 1 if share + 1 < team.threads else 0
    return -1


@compiled
def wait_a_turn(turns: int) -> int:
    """Between two looks at a field; returns the number of ``turns`` waited, this one included."""
    if turns >= PATIENCE:
        yield_core()
    return turns + 1


@compiled
def wait_for_helpers(team: Record) -> None:
    """Until all have finished the task."""
    turns = 0
    while read_working(team) > 0:
        turns = wait_a_turn(turns)


@compiled
def wait_for_task(team: Record, seen: int) -> int:
    """Until a task after generation ``seen`` is open; returns its generation."""
    turns = 0
    generation = read_generation(team)
    while generation == seen:
        turns = wait_a_turn(turns)
        generation = read_generation(team)
    return generation


@compiled
def finish(team: Record) -> None:
    """A helper has no more to do for this task."""
    add_working(team, -1)


# ---- memory channels, within a task ------------------------------------------------------------------------------------


@compiled
def open_channels(team: Record, count: int, first_cycle: int, cycles: int) -> None:
    """All threads may take channels, which have to run these cycles."""
    team.first_cycle = first_cycle
    team.cycles = cycles
    team.done = 0
    refill(team, CHANNELS, count)
    write_memory(team, CHANNELS_OPEN)


@compiled
def wait_for_channels(team: Record) -> None:
    """Until all have run. Nobody may take one after it."""
    turns = 0
    while read_done(team) < team.count[CHANNELS]:
        turns = wait_a_turn(turns)
    write_memory(team, CROSSING)
