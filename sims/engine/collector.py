"""Operand collector (section 2): two steps a cycle of dispatch, one read per register bank, allocation.

* Dispatch: a collector unit with all operands read moves to its unit's operand latch if that is free. Inside a sub-core the
  lower unit always wins, so with three or more warps queued on a saturated unit the upper one starves.
* Reads: each bank serves one read a step, the longest waiting first. A result written this cycle takes its bank for the first
  step.
* Allocation: classes are offered in pipe order; of each only the OLDEST latched instruction of the whole SM. If its sub-core has
  no free collector unit, younger ones of that class wait too.

Orders are queues of bytes in one word, the oldest lowest: of the sub-cores that have latched an instruction of a class
(``latch_order``), and of the units allocated in a sub-core (``collector_order``, unit + 1).

Microbenchmarks: ``reg_bank``, ``op_mix``, ``op_warps``. Twin: tests/engine/twins/collector.py.
"""

import numpy as np

from sims.engine.jit import Record, Word, bit, compiled, count_trailing_zeros, inlined, merged
from sims.engine.smstate import RESULT_SLOTS
from sims.engine.statics import MEMORY_PIPE
from sims.engine.trace import Trace

STEPS_PER_CYCLE = 2
NIBBLES = 0x1111111111111111
"""One bit per register bank, in the packing of ``CODE.reads``."""
LOW_BYTE = 0xFF


@merged
def collector_cycle(gpu: Record, trace: Trace, sm: Record, now: int) -> None:
    """Two steps; sets ``progress`` if anything moved.

    A sub-core with nothing to read sleeps until one of its units is taken or an operand latch is free, and a class whose oldest
    has no unit is offered again when one has been released.
    """
    for step in range(STEPS_PER_CYCLE):
        subcores = np.uint64(sm.awake_collectors)
        while subcores:
            subcore = count_trailing_zeros(subcores)
            subcores &= subcores - np.uint64(1)
            _dispatch(sm, subcore)
            if sm.collector_reading[subcore]:
                _read(sm, subcore, banks_written(sm, subcore, now) if step == 0 else np.uint64(0))
            else:
                sm.awake_collectors &= ~np.uint8(1 << subcore)
        if sm.offered_pipes:
            _allocate(gpu, trace, sm)


@compiled
def banks_written(sm: Record, subcore: int, now: int) -> Word:
    """Register banks of the sub-core that take a result in this cycle."""
    write = sm.write[now & (RESULT_SLOTS - 1), subcore]
    return write.banks if write.time == now else np.uint64(0)


@inlined
def _dispatch(sm: Record, subcore: int) -> None:
    complete = np.uint64(sm.collector_used[subcore] & ~sm.collector_reading[subcore])
    # Memory instructions stay for many cycles when the load/store unit is behind: not to be looked at in each.
    if (sm.waiting_subcores[MEMORY_PIPE] >> subcore) & 1:
        complete &= ~np.uint64(sm.collector_memory[subcore])
    while complete:
        unit = count_trailing_zeros(complete)
        complete &= complete - np.uint64(1)
        index = sm.collector[subcore, unit]
        pipe = sm.operation[index].pipe
        if (sm.waiting_subcores[pipe] >> subcore) & 1:
            continue
        sm.waiting_subcores[pipe] |= np.uint8(1 << subcore)
        sm.waiting_pipes |= np.uint32(1) << np.uint32(pipe)
        sm.operands[subcore, pipe] = index
        _release_unit(sm, subcore, unit)
        sm.progress = 1


@compiled
def operands_taken(sm: Record, subcore: int, pipe: int) -> None:
    """The unit has taken its operand latch, which is free for the next instruction."""
    sm.waiting_subcores[pipe] &= ~np.uint8(1 << subcore)
    if not sm.waiting_subcores[pipe]:
        sm.waiting_pipes &= ~(np.uint32(1) << np.uint32(pipe))
    sm.awake_collectors |= np.uint8(1 << subcore)


@compiled
def _release_unit(sm: Record, subcore: int, unit: int) -> None:
    sm.collector_used[subcore] &= ~np.uint8(1 << unit)
    sm.collector_memory[subcore] &= ~np.uint8(1 << unit)
    sm.offered_pipes = sm.latched_pipes
    order = np.uint64(sm.collector_order[subcore])
    place = np.uint64(0)
    while ((order >> place) & np.uint64(LOW_BYTE)) != np.uint64(unit + 1):
        place += np.uint64(8)
    older = order & ((np.uint64(1) << place) - np.uint64(1))
    sm.collector_order[subcore] = older | ((order >> (place + np.uint64(8))) << place)


@inlined
def _read(sm: Record, subcore: int, taken: Word) -> None:
    """One read per bank that is not in ``taken``, units in the order of their allocation."""
    order = np.uint64(sm.collector_order[subcore])
    while order:
        unit = np.int64(order & np.uint64(LOW_BYTE)) - 1
        order >>= np.uint64(8)
        reads = sm.collector_reads[subcore, unit]
        if not reads:
            continue
        # Bit 0 of a nibble is set if any bit of it is: a bank is wanted if any read of it is left.
        pairs = reads | (reads >> np.uint64(1))
        wanted = (pairs | (pairs >> np.uint64(2))) & np.uint64(NIBBLES)
        granted = wanted & ~taken
        if granted:
            taken |= granted
            sm.collector_reads[subcore, unit] = reads - granted
            if reads == granted:
                sm.collector_reading[subcore] &= ~np.uint8(1 << unit)
            sm.progress = 1


@inlined
def _allocate(gpu: Record, trace: Trace, sm: Record) -> None:
    """Classes in pipe order, one instruction each, again and again until all that is left has no free unit."""
    all_units = (np.uint64(1) << np.uint64(gpu.collectors)) - np.uint64(1)
    hopeful = np.uint64(sm.offered_pipes)
    while hopeful:
        pipes = hopeful
        while pipes:
            pipe = count_trailing_zeros(pipes)
            pipes &= pipes - np.uint64(1)
            subcore = np.int64(sm.latch_order[pipe] & np.uint32(LOW_BYTE))
            free = all_units & ~np.uint64(sm.collector_used[subcore])
            if not free:
                hopeful &= ~bit(pipe)
                continue
            _take(trace, sm, pipe, subcore, count_trailing_zeros(free))
            if not sm.latch_count[pipe]:
                hopeful &= ~bit(pipe)
    sm.offered_pipes = 0


@inlined
def _take(trace: Trace, sm: Record, pipe: int, subcore: int, unit: int) -> None:
    """The sub-core's latch of this class, the oldest of the SM, moves to collector ``unit``."""
    index = sm.latch[subcore, pipe]
    operation = sm.operation[index]
    flag = np.uint32(1) << np.uint32(pipe)
    sm.latch_full[subcore] &= ~flag
    sm.latch_order[pipe] >>= np.uint32(8)
    sm.latch_count[pipe] -= 1
    if not sm.latch_count[pipe]:
        sm.latched_pipes &= ~flag
    reads = trace.code[operation.code].reads[sm.warp_phase[operation.warp]]
    sm.collector_used[subcore] |= np.uint8(1 << unit)
    if reads:
        sm.collector_reading[subcore] |= np.uint8(1 << unit)
    if pipe == MEMORY_PIPE:
        sm.collector_memory[subcore] |= np.uint8(1 << unit)
    sm.collector[subcore, unit] = index
    sm.collector_reads[subcore, unit] = reads
    order = np.uint64(sm.collector_order[subcore])
    place = np.uint64(0)
    while (order >> place) & np.uint64(LOW_BYTE):
        place += np.uint64(8)
    sm.collector_order[subcore] = order | (np.uint64(unit + 1) << place)
    sm.awake_collectors |= np.uint8(1 << subcore)
    sm.awake_schedulers |= np.uint8(1 << subcore)
    sm.progress = 1
