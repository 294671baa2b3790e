"""Fetch and decode, and the end of warps and CTAs, which the simulator looks at there (section 1).

An SM does four (decode, fetch) pairs a cycle. A fetch picks the next warp, round robin, whose two-entry instruction buffer is
empty; its next two instructions are decoded in the next pair, so the fourth fetch of a cycle is decoded after the next cycle's
issue. On its way the search retires finished warps that it passes. Instruction and constant caches are perfect.
Microbenchmarks: ``fix_exit``, ``fix_len``, ``cta``. Twin: tests/engine/twins/fetch.py.
"""

import numpy as np

from sims.engine import counters
from sims.engine.accounts import WHY_FETCH
from sims.engine.jit import Record, bit, compiled, count_trailing_zeros, first_from, inlined, merged
from sims.engine.scoreboard import EMPTY, consider
from sims.engine.trace import Trace

PAIRS_PER_CYCLE = 4
BUFFER_ENTRIES = 2


@merged
def fetch_cycle(trace: Trace, sm: Record, now: int) -> None:
    """Four (decode, fetch) pairs."""
    for _ in range(PAIRS_PER_CYCLE):
        if sm.fetched >= 0:
            _decode(trace, sm, now)
        if sm.fetchable == 0 and sm.finished == 0:
            continue
        start = (sm.fetch_pointer + 1) & 63
        warp = -1
        if sm.fetchable:
            warp = first_from(sm.fetchable, start)
        if sm.finished:
            _retire_between(trace, sm, start, warp, now)
        if warp >= 0:
            sm.fetchable &= ~bit(warp)
            sm.fetch_pointer = warp
            sm.fetched = warp


@inlined
def _decode(trace: Trace, sm: Record, now: int) -> None:
    warp = sm.fetched
    sm.fetched = -1
    left = sm.warp_end[warp] - sm.warp_next[warp]
    sm.warp_buffered[warp] = min(left, BUFFER_ENTRIES)
    sm.warp_why[warp] = WHY_FETCH
    sm.progress = 1
    consider(trace, sm, warp, now + 1)


@compiled
def _retire_between(trace: Trace, sm: Record, start: int, stop: int, now: int) -> None:
    """Retire the finished warps that a round-robin search from ``start`` passes before it ends at ``stop`` (-1: nowhere)."""
    passed = sm.finished
    if stop >= 0:
        looked_at = bit((stop - start) & 63) - np.uint64(1)
        passed &= (looked_at << np.uint64(start)) | (looked_at >> np.uint64((64 - start) & 63))
    while passed:
        warp = count_trailing_zeros(passed)
        passed &= passed - np.uint64(1)
        sm.finished &= ~bit(warp)
        _retire(trace, sm, warp, now)


@compiled
def _retire(trace: Trace, sm: Record, warp: int, now: int) -> None:
    sm.warp_state[warp] = EMPTY
    slot = sm.warp_slot[warp]
    sm.counter[counters.RESIDENT_WARP_CYCLES] += now - sm.cta_start[slot]
    sm.cta_left[slot] -= 1
    if sm.cta_left[slot] > 0:
        return
    sm.cta_used &= ~bit(slot)
    sm.resident -= 1
    sm.last_end = now
    trace.cta_finished[sm.cta_number[slot] & (trace.cta_rows[0] - 1)] = 1
    if sm.resident == 0:
        # The schedulers' rotation only advances in cycles in which CTAs are resident.
        sm.rotation += now + 1 - sm.active_since
        sm.counter[counters.ACTIVE_CYCLES] += now + 1 - sm.active_since
