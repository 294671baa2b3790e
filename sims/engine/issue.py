"""Issue: four schedulers, visited in rotating order, each put one instruction a cycle into the latch of its class (section 2).

What an instruction does to its warp at issue is here: scoreboard entry, barriers, exits, waits for copies. Latches, collector
and units follow in their own modules. Twin: tests/engine/twins/issue.py.
"""

import numpy as np

from sims.engine import accounts, barriers, counters, gmma, l1, mbarrier
from sims.engine.jit import Record, Word, bit, compiled, count_trailing_zeros, inlined, merged
from sims.engine.pointers import prefetch
from sims.engine.program import (
    BARRIER_WAITS,
    KIND_ALU,
    KIND_ATOMIC,
    KIND_BARRIER,
    KIND_BARRIER_ARRIVE,
    KIND_DEPBAR,
    KIND_EXIT,
    KIND_GMMA,
    KIND_GMMA_WAIT,
    KIND_LDGDEPBAR,
    KIND_LDGSTS,
    KIND_MEMBAR,
    KIND_TMA_STORE,
)
from sims.engine.scheduler import choose, looked_at
from sims.engine.scoreboard import ATOMIC_OUT, COPY_WAIT, EXITED, INFINITE, MEMBAR_WAIT, consider
from sims.engine.smstate import GROUPS
from sims.engine.statics import MEMORY_PIPE
from sims.engine.trace import Trace

IDS_PER_LINE, OPERANDS_PER_LINE = 32, 16
"""Of one of the host's cache lines."""


@merged
def issue_cycle(gpu: Record, trace: Trace, sm: Record, now: int) -> None:
    """Every scheduler issues if it can; one that finds no candidate sleeps until a warp is ready or a latch is free."""
    subcore = (sm.rotation + now - sm.active_since) % gpu.subcores - 1
    for _ in range(gpu.subcores):
        subcore = subcore + 1 if subcore + 1 < gpu.subcores else 0
        if not (sm.awake_schedulers >> subcore) & 1:
            continue
        candidates = sm.ready & gpu.subcore_warps[subcore]
        blocked = np.uint64(sm.latch_full[subcore]) if candidates else np.uint64(0)
        while blocked:
            candidates &= ~sm.pipe_warps[count_trailing_zeros(blocked)]
            blocked &= blocked - np.uint64(1)
        last, chosen = np.int64(sm.last_issued[subcore]), np.int64(-1)
        membars = sm.membars & gpu.subcore_warps[subcore]
        if not candidates and not membars:
            sm.awake_schedulers &= ~np.uint8(1 << subcore)
        membars = _membars_over(sm, membars)
        # Out before anything issues: what a warp issues when its MEMBAR has ended may be the next one.
        sm.membars &= ~membars
        while candidates:
            warp = choose(gpu, sm, subcore, candidates)
            pipe = sm.warp_pipe[warp]
            if pipe == MEMORY_PIPE and not mbarrier.may_issue(trace, sm, warp, now):
                candidates &= ~bit(warp)
                continue
            accounts.charge_issue(sm, subcore, warp, now)
            sm.last_issued[subcore] = warp
            _issue(trace, sm, subcore, warp, pipe, now)
            sm.progress = 1
            chosen = np.int64(warp)
            break
        if membars:
            # A MEMBAR ends, and empties the L1, when the scheduler looks at its warp.
            ended = membars & looked_at(gpu, last, chosen)
            sm.membars |= membars & ~ended
            if ended:
                l1.end_membar(gpu, sm)


@compiled
def _membars_over(sm: Record, waiting: Word) -> Word:
    """Of the warps whose MEMBAR has not ended those that the scoreboard no longer holds back."""
    over = waiting
    while waiting:
        warp = count_trailing_zeros(waiting)
        waiting &= waiting - np.uint64(1)
        if sm.warp_state[warp] == MEMBAR_WAIT:
            over &= ~bit(warp)
    return over


@inlined
def _issue(trace: Trace, sm: Record, subcore: int, warp: int, pipe: int, now: int) -> None:
    place = sm.warp_next[warp]
    code_index = trace.static_ids[place]
    code = trace.code[code_index]
    operand = trace.operands[place]
    # Every warp reads its own part of the trace, last touched when it was decoded.
    prefetch(trace.static_ids, place + IDS_PER_LINE)
    prefetch(trace.operands, place + OPERANDS_PER_LINE)
    if pipe == MEMORY_PIPE:
        prefetch(trace.sector_addresses, operand + sm.cta_sectors[sm.warp_slot[warp]])
        prefetch(trace.sector_masks, operand + sm.cta_sectors[sm.warp_slot[warp]])
    _latch(sm, subcore, warp, pipe, code_index, operand)
    sm.counter[counters.WARP_INSTRUCTIONS] += 1
    sm.ready &= ~bit(warp)
    sm.warp_next[warp] = place + 1
    sm.warp_in_flight[warp] += 1
    sm.warp_buffered[warp] -= 1
    if sm.warp_buffered[warp] == 0 and place + 1 < sm.warp_end[warp]:
        sm.fetchable |= bit(warp)
    if code.destination >= 0:
        sm.register_ready[warp, code.destination] = INFINITE
        sm.warp_unknown[warp] += 1
    if pipe == MEMORY_PIPE:
        _memory_effects(sm, warp, code.kind, operand)
    else:
        _control_effects(trace, sm, warp, code.kind, operand, now)
    if sm.warp_buffered[warp] > 0:
        consider(trace, sm, warp, now + 1)


@inlined
def _latch(sm: Record, subcore: int, warp: int, pipe: int, code_index: int, operand: int) -> None:
    sm.free_operations -= 1
    index = sm.free_operation[sm.free_operations]
    operation = sm.operation[index]
    operation.warp = warp
    operation.pipe = pipe
    operation.code = code_index
    operation.operand = operand
    operation.age = sm.next_age
    operation.group = sm.warp_group[warp]
    sm.next_age += 1
    sm.latch[subcore, pipe] = index
    sm.latch_full[subcore] |= np.uint32(1) << np.uint32(pipe)
    sm.latched_pipes |= np.uint32(1) << np.uint32(pipe)
    sm.offered_pipes |= np.uint32(1) << np.uint32(pipe)
    sm.latch_order[pipe] |= np.uint32(subcore) << np.uint32(8 * sm.latch_count[pipe])
    sm.latch_count[pipe] += 1


@compiled
def _memory_effects(sm: Record, warp: int, kind: int, operand: int) -> None:
    if kind == KIND_LDGSTS or kind == KIND_TMA_STORE:
        if operand >= 0:
            sm.group_open[warp, sm.warp_group[warp] & (GROUPS - 1)] += 1
            sm.copies_issued[warp] += 1
    elif kind == KIND_ATOMIC:
        if operand >= 0:
            sm.warp_state[warp] = ATOMIC_OUT
    elif kind == KIND_MEMBAR:
        sm.warp_state[warp] = MEMBAR_WAIT
        sm.membars |= bit(warp)
    elif kind == KIND_LDGDEPBAR:
        _close_copy_group(sm, warp)


@compiled
def _close_copy_group(sm: Record, warp: int) -> None:
    sm.warp_group[warp] += 1
    sm.group_open[warp, sm.warp_group[warp] & (GROUPS - 1)] = 0


@compiled
def _control_effects(trace: Trace, sm: Record, warp: int, kind: int, operand: int, now: int) -> None:
    if kind == KIND_ALU:
        return
    if kind == KIND_EXIT:
        if sm.warp_next[warp] >= sm.warp_end[warp]:
            slot = sm.warp_slot[warp]
            sm.warp_state[warp] = EXITED
            sm.cta_live[slot] -= 1
            if sm.cta_live[slot] > 0:
                barriers.warp_left(trace, sm, slot, now)
    elif kind == KIND_BARRIER or kind == KIND_BARRIER_ARRIVE:
        if operand >= 0:
            barriers.arrive(trace, sm, warp, operand, kind == KIND_BARRIER or operand & BARRIER_WAITS, now)
    elif kind == KIND_LDGDEPBAR:
        _close_copy_group(sm, warp)
    elif kind == KIND_DEPBAR:
        sm.warp_wait_group[warp] = sm.warp_group[warp] - max(operand, 0)
        if not copies_done(sm, warp):
            sm.warp_state[warp] = COPY_WAIT
    elif kind == KIND_GMMA:
        gmma.issued(sm, warp, operand)
    elif kind == KIND_GMMA_WAIT:
        gmma.wait(sm, warp, operand, now)


@compiled
def copies_done(sm: Record, warp: int) -> bool:
    """Whether all copy groups that the warp's DEPBAR waits for are complete."""
    oldest = sm.warp_oldest_group[warp]
    while oldest < sm.warp_wait_group[warp] and sm.group_open[warp, oldest & (GROUPS - 1)] == 0:
        oldest += 1
    sm.warp_oldest_group[warp] = oldest
    return oldest >= sm.warp_wait_group[warp]
