"""The load/store unit of one SM (sections 3, 5, 8, 9). Order inside a cycle, as in the simulator:

1. finish the write-back chosen last cycle (it needs its register bank; results of the ALUs go first)
2. choose the next one, rotating over shared-memory pipe, bypass replies and filled L1 misses
3. take one reply from the crossbar
4. send one packet from the L1 miss queue
5. look up the heads of the L1 bank queues
6. move accesses of the dispatched instruction: shared memory for as many cycles as its conflict degree, global memory up to one
   access per L1 bank and cycle, bypassing accesses one a cycle straight into the crossbar
7. dispatch the oldest memory instruction whose operands are read

Steps 1 and 2 are in writeback.py, 5 in bankqueues.py, 6 and 7 in dispatch.py.
Microbenchmarks: ``smem``, ``l1_bypass``, ``atomics``, ``local``, ``masks``, ``hiding``. Twin: tests/engine/twins/loadstore.py.
"""

import numpy as np

from sims.engine import counters, l1
from sims.engine.accounts import WHY_DRAM, WHY_L2
from sims.engine.bankqueues import look_up_heads
from sims.engine.dispatch import count_request, dispatch_oldest, move_accesses
from sims.engine.jit import Record, Table, compiled, count_trailing_zeros, merged
from sims.engine.packets import LOAD, MISSED_L2_FLAG, STORE, give_back, has_room, pass_departures, pop
from sims.engine.scoreboard import INFINITE
from sims.engine.statics import MEMORY_PIPE
from sims.engine.trace import Trace
from sims.engine.writeback import choose_write_back, finish_write_back, leave_pipeline

REPLY_DELAY = 2
"""Cycles from a packet's transfer to the load/store unit: into the cluster, then into the unit."""


@merged
def loadstore_cycle(
    gpu: Record, trace: Trace, packets: Table, port: Record, sm: Record, launch: Record, now: int
) -> None:
    """One cycle of the unit."""
    if sm.write_back >= 0:
        finish_write_back(trace, sm, now)
    if sm.write_back < 0:
        choose_write_back(gpu, trace, sm, now)
    if port.replies.count > 0 and packets[port.replies.head].time + REPLY_DELAY <= launch.start + now:
        _take_reply(trace, packets, port, sm, now)
    if port.ahead > 0:
        pass_departures(port, launch.start + now)
    if sm.misses.count > 0 and has_room(gpu, port):
        count_request(sm, packets[sm.misses.head])
        l1.send_miss(packets, port, sm, launch.start + now + 1)
    if sm.bank_busy:
        look_up_heads(gpu, trace, packets, port, sm, now)
    if sm.dispatching >= 0 and sm.dispatch_time <= now:
        move_accesses(gpu, trace, packets, port, sm, launch, now)
    if sm.dispatching < 0 and sm.waiting_subcores[MEMORY_PIPE]:
        dispatch_oldest(trace, sm, now)


@compiled
def _take_reply(trace: Trace, packets: Table, port: Record, sm: Record, now: int) -> None:
    l1.changed(sm)
    packet = packets[port.replies.head]
    level = WHY_DRAM if packet.flags & MISSED_L2_FLAG else WHY_L2
    if packet.kind == LOAD:
        sm.mshr[packet.reference].level = level
        l1.fill(sm, packet.reference)
    elif packet.kind == STORE:
        leave_pipeline(trace, sm, packet.reference, now)
    else:
        if sm.bypass_reply >= 0:
            return
        sm.bypass_reply = packet.reference
        sm.load[packet.reference].level = max(sm.load[packet.reference].level, level)
    sm.counter[counters.REPLIES] += 1
    give_back(packets, port, pop(packets, port.replies))


@merged
def next_event(gpu: Record, packets: Table, port: Record, sm: Record, launch: Record, now: int) -> int:
    """First cycle after ``now`` in which the unit has something to do."""
    if sm.write_back >= 0 or sm.bypass_reply >= 0 or sm.filled_count > 0 or sm.misses.count > 0:
        return now + 1
    if sm.dispatching < 0 and sm.waiting_subcores[MEMORY_PIPE]:
        return now + 1
    earliest = np.int64(INFINITE)
    if sm.dispatching >= 0:
        earliest = np.int64(sm.dispatch_time)
    if sm.shared_count > 0:
        earliest = min(earliest, np.int64(sm.shared_time[sm.shared_head]))
    if port.replies.count > 0:
        earliest = min(earliest, packets[port.replies.head].time + REPLY_DELAY - launch.start)
    busy = np.uint64(sm.bank_busy)
    while busy:
        bank = count_trailing_zeros(busy)
        busy &= busy - np.uint64(1)
        # A head that failed waits for a change, which is an event of its own.
        if not (sm.blocked_banks >> bank) & 1 or sm.bank_version[bank] != sm.l1_version:
            due = np.int64(sm.bank[bank, sm.bank_head[bank]].time) + gpu.l1_latency
            earliest = min(earliest, due)
    return max(earliest, now + 1)
