"""One SM alone: its cycles between two exchanges with the memory side.

Whatever an SM sends takes at least ``rop_latency`` cycles before an L2 slice looks at it, so nothing sent in a quantum can answer
inside it, and SMs can run their part of a quantum one after the other, or on several threads. Only cycles in which something can
happen are visited.
"""

import numpy as np

from sims.engine import bankqueues, collector, counters, ctas, fetch, issue, loadstore, scoreboard, units
from sims.engine.jit import Record, Table, compiled, merged
from sims.engine.trace import Trace


@compiled
def run(
    gpu: Record, trace: Trace, packets: Table, port: Record, sm: Record, launch: Record, limit: int, cta_waits: bool
) -> int:
    """Run the SM up to cycle ``limit`` (exclusive).

    Returns -1, or the cycle after which it stopped because it has room for a CTA and one waits.
    """
    now = sm.time
    if port.replies.count > 0:
        # It may have come since the SM last looked for its next event.
        reply = packets[port.replies.head].time + loadstore.REPLY_DELAY - launch.start
        now = min(now, max(reply, sm.last_visit + 1))
    while now < limit:
        _cycle(gpu, trace, packets, port, sm, launch, now)
        if sm.resident == 0:
            sm.time = scoreboard.INFINITE
            sm.blocked_banks = 0
            return now if cta_waits else -1
        following = _next_cycle(gpu, packets, port, sm, launch, now)
        if cta_waits and sm.resident < launch.ctas_per_sm:
            sm.time = following
            return now
        now = following
    sm.time = now
    return -1


@merged
def _cycle(gpu: Record, trace: Trace, packets: Table, port: Record, sm: Record, launch: Record, now: int) -> None:
    """One cycle, in the simulator's order: units, load/store unit, collector, issue, fetch."""
    sm.progress = 0
    if sm.blocked_banks and now > sm.last_visit + 1:
        bankqueues.count_skipped(sm, now - sm.last_visit - 1)
    sm.last_visit = now
    sm.counter[counters.VISITED_CYCLES] += 1
    scoreboard.wake_due(trace, sm, now)
    if sm.waiting_pipes:
        units.units_cycle(trace, sm, now)
    loadstore.loadstore_cycle(gpu, trace, packets, port, sm, launch, now)
    if sm.awake_collectors or sm.offered_pipes:
        collector.collector_cycle(gpu, trace, sm, now)
    if sm.awake_schedulers:
        issue.issue_cycle(gpu, trace, sm, now)
    if sm.launch_pending > 0:
        ctas.show_launched(sm, launch, now)
    if sm.fetched >= 0 or sm.fetchable or sm.finished:
        fetch.fetch_cycle(trace, sm, now)


@merged
def _next_cycle(gpu: Record, packets: Table, port: Record, sm: Record, launch: Record, now: int) -> int:
    """The next cycle in which anything can happen on this SM."""
    if sm.progress or sm.fetched >= 0 or sm.fetchable or sm.finished or sm.launch_pending > 0:
        return now + 1
    following = loadstore.next_event(gpu, packets, port, sm, launch, now)
    if following == now + 1:
        return following
    following = min(following, scoreboard.next_wake(sm, now))
    if sm.waiting_pipes:
        following = min(following, np.int64(sm.unit_due))
    return max(following, now + 1)
