"""Compiled operands of waits and barriers: immediates, and the register that a barrier's number may be in."""

from typing import Any

import numpy as np

from sims.engine.decode import layout as lay
from sims.engine.decode.fields import has_values, read_decimal, read_hex, refused, skip_field
from sims.engine.decode.layout import Number
from sims.engine.jit import compiled
from sims.engine.program import BARRIER_WAITS

MAX_THREADS_PER_CTA = 1024
BARRIER_MASK = 15
"""Of a barrier's number: a CTA has 16."""


@compiled
def immediate_operand(buffer: Any, p: Number) -> Number:
    """First immediate after the width; 0 where an old tracer wrote none."""
    _, p = read_decimal(buffer, p)
    if p < 0:
        return refused(lay.ERROR_ADDRESS)
    value, p = read_decimal(buffer, p)
    if p < 0 or value < 0:
        return 0
    return min(value, 0x7FFFFFFF)


@compiled
def barrier_operand(buffer: Any, p: Number, destinations: Number) -> Number:
    """``id | threads << 4``, threads 0 for the whole CTA.

    Tracers that write one immediate write the last one, which may be an id or a count; Accel-Sim then uses barrier 0
    for all, and an arrival waits there like any other BAR.
    """
    _, p = read_decimal(buffer, p)
    if p < 0:
        return refused(lay.ERROR_ADDRESS)
    first, p = read_decimal(buffer, p)
    if p < 0:
        return BARRIER_WAITS
    second, p = read_decimal(buffer, p)
    if p < 0:
        return BARRIER_WAITS
    if destinations > 0 and second == 0 and has_values(buffer, p):  # the id is in a register: Val 1 <id>
        identity, q = read_hex(buffer, skip_field(buffer, skip_field(buffer, p)))
        if q >= 0:
            return packed_barrier(np.int64(identity & np.uint64(BARRIER_MASK)), first)
    return packed_barrier(first, second)


@compiled
def packed_barrier(identity: Number, threads: Number) -> Number:
    """A barrier and how many threads take part, as the operand has them."""
    return (identity & BARRIER_MASK) | (max(0, min(threads, MAX_THREADS_PER_CTA)) << 4)
