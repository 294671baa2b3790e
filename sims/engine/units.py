"""Execution units: per sub-core and class one unit with a latency and an initiation interval (section 2).

A unit takes its operand latch at cycle t if it is free, is busy for ``interval`` cycles and delivers at t + latency + 2 (pipe,
result latch, write-back), so a dependent instruction issues latency + 5 cycles after. The result takes its register bank for the
collector's first step of that cycle. Microbenchmarks: ``op_chain``, ``op_stream``, ``op_warps``.
"""

import numpy as np

from sims.engine import gmma
from sims.engine.jit import Record, Word, bit, compiled, count_trailing_zeros
from sims.engine.scoreboard import EXITED, INFINITE, consider, result_known
from sims.engine.smstate import RESULT_SLOTS
from sims.engine.statics import GMMA_PIPE, MEMORY_PIPE
from sims.engine.trace import Trace

RESULT_DELAY = 2


@compiled
def units_cycle(gpu: Record, trace: Trace, sm: Record, now: int) -> None:
    """Every free unit takes its operand latch."""
    for subcore in range(gpu.subcores):
        waiting = np.uint64(sm.operands_full[subcore]) & ~bit(MEMORY_PIPE)
        while waiting:
            pipe = count_trailing_zeros(waiting)
            waiting &= waiting - np.uint64(1)
            if sm.unit_free[subcore, pipe] <= now:
                sm.operands_full[subcore] &= ~(np.uint32(1) << np.uint32(pipe))
                sm.waiting_operands -= 1
                _start(trace, sm, subcore, pipe, now)


@compiled
def _start(trace: Trace, sm: Record, subcore: int, pipe: int, now: int) -> None:
    index = sm.operands[subcore, pipe]
    operation = sm.operation[index]
    code = trace.code[operation.code]
    warp = operation.warp
    sm.progress = 1
    sm.unit_free[subcore, pipe] = now + code.interval
    sm.busy[pipe] += code.interval
    done = now + code.latency + RESULT_DELAY
    sm.warp_last[warp] = max(sm.warp_last[warp], done)
    release_operation(sm, index)
    sm.warp_in_flight[warp] -= 1
    if code.destination >= 0:
        write_bank(sm, subcore, code.writes[sm.warp_phase[warp]], done)
        result_known(trace, sm, warp, code.destination, done, now)
    elif sm.warp_state[warp] == EXITED:
        consider(trace, sm, warp, now)
    if pipe == GMMA_PIPE:
        gmma.started(trace, sm, warp, done, now)


@compiled
def write_bank(sm: Record, subcore: int, banks: Word, cycle: int) -> None:
    """Note that register ``banks`` of the sub-core are written in ``cycle``."""
    slot = cycle & (RESULT_SLOTS - 1)
    if sm.write_time[subcore, slot] != cycle:
        sm.write_time[subcore, slot] = cycle
        sm.write_banks[subcore, slot] = 0
    sm.write_banks[subcore, slot] |= banks


@compiled
def release_operation(sm: Record, index: int) -> None:
    """The instruction has left for its unit; its record is free."""
    sm.free_operation[sm.free_operations] = index
    sm.free_operations += 1


@compiled
def next_unit_start(gpu: Record, sm: Record) -> int:
    """First cycle at which a unit can take a waiting operand latch."""
    earliest = np.int64(INFINITE)
    for subcore in range(gpu.subcores):
        waiting = np.uint64(sm.operands_full[subcore]) & ~bit(MEMORY_PIPE)
        while waiting:
            pipe = count_trailing_zeros(waiting)
            waiting &= waiting - np.uint64(1)
            earliest = min(earliest, np.int64(sm.unit_free[subcore, pipe]))
    return earliest
