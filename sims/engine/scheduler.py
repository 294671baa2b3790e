"""Warp scheduling policies: the one place to change to try another.

Each sub-core issues at most one instruction a cycle. :func:`choose` picks the warp among ``candidates``: the ready warps of
the sub-core whose class latch is free, one bit each. To add a policy, give it a name in
:mod:`sims.gpus.limits`, a number in :mod:`sims.engine.parameters` and a branch here.
Microbenchmarks: ``lrr``, ``op_warps``, ``hiding``.
"""

import numpy as np

from sims.engine.jit import Record, Word, bit, compiled, count_trailing_zeros, first_from
from sims.engine.parameters import GTO


@compiled
def choose(gpu: Record, sm: Record, subcore: int, candidates: Word) -> int:
    """The warp that issues; ``candidates`` is not empty."""
    last = sm.last_issued[subcore]
    if gpu.scheduler == GTO:
        return greedy_then_oldest(sm, last, candidates)
    return loose_round_robin(last, candidates)


@compiled
def looked_at(gpu: Record, last: int, chosen: int) -> Word:
    """Warps that the scheduler looks at on its way to ``chosen`` (-1: none can issue), this one among them."""
    if chosen < 0 or gpu.scheduler == GTO:
        return ~np.uint64(0)
    first = (last + 1) & 63
    others = (chosen - first) & 63
    span = (bit(others) << np.uint64(1)) - np.uint64(1)
    return (span << np.uint64(first)) | (span >> np.uint64(64 - first)) if first else span


@compiled
def loose_round_robin(last: int, candidates: Word) -> int:
    """The first warp after the one that issued last."""
    return first_from(candidates, (last + 1) & 63)


@compiled
def greedy_then_oldest(sm: Record, last: int, candidates: Word) -> int:
    """The warp that issued last as long as it can, else the one launched first."""
    if last >= 0 and candidates & bit(last):
        return last
    oldest = count_trailing_zeros(candidates)
    rest = candidates & (candidates - np.uint64(1))
    while rest:
        warp = count_trailing_zeros(rest)
        rest &= rest - np.uint64(1)
        if sm.warp_age[warp] < sm.warp_age[oldest]:
            oldest = warp
    return oldest
