"""Execution units: per sub-core and class one unit with a latency and an initiation interval (section 2).

A unit takes its operand latch at cycle t if it is free, is busy for ``interval`` cycles and delivers at t + latency + 2 (pipe,
result latch, write-back), so a dependent instruction issues latency + 5 cycles after. The result takes its register bank for the
collector's first step of that cycle.

Eight result buses carry what all units of the SM deliver: a unit does not start what would be the ninth result of a cycle. Units
ask in a fixed order. Microbenchmarks: ``op_chain``, ``op_stream``, ``op_warps``.
"""

import numpy as np

from sims.engine import gmma
from sims.engine.collector import operands_taken
from sims.engine.jit import Record, Word, bit, compiled, count_trailing_zeros, inlined, merged
from sims.engine.scoreboard import EXITED, INFINITE, consider, result_known
from sims.engine.smstate import RESULT_SLOTS
from sims.engine.statics import GMMA_PIPE, INT_PIPE, MEMORY_PIPE, SFU_PIPE
from sims.engine.trace import Trace

RESULT_DELAY = 2
RESULT_BUSES = 8

# The order in which units ask for a result bus: pipe by pipe, but the special function units after the integer ones.
_FIRST_PIPES = (1 << (INT_PIPE + 1)) - 1 & ~(1 << SFU_PIPE)


@merged
def units_cycle(trace: Trace, sm: Record, now: int) -> None:
    """Every free unit takes its operand latch; where none does, ``unit_due`` is the first cycle in which one can."""
    wanted = np.uint64(sm.waiting_pipes) & ~bit(MEMORY_PIPE)
    sm.unit_due = INFINITE
    _start_pipes(trace, sm, wanted & np.uint64(_FIRST_PIPES), now)
    _start_pipes(trace, sm, wanted & ~np.uint64(_FIRST_PIPES), now)


@inlined
def _start_pipes(trace: Trace, sm: Record, pipes: Word, now: int) -> None:
    while pipes:
        pipe = count_trailing_zeros(pipes)
        pipes &= pipes - np.uint64(1)
        subcores = np.uint64(sm.waiting_subcores[pipe])
        while subcores:
            subcore = count_trailing_zeros(subcores)
            subcores &= subcores - np.uint64(1)
            sm.unit_due = min(sm.unit_due, sm.unit_free[subcore, pipe])
            if sm.unit_free[subcore, pipe] <= now and _take_bus(trace, sm, subcore, pipe, now):
                operands_taken(sm, subcore, pipe)
                _start(trace, sm, subcore, pipe, now)


@compiled
def _take_bus(trace: Trace, sm: Record, subcore: int, pipe: int, now: int) -> bool:
    """Whether a result bus is free in the cycle in which the waiting instruction would be done; it is taken then."""
    done = now + trace.code[sm.operation[sm.operands[subcore, pipe]].code].latency
    bus = sm.bus[done & (RESULT_SLOTS - 1)]
    if bus.time != done:
        bus.time = done
        bus.taken = 0
    if bus.taken == RESULT_BUSES:
        return False
    bus.taken += 1
    return True


@inlined
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
    write = sm.write[cycle & (RESULT_SLOTS - 1), subcore]
    if write.time != cycle:
        write.time = cycle
        write.banks = 0
    write.banks |= banks


@compiled
def release_operation(sm: Record, index: int) -> None:
    """The instruction has left for its unit; its record is free."""
    sm.free_operation[sm.free_operations] = index
    sm.free_operations += 1
