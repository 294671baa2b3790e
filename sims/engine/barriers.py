"""BAR: named CTA barriers (section 4).

A warp is blocked when its BAR issues; when the last expected warp arrives all are released in that same cycle, so schedulers
visited later in the cycle can already issue them. Warps that have exited do not count. BAR does not wait for results in flight.
An operand is ``id | threads << 4``; 0 threads means the whole CTA. Microbenchmarks: ``barrier``, ``fix_exit``. Twin:
tests/engine/twins/barriers.py.
"""

import numpy as np

from sims.engine.accounts import WHY_BARRIER
from sims.engine.jit import Record, bit, compiled, count_trailing_zeros
from sims.engine.program import BARRIER_WAITS
from sims.engine.scoreboard import AT_BARRIER, RUNNING, consider
from sims.engine.smstate import BARRIERS
from sims.engine.trace import Trace


@compiled
def arrive(trace: Trace, sm: Record, warp: int, operand: int, waits: bool, now: int) -> None:
    """``warp`` issued BAR.SYNC (waits) or BAR.ARV (does not)."""
    slot = sm.warp_slot[warp]
    barrier = max(operand, 0) & (BARRIERS - 1)
    expected_warps = ((max(operand, 0) & (BARRIER_WAITS - 1)) >> 4) + 31 >> 5
    sm.bar_arrived[slot, barrier] += 1
    if waits:
        sm.bar_waiting[slot, barrier] |= bit(warp)
        sm.warp_state[warp] = AT_BARRIER
        sm.warp_bar[warp] = expected_warps
    release_if_complete(trace, sm, slot, barrier, expected_warps, now)


@compiled
def release_if_complete(trace: Trace, sm: Record, slot: int, barrier: int, expected_warps: int, now: int) -> None:
    """Open the barrier if as many warps arrived as take part: the given number, or all that have not exited."""
    live = sm.cta_live[slot]
    needed = min(expected_warps, live) if expected_warps > 0 else live
    if sm.bar_arrived[slot, barrier] < needed:
        return
    waiting = sm.bar_waiting[slot, barrier]
    sm.bar_arrived[slot, barrier] = 0
    sm.bar_waiting[slot, barrier] = 0
    while waiting:
        warp = count_trailing_zeros(waiting)
        waiting &= waiting - np.uint64(1)
        sm.warp_state[warp] = RUNNING
        sm.warp_why[warp] = WHY_BARRIER
        consider(trace, sm, warp, now)


@compiled
def warp_left(trace: Trace, sm: Record, slot: int, now: int) -> None:
    """A warp of the CTA exited: barriers that waited only for it open."""
    for barrier in range(BARRIERS):
        waiting = sm.bar_waiting[slot, barrier]
        if waiting:
            release_if_complete(trace, sm, slot, barrier, sm.warp_bar[count_trailing_zeros(waiting)], now)
