"""Scoreboard and warp states: when a warp's next instruction may issue.

The scoreboard is a table of cycles: ``register_ready[warp, register]``, INFINITE while a load is out or an operation has not
reached its unit. No write-after-read hazard exists, and register 255 (RZ) is a register like any other (section 2).
A warp is *considered* whenever something it may wait for becomes known; the result is a bit in ``ready`` or an entry in the wake
wheel, a ring of warp masks by cycle. Nothing scans warps.

Microbenchmarks: ``op_chain``, ``dep_cross``, ``lrr``. Twin: tests/engine/twins/issue.py. Closed forms:
tests/engine/test_core_closed_forms.py.
"""

import numpy as np

from sims.engine.accounts import WHY_DEPENDENCY
from sims.engine.jit import Record, Word, bit, compiled, count_trailing_zeros, inlined, merged
from sims.engine.smstate import WAKE_SLOTS
from sims.engine.trace import Trace

INFINITE = 1 << 30
"""A cycle that is not known yet, in 32 bits."""

(
    EMPTY,  # no warp in this slot
    RUNNING,
    AT_BARRIER,
    EXITED,  # EXIT issued; instructions or stores may still be out
    ATOMIC_OUT,  # every atomic blocks its warp until all replies are back
    COPY_WAIT,  # DEPBAR: waits for groups of asynchronous copies
    MEMBAR_WAIT,  # waits until no register write is pending
    GMMA_WAIT,
    MBARRIER_WAIT,
) = range(9)


@compiled
def operands_ready(trace: Trace, sm: Record, warp: int) -> int:
    """Cycle from which no source or destination register of the warp's next instruction is pending."""
    code = trace.code[trace.static_ids[sm.warp_next[warp]]]
    latest = np.int64(0)
    if code.destination >= 0:
        latest = np.int64(sm.register_ready[warp, code.destination])
    for i in range(code.sources):
        latest = max(latest, np.int64(sm.register_ready[warp, code.source[i]]))
    return latest


@compiled
def wake_at(sm: Record, warp: int, cycle: int, now: int) -> None:
    """Consider ``warp`` again at ``cycle`` (earlier if that is beyond the wheel)."""
    slot = min(cycle, now + WAKE_SLOTS - 1) & (WAKE_SLOTS - 1)
    sm.wake[slot] |= bit(warp)
    sm.wake_occupied[slot >> 6] |= bit(slot & 63)


@compiled
def consider(trace: Trace, sm: Record, warp: int, now: int) -> None:
    """Mark the warp ready, or arrange that it is looked at again, or leave it to whoever completes what it waits for."""
    state = sm.warp_state[warp]
    if state == MEMBAR_WAIT or state == EXITED:
        # MEMBAR waits until no register write is pending, the warp's end until nothing it issued is out any more.
        if sm.warp_unknown[warp] > 0 or (state == EXITED and sm.warp_in_flight[warp] > 0):
            return
        last = sm.warp_last[warp] if state == EXITED else sm.warp_last_write[warp]
        if last > now:
            wake_at(sm, warp, last, now)
            return
        if state == EXITED:
            sm.finished |= bit(warp)
            return
        sm.warp_state[warp] = RUNNING
    elif state != RUNNING:
        if state < GMMA_WAIT:
            return
        # These two end in a cycle of their own, INFINITE as long as it is not known.
        if sm.warp_release[warp] > now:
            if sm.warp_release[warp] < INFINITE:
                wake_at(sm, warp, sm.warp_release[warp], now)
            return
        sm.warp_state[warp] = RUNNING
    if sm.warp_buffered[warp] == 0:
        return
    cycle = operands_ready(trace, sm, warp)
    if cycle <= now:
        if not sm.ready & bit(warp):
            sm.ready |= bit(warp)
            sm.awake_schedulers |= np.uint8(1 << sm.warp_subcore[warp])
            sm.warp_ready_at[warp] = now
            sm.pipe_warps[sm.warp_pipe[warp]] &= ~bit(warp)
            pipe = trace.code[trace.static_ids[sm.warp_next[warp]]].pipe
            sm.pipe_warps[pipe] |= bit(warp)
            sm.warp_pipe[warp] = pipe
    elif cycle < INFINITE:
        sm.warp_why[warp] = WHY_DEPENDENCY
        wake_at(sm, warp, cycle, now)


@merged
def wake_due(trace: Trace, sm: Record, now: int) -> None:
    """Consider the warps whose cycle has come."""
    slot = now & (WAKE_SLOTS - 1)
    due = sm.wake[slot]
    if due == 0:
        return
    sm.wake[slot] = 0
    sm.wake_occupied[slot >> 6] &= ~bit(slot & 63)
    while due:
        warp = count_trailing_zeros(due)
        due &= due - np.uint64(1)
        consider(trace, sm, warp, now)


@inlined
def next_wake(sm: Record, now: int) -> int:
    """First cycle after ``now`` at which the wheel has an entry; ``INFINITE`` if none."""
    first = (now + 1) & (WAKE_SLOTS - 1)
    words = WAKE_SLOTS // 64
    for step in range(words + 1):
        index = ((first >> 6) + step) % words
        word: Word = sm.wake_occupied[index]
        if step == 0:
            word = (word >> np.uint64(first & 63)) << np.uint64(first & 63)
        if word:
            slot = (index << 6) + count_trailing_zeros(word)
            return now + 1 + ((slot - first) & (WAKE_SLOTS - 1))
    return np.int64(INFINITE)


@compiled
def result_known(trace: Trace, sm: Record, warp: int, register: int, cycle: int, now: int) -> None:
    """A register's value will be there at ``cycle``: whoever computes or loads it calls this once."""
    sm.register_ready[warp, register] = cycle
    sm.warp_unknown[warp] -= 1
    sm.warp_last[warp] = max(sm.warp_last[warp], cycle)
    sm.warp_last_write[warp] = max(sm.warp_last_write[warp], cycle)
    consider(trace, sm, warp, now)
