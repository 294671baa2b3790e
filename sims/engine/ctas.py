"""CTAs: start on an SM and hand-out over the SMs (sections 1 and 10).

Once a cycle every SM in round-robin order gets at most one CTA; the search begins after the SM that got the last one, also over
kernels. A slot freed in a cycle is filled at the end of that cycle. CTAs are handed out in file order.
Microbenchmarks: ``cta``, ``fix_exit``.
"""

import numpy as np

from sims.engine import asynchronous, gmma, l1, mbarrier
from sims.engine.accounts import WHY_FETCH
from sims.engine.jit import Record, Table, bit, compiled
from sims.engine.parameters import MAX_SUBCORES
from sims.engine.program import KIND_EXIT
from sims.engine.scoreboard import EMPTY, INFINITE, RUNNING
from sims.engine.smstate import BARRIERS, CTA_SLOTS, REGISTERS, RESULT_SLOTS
from sims.engine.statics import PIPES
from sims.engine.trace import Trace

NO_EXIT = 1
"""Error of an SM: a warp of the trace does not end with EXIT."""


@compiled
def start_cta(trace: Trace, sm: Record, launch: Record, cta: int, now: int) -> None:
    """CTA ``cta`` is issued to the SM at the end of cycle ``now``; fetch sees its warps one cycle later."""
    row = cta & (trace.cta_rows[0] - 1)
    slot = 0
    while sm.cta_used & bit(slot):
        slot += 1
    if sm.resident == 0:
        sm.active_since = now + 1
        for subcore in range(len(sm.last_issue_time)):
            sm.last_issue_time[subcore] = now
    sm.cta_used |= bit(slot)
    sm.resident += 1
    sm.launch_pending += 1
    sm.cta_launch[slot] = now
    sm.cta_start[slot] = now
    sm.cta_number[slot] = cta
    sm.cta_sectors[slot] = trace.cta_sectors[row]
    for barrier in range(BARRIERS):
        sm.bar_arrived[slot, barrier] = 0
        sm.bar_waiting[slot, barrier] = 0
    mbarrier.forget(sm, slot)
    trace.cta_place[row] = sm.index * CTA_SLOTS + slot + 1
    warps = launch.warps_per_cta
    sm.cta_left[slot] = warps
    sm.cta_live[slot] = warps
    first = trace.cta_warps[row]
    for i in range(warps):
        _start_warp(trace, sm, slot, slot * warps + i, first + i)
        if sm.error and sm.error_warp < 0:
            sm.error_warp = i
            sm.error_cta = cta
    sm.time = min(sm.time, now + 1)


@compiled
def _start_warp(trace: Trace, sm: Record, slot: int, warp: int, entry: int) -> None:
    sm.epoch += 1
    start = trace.warp_start[entry]
    sm.warp_next[warp] = start
    sm.warp_end[warp] = start + trace.warp_length[entry]
    sm.warp_state[warp] = RUNNING
    sm.warp_slot[warp] = slot
    sm.warp_epoch[warp] = sm.epoch
    sm.warp_age[warp] = sm.epoch
    sm.warp_why[warp] = WHY_FETCH
    sm.warp_buffered[warp] = 0
    sm.warp_in_flight[warp] = 0
    sm.warp_unknown[warp] = 0
    sm.warp_last[warp] = 0
    sm.warp_last_write[warp] = 0
    sm.warp_group[warp] = 0
    sm.warp_oldest_group[warp] = 0
    sm.warp_wait_group[warp] = 0
    sm.group_open[warp, 0] = 0
    gmma.forget(sm, warp)
    asynchronous.forget(sm, warp)
    for register in range(REGISTERS):
        sm.register_ready[warp, register] = 0
    if trace.warp_length[entry] == 0:
        sm.warp_state[warp] = EMPTY
        sm.cta_live[slot] -= 1
        sm.cta_left[slot] -= 1
    elif trace.code[trace.static_ids[sm.warp_end[warp] - 1]].kind != KIND_EXIT:
        sm.error = NO_EXIT
        sm.error_warp = -1


@compiled
def show_launched(sm: Record, launch: Record, now: int) -> None:
    """CTAs launched in an earlier cycle become visible to fetch."""
    for slot in range(launch.ctas_per_sm):
        if sm.cta_used & bit(slot) and sm.cta_launch[slot] < now:
            sm.cta_launch[slot] = INFINITE
            sm.launch_pending -= 1
            for i in range(launch.warps_per_cta):
                warp = slot * launch.warps_per_cta + i
                if sm.warp_state[warp] == RUNNING:
                    sm.fetchable |= bit(warp)


@compiled
def give(sm: Record, cta: int, now: int) -> None:
    """CTA ``cta`` is the SM's from the end of cycle ``now`` on; it starts where the SM runs on (:func:`start_given`)."""
    sm.given_cta = cta
    sm.given_cycle = now


@compiled
def start_given(gpu: Record, trace: Trace, sm: Record, launch: Record) -> None:
    """Start the CTA that the SM was given, if it was."""
    if sm.given_cta >= 0:
        if not sm.is_clean:
            clean(gpu, sm, launch)
        start_cta(trace, sm, launch, sm.given_cta, sm.given_cycle)
        sm.given_cta = -1


@compiled
def cycles_to_next_stop(trace: Trace, sm: Record, launch: Record, cta: int) -> int:
    """Cycles in which the SM, which gets CTA ``cta`` next, will surely not have room for another.

    A CTA ends no sooner than its longest warp issues.
    """
    if sm.resident + 1 < launch.ctas_per_sm:
        return 1
    longest = np.int64(1)
    first = trace.cta_warps[cta & (trace.cta_rows[0] - 1)]
    for i in range(first, first + launch.warps_per_cta):
        longest = max(longest, trace.warp_length[i])
    soonest = longest
    for slot in range(launch.ctas_per_sm):
        if sm.cta_used & bit(slot):
            longest = np.int64(1)
            for i in range(launch.warps_per_cta):
                warp = slot * launch.warps_per_cta + i
                if sm.warp_state[warp] != EMPTY:
                    longest = max(longest, sm.warp_end[warp] - sm.warp_next[warp])
            soonest = min(soonest, longest)
    return soonest


@compiled
def next_stop(gpu: Record, stopped: Table, first_sm: int) -> int:
    """The stopped SM with the earliest cycle, in round-robin order from ``first_sm``; -1 if none has stopped."""
    best = -1
    cycle = np.int64(INFINITE)
    for i in range(gpu.sms):
        index = (first_sm + i) % gpu.sms
        if 0 <= stopped[index] < cycle:
            cycle = stopped[index]
            best = index
    return best


@compiled
def prepare_sms(gpu: Record, sms: Table) -> None:
    """Start of a kernel: what is looked at of an SM even if none of the CTAs come to it."""
    for index in range(gpu.sms):
        sm = sms[index]
        sm.time = INFINITE
        sm.last_end = 0
        sm.error = 0
        sm.given_cta = -1
        sm.messages = 0
        sm.is_clean = 0


@compiled
def clean(gpu: Record, sm: Record, launch: Record) -> None:
    """Before a kernel's first CTA on an SM: invalidate the L1 and set the clocks back to zero. Round-robin pointers persist."""
    sm.is_clean = 1
    l1.invalidate(gpu, sm, launch.l1_ways)
    sm.last_visit = -1
    sm.next_age = 0
    sm.blocked_banks = 0
    sm.membars = 0
    sm.arrivals = 0
    sm.async_fences = 0
    for slot in range(len(sm.wake)):
        sm.wake[slot] = 0
    for word in range(len(sm.wake_occupied)):
        sm.wake_occupied[word] = 0
    for subcore in range(gpu.subcores):
        for pipe in range(PIPES):
            sm.unit_free[subcore, pipe] = 0
    # No result leaves its unit in cycle 0.
    for slot in range(RESULT_SLOTS):
        sm.bus[slot].time = 0
        sm.bus[slot].taken = 0
        for subcore in range(MAX_SUBCORES):
            sm.write[slot, subcore].banks = 0
            sm.write[slot, subcore].time = 0
    # Copies that no warp waited for may still be in the bank queues; their cycles were the last kernel's.
    for bank in range(gpu.l1_banks):
        for i in range(sm.bank_count[bank]):
            sm.bank[bank, (sm.bank_head[bank] + i) & gpu.l1_ring].time = -gpu.l1_latency
