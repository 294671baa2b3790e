"""The L1's bank queues: accesses wait there for the L1's latency, then the head of each bank is looked up (section 5).

A look-up that fails blocks its bank. It counts as failed in every cycle, also in those in which nothing could change and the
SM was not visited.
"""

import numpy as np

from sims.engine import l1
from sims.engine.jit import Record, Table, bit, compiled, count_trailing_zeros, inlined, merged
from sims.engine.trace import Trace
from sims.engine.writeback import access_done


@merged
def look_up_heads(gpu: Record, trace: Trace, packets: Table, port: Record, sm: Record, now: int) -> None:
    """Every bank whose oldest access has waited long enough looks it up."""
    busy = np.uint64(sm.bank_busy)
    blocked = np.uint64(0)
    while busy:
        bank = count_trailing_zeros(busy)
        busy &= busy - np.uint64(1)
        head = sm.bank_head[bank]
        entry = sm.bank[bank, head]
        if entry.time + gpu.l1_latency > now:
            continue
        if sm.bank_version[bank] == sm.l1_version:
            blocked |= bit(bank)
            l1.repeat_failure(sm, sm.bank_failure[bank], 1)
        elif _look_up(gpu, trace, packets, port, sm, entry, now):
            sm.bank_head[bank] = (head + 1) & gpu.l1_ring
            sm.bank_count[bank] -= 1
            if sm.bank_count[bank] == 0:
                sm.bank_busy &= ~(np.uint32(1) << np.uint32(bank))
        else:
            blocked |= bit(bank)
            sm.bank_version[bank] = sm.l1_version
            sm.bank_failure[bank] = sm.l1_failure
    sm.blocked_banks = blocked


@inlined
def _look_up(gpu: Record, trace: Trace, packets: Table, port: Record, sm: Record, entry: Record, now: int) -> bool:
    if entry.reference < 0:
        return l1.store(gpu, packets, port, sm, entry, -1 - entry.reference, now)
    outcome = l1.load(gpu, packets, port, sm, entry, now)
    if outcome == l1.HIT:
        access_done(trace, sm, entry.reference, now)
    return outcome != l1.RETRY


@compiled
def count_skipped(sm: Record, cycles: int) -> None:
    """``cycles`` in which nothing could happen were not visited: the heads of blocked banks failed in each."""
    blocked = np.uint64(sm.blocked_banks)
    while blocked:
        bank = count_trailing_zeros(blocked)
        blocked &= blocked - np.uint64(1)
        l1.repeat_failure(sm, sm.bank_failure[bank], cycles)
