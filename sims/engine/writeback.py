"""The load/store unit's way out: results written back, and what their instructions and warps waited for (sections 3, 5, 9).

One result a cycle is chosen, rotating over shared-memory pipe, bypass replies and filled L1 misses, and written in the next,
when it needs its register bank; results of the ALUs go first. The last access of a load writes its register.
"""

import numpy as np

from sims.engine import asynchronous, l1
from sims.engine.accounts import WHY_COPY
from sims.engine.collector import banks_written
from sims.engine.issue import copies_done
from sims.engine.jit import Record, bit, compiled, first_from, inlined, merged
from sims.engine.parameters import MAX_SUBCORES
from sims.engine.pointers import prefetch
from sims.engine.program import KIND_ATOMIC, KIND_LDGSTS, KIND_MBARRIER_INIT, KIND_TMA_LOAD
from sims.engine.scoreboard import ATOMIC_OUT, COPY_WAIT, EXITED, RUNNING, consider, result_known
from sims.engine.smstate import GROUPS, RESULT_SLOTS
from sims.engine.trace import Trace
from sims.engine.units import write_bank

TURN_SHARED, TURN_BYPASS, TURN_FILLS, TURNS = 0, 3, 4, 5
"""Clients of the write-back slot in rotation; 1 and 2 are texture and constant replies, which never come."""


@inlined
def finish_write_back(trace: Trace, sm: Record, now: int) -> None:
    """The result chosen last cycle is written, if its register bank is free."""
    slot = sm.load[sm.write_back]
    if slot.destination >= 0 and slot.kind != KIND_LDGSTS:
        warp = slot.warp
        subcore = sm.warp_subcore[warp]
        bank = slot.bank
        if banks_written(sm, subcore, now) & bank:
            return
        write_bank(sm, subcore, bank, now)
    load_slot = sm.write_back
    sm.write_back = -1
    access_done(trace, sm, load_slot, now)


@merged
def choose_write_back(gpu: Record, trace: Trace, sm: Record, now: int) -> None:
    """The next result, from the client whose turn it is of those that have one."""
    offers = np.uint64(0)
    if sm.shared_count > 0 and sm.shared_time[sm.shared_head] <= now:
        offers |= bit(TURN_SHARED)
    if sm.bypass_reply >= 0:
        offers |= bit(TURN_BYPASS)
    if sm.filled_count > 0:
        offers |= bit(TURN_FILLS)
    if not offers:
        return
    turn = first_from(offers, sm.write_back_turn)
    if turn == TURN_SHARED:
        sm.write_back = sm.shared_load[sm.shared_head]
        sm.shared_head = (sm.shared_head + 1) & gpu.shared_ring
        sm.shared_count -= 1
        leave_pipeline(trace, sm, sm.load[sm.write_back].warp, now)
    elif turn == TURN_BYPASS:
        sm.write_back = sm.bypass_reply
        sm.bypass_reply = -1
    else:
        sm.write_back = l1.next_filled(sm)
    prefetch(sm.write, MAX_SUBCORES * ((now + 1) & (RESULT_SLOTS - 1)))
    sm.write_back_turn = turn + 1 if turn + 1 < TURNS else 0
    take_effect(trace, sm, sm.load[sm.write_back], now)


@compiled
def take_effect(trace: Trace, sm: Record, slot: Record, now: int) -> None:
    """The last reply of an atomic frees its warp when it is chosen, a cycle before its register is written.

    Likewise what Hopper's asynchronous instructions do happens when they are chosen.
    """
    if slot.kind >= KIND_MBARRIER_INIT:
        asynchronous.leave_pipe(trace, sm, slot, now)
    elif slot.kind == KIND_TMA_LOAD:
        if slot.remaining == 1:
            asynchronous.load_done(trace, sm, slot.warp, slot.group, now)
            leave_pipeline(trace, sm, slot.warp, now)
    elif slot.kind == KIND_ATOMIC and slot.remaining == 1 and sm.warp_state[slot.warp] == ATOMIC_OUT:
        sm.warp_state[slot.warp] = RUNNING
        sm.warp_why[slot.warp] = slot.level
        consider(trace, sm, slot.warp, now)


@compiled
def leave_pipeline(trace: Trace, sm: Record, warp: int, now: int) -> None:
    """One thing less that the warp's end waits for: an instruction has left the unit, or a store is acknowledged."""
    sm.warp_in_flight[warp] -= 1
    if sm.warp_state[warp] == EXITED:
        consider(trace, sm, warp, now)


@compiled
def access_done(trace: Trace, sm: Record, load_slot: int, now: int) -> None:
    """One access of a load is back; the last one writes the register."""
    slot = sm.load[load_slot]
    slot.remaining -= 1
    if slot.remaining > 0:
        return
    sm.free_load[sm.free_loads] = load_slot - sm.free_loads
    sm.free_loads += 1
    warp = slot.warp
    if slot.epoch != sm.warp_epoch[warp]:
        return  # a copy that its warp did not wait for; the warp's slot has a new occupant
    if slot.kind == KIND_LDGSTS:
        copy_done(trace, sm, warp, slot.group, now)
    elif slot.destination >= 0:
        sm.warp_why[warp] = slot.level
        result_known(trace, sm, warp, slot.destination, now, now)


@compiled
def copy_done(trace: Trace, sm: Record, warp: int, group: int, now: int) -> None:
    """An asynchronous copy of the warp is complete."""
    sm.group_open[warp, group & (GROUPS - 1)] -= 1
    sm.copies_done[warp] += 1
    if sm.arrivals > 0:
        take_arrivals(trace, sm, now)
    if sm.warp_state[warp] == COPY_WAIT and copies_done(sm, warp):
        sm.warp_state[warp] = RUNNING
        sm.warp_why[warp] = WHY_COPY
        consider(trace, sm, warp, now)


@compiled
def take_arrivals(trace: Trace, sm: Record, now: int) -> None:
    """Arrivals that waited for copies happen, oldest first, as far as theirs are done."""
    while asynchronous.first_arrival_due(sm):
        leave_pipeline(trace, sm, asynchronous.take_arrival(trace, sm, now), now)
