"""Where cycles went: every cycle of a sub-core (warp scheduler) is charged to exactly one cause.

A sub-core that issues charges one cycle to ISSUE. Idle cycles between two issues are charged when the next one issues: up to
the cycle in which its warp became ready to what the warp waited for, the rest to PIPES (ready, but its class latch was full:
collector, register banks or a busy unit). Cycles without an issue to close them are TAIL (no work left, or not yet launched).
"""

from sims.engine.jit import Record, compiled

(
    WHY_ISSUE,
    WHY_FETCH,
    WHY_DEPENDENCY,
    WHY_PIPES,
    WHY_SHARED,
    WHY_L1,
    WHY_L2,
    WHY_DRAM,
    WHY_BARRIER,
    WHY_COPY,
) = range(10)
ACCOUNT_NAMES = (
    "issue", "fetch", "dependency", "register_banks", "shared_memory", "l1", "l2", "dram", "barrier", "async_copy",
)  # fmt: skip


@compiled
def charge_issue(sm: Record, subcore: int, warp: int, now: int) -> None:
    """Close the sub-core's account at an issue of ``warp``."""
    idle = now - sm.last_issue_time[subcore] - 1
    sm.last_issue_time[subcore] = now
    sm.stall[WHY_ISSUE] += 1
    if idle > 0:
        in_pipes = min(idle, now - sm.warp_ready_at[warp])
        sm.stall[WHY_PIPES] += in_pipes
        sm.stall[sm.warp_why[warp]] += idle - in_pipes
