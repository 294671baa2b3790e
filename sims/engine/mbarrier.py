"""mbarriers: arrivals and bytes that a phase expects, and the warps that wait for its end.

As Accel-Sim 2.0 has them. A phase ends when no arrival and no byte is pending any more; the next expects as many arrivals
as the one before. An operation takes effect when its instruction leaves the shared-memory pipe. A wait (``try_wait``) is asked
for by the scheduler: while the phase has the parity that it names, the warp issues nothing and asks again every
:data:`RETRY_CYCLES`. ``test_wait`` waits for nothing.

An mbarrier is known by its address in the cluster's shared window. Operations that come before the initialisation has taken
effect are kept: it adds to what they left.
"""

import numpy as np

from sims.engine.accounts import WHY_BARRIER, WHY_COPY
from sims.engine.freelist import distance, follower
from sims.engine.jit import Record, bit, compiled, count_trailing_zeros
from sims.engine.program import KIND_MBARRIER_WAIT
from sims.engine.scoreboard import INFINITE, MBARRIER_WAIT, consider, wake_at
from sims.engine.smstate import MBARRIERS
from sims.engine.trace import Trace

RETRY_CYCLES = 200
"""Accel-Sim 2.0's default of ``-gpgpu_trywait_retry_cycles``; its H100 configuration does not set it."""
OFFSET_MASK = (1 << 24) - 1
"""Of an address: what is below is the place in a CTA's own window, what is above its rank."""
TOO_MANY_MBARRIERS = 2
"""Error of an SM: see :data:`sims.engine.ctas.NO_EXIT` for the other."""


@compiled
def forget(sm: Record, slot: int) -> None:
    """The mbarriers of the last CTA in ``slot`` are gone."""
    while sm.mbarrier_first[slot] >= 0:
        index = sm.mbarrier_first[slot]
        sm.mbarrier_first[slot] = sm.mbarrier[index].next
        sm.mbarrier[index].next = distance(index, sm.mbarrier_free)
        sm.mbarrier_free = index


@compiled
def find(sm: Record, slot: int, address: int) -> int:
    """The CTA's mbarrier at ``address``, or -1."""
    index = np.int64(sm.mbarrier_first[slot])
    while index >= 0 and sm.mbarrier[index].address != address:
        index = np.int64(sm.mbarrier[index].next)
    return index


@compiled
def find_by_offset(sm: Record, slot: int, address: int) -> int:
    """The CTA's mbarrier at the place that ``address`` has in its own CTA, or -1."""
    index = np.int64(sm.mbarrier_first[slot])
    while index >= 0 and (sm.mbarrier[index].address ^ address) & OFFSET_MASK:
        index = np.int64(sm.mbarrier[index].next)
    return index


@compiled
def find_or_add(sm: Record, slot: int, address: int) -> int:
    """The CTA's mbarrier at ``address``, uninitialised if it is new; -1, and an error of the SM, where there is no room."""
    index = find(sm, slot, address)
    if index >= 0:
        return index
    index = np.int64(sm.mbarrier_free)
    if index == MBARRIERS:
        sm.error = TOO_MANY_MBARRIERS
        sm.error_cta = sm.cta_number[slot]
        return np.int64(-1)
    one = sm.mbarrier[index]
    sm.mbarrier_free = follower(index, one.next)
    one.next = sm.mbarrier_first[slot]
    sm.mbarrier_first[slot] = index
    one.address = address
    one.expected = 0
    one.pending = 0
    one.bytes = 0
    one.phase = 0
    one.waiting = 0
    return index


@compiled
def initialise(trace: Trace, sm: Record, slot: int, address: int, expected: int, now: int) -> None:
    """``mbarrier.init``."""
    index = find_or_add(sm, slot, address)
    if index < 0:
        return
    one = sm.mbarrier[index]
    if one.expected > 0:  # used again for something else
        one.pending = 0
        one.bytes = 0
    one.phase = 0
    one.expected = max(1, expected)
    one.pending += one.expected
    _end_phase_if_complete(trace, sm, one, WHY_BARRIER, now)
    _let_ask_again(trace, sm, one, WHY_BARRIER, now)


@compiled
def change(trace: Trace, sm: Record, index: int, arrivals: int, byte_count: int, now: int) -> None:
    """``arrivals`` at the mbarrier, after it was told to expect ``byte_count`` more bytes (negative: they have come)."""
    one = sm.mbarrier[index]
    one.bytes += byte_count
    left = arrivals
    while one.expected > 0:
        step = min(left, max(0, one.pending))
        one.pending -= step
        left -= step
        if not _end_phase_if_complete(trace, sm, one, WHY_COPY if byte_count < 0 else WHY_BARRIER, now) or left == 0:
            break
    one.pending -= left


@compiled
def _end_phase_if_complete(trace: Trace, sm: Record, one: Record, why: int, now: int) -> bool:
    if one.pending != 0 or one.bytes != 0:
        return False
    one.phase += 1
    one.pending = one.expected
    _let_ask_again(trace, sm, one, why, now)
    return True


@compiled
def _let_ask_again(trace: Trace, sm: Record, one: Record, why: int, now: int) -> None:
    """The warps that wait here ask at their next time, in this cycle if it has come."""
    waiting = one.waiting
    one.waiting = 0
    while waiting:
        warp = count_trailing_zeros(waiting)
        waiting &= waiting - np.uint64(1)
        asked = np.int64(sm.warp_asked[warp])
        again = asked + (now - asked + RETRY_CYCLES - 1) // RETRY_CYCLES * RETRY_CYCLES
        sm.warp_release[warp] = again
        sm.warp_why[warp] = why
        if again > now:
            wake_at(sm, warp, again, now)
        else:
            consider(trace, sm, warp, now)


@compiled
def may_issue(trace: Trace, sm: Record, warp: int, now: int) -> bool:
    """Whether the warp's next memory instruction may issue: all do but a wait for a phase that still goes on."""
    place = sm.warp_next[warp]
    if trace.code[trace.static_ids[place]].kind != KIND_MBARRIER_WAIT or trace.operands[place] < 0:
        return True
    slot = sm.warp_slot[warp]
    at = trace.operands[place] + sm.cta_sectors[slot]
    for i in range(np.int64(trace.sector_masks[at])):
        index = find_or_add(sm, slot, trace.sector_addresses[at + 3 * i])
        if index < 0:
            return False
        one = sm.mbarrier[index]
        if one.expected == 0 or one.phase & 1 == trace.sector_addresses[at + 3 * i + 1]:
            one.waiting |= bit(warp)
            sm.warp_asked[warp] = now
            sm.warp_release[warp] = INFINITE
            sm.warp_state[warp] = MBARRIER_WAIT
            sm.ready &= ~bit(warp)
            return False
    return True
