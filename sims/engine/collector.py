"""Operand collector (section 2): two steps a cycle of dispatch, one read per register bank, allocation.

* Dispatch: a collector unit with all operands read moves to its unit's operand latch if that is free. Inside a sub-core the
  lower unit always wins, so with three or more warps queued on a saturated unit the upper one starves.
* Reads: each bank serves one read a step, the longest waiting first. A result written this cycle takes its bank for the first
  step.
* Allocation: classes are offered in pipe order; of each only the OLDEST latched instruction of the whole SM. If its sub-core has
  no free collector unit, younger ones of that class wait too.

Microbenchmarks: ``reg_bank``, ``op_mix``, ``op_warps``. Twin: tests/engine/twins.py.
"""

import numpy as np

from sims.engine.jit import Record, Word, compiled
from sims.engine.smstate import RESULT_SLOTS
from sims.engine.statics import MEMORY_PIPE
from sims.engine.trace import Trace

STEPS_PER_CYCLE = 2
NIBBLES = 0x1111111111111111
"""One bit per register bank, in the packing of ``CODE.reads``."""


@compiled
def collector_cycle(gpu: Record, trace: Trace, sm: Record, now: int) -> None:
    """Two steps; sets ``progress`` if anything moved."""
    for step in range(STEPS_PER_CYCLE):
        if sm.collecting > 0:
            for subcore in range(gpu.subcores):
                if sm.collector_used[subcore]:
                    _dispatch(gpu, sm, subcore)
                    written = np.uint64(0)
                    if step == 0:
                        written = banks_written(sm, subcore, now)
                    _read(gpu, sm, subcore, written)
        if sm.latched_pipes:
            _allocate(gpu, trace, sm)


@compiled
def banks_written(sm: Record, subcore: int, now: int) -> Word:
    """Register banks of the sub-core that take a result in this cycle."""
    slot = now & (RESULT_SLOTS - 1)
    return sm.write_banks[subcore, slot] if sm.write_time[subcore, slot] == now else np.uint64(0)


@compiled
def _dispatch(gpu: Record, sm: Record, subcore: int) -> None:
    for unit in range(gpu.collectors):
        if not (sm.collector_used[subcore] >> unit) & 1 or sm.collector_reads[subcore, unit]:
            continue
        index = sm.collector[subcore, unit]
        pipe = sm.operation[index].pipe
        flag = np.uint32(1) << np.uint32(pipe)
        if sm.operands_full[subcore] & flag:
            continue
        sm.operands_full[subcore] |= flag
        sm.operands[subcore, pipe] = index
        if pipe == MEMORY_PIPE:
            sm.memory_operands += 1
        else:
            sm.waiting_operands += 1
        sm.collector_used[subcore] &= ~np.uint8(1 << unit)
        sm.collecting -= 1
        sm.progress = 1


@compiled
def _read(gpu: Record, sm: Record, subcore: int, taken: Word) -> None:
    """One read per bank that is not in ``taken``, units in the order of their allocation."""
    previous = np.int64(-1)
    for _ in range(gpu.collectors):
        unit = -1
        order = np.int64(1) << 40
        for u in range(gpu.collectors):
            waits = (sm.collector_used[subcore] >> u) & 1 and sm.collector_reads[subcore, u]
            if waits and previous < sm.collector_order[subcore, u] < order:
                order = np.int64(sm.collector_order[subcore, u])
                unit = u
        if unit < 0:
            return
        previous = order
        reads = sm.collector_reads[subcore, unit]
        wanted = (reads | (reads >> np.uint64(1)) | (reads >> np.uint64(2)) | (reads >> np.uint64(3))) & np.uint64(
            NIBBLES
        )
        granted = wanted & ~taken
        taken |= granted
        sm.collector_reads[subcore, unit] = reads - granted
        if granted:
            sm.progress = 1


@compiled
def _allocate(gpu: Record, trace: Trace, sm: Record) -> None:
    blocked = np.uint32(0)
    while sm.latched_pipes & ~blocked:
        for pipe in range(len(sm.latched_subcores)):
            flag = np.uint32(1) << np.uint32(pipe)
            if not sm.latched_pipes & flag & ~blocked:
                continue
            subcore = _oldest_latched(gpu, sm, pipe)
            unit = _free_unit(gpu, sm, subcore)
            if unit < 0:
                blocked |= flag
                continue
            index = sm.latch[subcore, pipe]
            operation = sm.operation[index]
            sm.latch_full[subcore] &= ~flag
            sm.latched_subcores[pipe] &= ~np.uint8(1 << subcore)
            if sm.latched_subcores[pipe] == 0:
                sm.latched_pipes &= ~flag
            sm.collector_used[subcore] |= np.uint8(1 << unit)
            sm.collector[subcore, unit] = index
            sm.collector_reads[subcore, unit] = trace.code[operation.code].reads[sm.warp_phase[operation.warp]]
            sm.collector_order[subcore, unit] = sm.next_order
            sm.next_order += 1
            sm.collecting += 1
            sm.progress = 1


@compiled
def _oldest_latched(gpu: Record, sm: Record, pipe: int) -> int:
    """Sub-core whose latch of this class holds the SM's oldest instruction."""
    best = -1
    age = np.int64(1) << 40
    for subcore in range(gpu.subcores):
        if (sm.latched_subcores[pipe] >> subcore) & 1:
            candidate = sm.operation[sm.latch[subcore, pipe]].age
            if candidate < age:
                age = np.int64(candidate)
                best = subcore
    return best


@compiled
def _free_unit(gpu: Record, sm: Record, subcore: int) -> int:
    for unit in range(gpu.collectors):
        if not (sm.collector_used[subcore] >> unit) & 1:
            return unit
    return -1
