"""Groups of warpgroup matrix operations, and the wait for all but the last of them.

A group is closed by its last operation (``wgmma.commit_group``); ``WARPGROUP.DEPBAR`` with N waits until at most N closed groups
are not complete. An operation is complete when its unit delivers. Operations of a warp start in order and take their unit for
as long as they last, so they complete in order too, and a group is known by the number of its last operation. As in
Accel-Sim 2.0 a warp waits for its own operations only, not for those of the other three warps.
"""

from sims.engine.accounts import WHY_DEPENDENCY
from sims.engine.jit import Record, compiled
from sims.engine.scoreboard import GMMA_WAIT, INFINITE, consider
from sims.engine.smstate import GROUPS
from sims.engine.trace import Trace


@compiled
def forget(sm: Record, warp: int) -> None:
    """The warp slot has a new occupant."""
    sm.gmma_issued[warp] = 0
    sm.gmma_started[warp] = 0
    sm.gmma_groups[warp] = 0


@compiled
def issued(sm: Record, warp: int, closes_group: int) -> None:
    """An operation was issued."""
    sm.gmma_issued[warp] += 1
    if closes_group > 0:
        sm.gmma_group_end[warp, sm.gmma_groups[warp] & (GROUPS - 1)] = sm.gmma_issued[warp]
        sm.gmma_groups[warp] += 1


@compiled
def started(trace: Trace, sm: Record, warp: int, done: int, now: int) -> None:
    """The unit has taken the warp's next operation and will deliver in cycle ``done``."""
    sm.gmma_done[warp, sm.gmma_started[warp] & (GROUPS - 1)] = done
    sm.gmma_started[warp] += 1
    if sm.warp_state[warp] == GMMA_WAIT and sm.gmma_started[warp] == sm.gmma_awaited[warp]:
        sm.warp_release[warp] = done
        consider(trace, sm, warp, now)


@compiled
def wait(sm: Record, warp: int, groups_left: int, now: int) -> None:
    """``WARPGROUP.DEPBAR``: the warp goes on when at most ``groups_left`` closed groups are not complete."""
    group = sm.gmma_groups[warp] - groups_left - 1
    if group < max(0, sm.gmma_groups[warp] - GROUPS):
        return
    last = sm.gmma_group_end[warp, group & (GROUPS - 1)]
    release = INFINITE
    if sm.gmma_started[warp] >= last:
        release = sm.gmma_done[warp, (last - 1) & (GROUPS - 1)]
        if release <= now or sm.gmma_started[warp] - last >= GROUPS:
            return
    sm.gmma_awaited[warp] = last
    sm.warp_release[warp] = release
    sm.warp_state[warp] = GMMA_WAIT
    sm.warp_why[warp] = WHY_DEPENDENCY
