"""Compiled operands of barriers, waits, bulk copies and mbarriers: immediates, values and TMA fields.

Operands are -1 for none and ``-2 - status`` for an error. Layouts in the chunk's sector arrays (at offset ``o``):

* TMA: count n, n sectors in the order of the transfer, then mbarrier address, bytes it completes there, CTA mask of a
  multicast
* mbarrier: address, first value, second value: init (arrivals expected, initial phase); arrive (arrivals, bytes:
  positive are expected, negative are completed); wait (phase parity, 0)
"""

from typing import Any

import numpy as np

from sims.engine.decode import layout as lay
from sims.engine.decode.fields import count_fields, read_decimal, read_hex, skip_field
from sims.engine.decode.layout import Number
from sims.engine.jit import compiled

(
    MBARRIER_INIT,
    MBARRIER_ARRIVE_AND_EXPECT,  # arrives once, expects the bytes of source 2
    MBARRIER_ARRIVE_MANY,  # ART0: arrives as often as source 2 says
    MBARRIER_ARRIVE,  # A1T0
    MBARRIER_EXPECT,  # A0TR
    MBARRIER_COMPLETE,  # A0TX
    MBARRIER_EXPECT_ONE,  # A0T1
    MBARRIER_WAIT,
    MBARRIER_COPY_NEUTRAL,  # ARRIVES.LDGSTSBAR.TRANSCNT: raises the pending count and lowers it again
    MBARRIER_COPY_ARRIVE,  # ...ARVCNT
) = range(10)
VALUE_FREE_FORMS = MBARRIER_COPY_NEUTRAL
"""This form and those above it need no register values."""


@compiled
def immediate_operand(buffer: Any, p: Number) -> Number:
    """First immediate after the width; 0 where an old tracer wrote none."""
    _, p = read_decimal(buffer, p)
    if p < 0:
        return -2 - lay.ERROR_ADDRESS
    value, p = read_decimal(buffer, p)
    if p < 0 or value < 0:
        return 0
    return min(value, 0x7FFFFFFF)


@compiled
def barrier_operand(buffer: Any, p: Number, destinations: Number) -> Number:
    """``id | threads << 4``, threads 0 for the whole CTA.

    Tracers that write one immediate write the last one, which may be an id or a count; Accel-Sim then uses barrier 0
    for all.
    """
    _, p = read_decimal(buffer, p)
    if p < 0:
        return -2 - lay.ERROR_ADDRESS
    first, p = read_decimal(buffer, p)
    if p < 0:
        return 0
    second, p = read_decimal(buffer, p)
    if p < 0:
        return 0
    if destinations > 0 and second == 0 and buffer[p] == 86 and buffer[p + 1] == 97:  # id in a register: Val 1 <id>
        identity, q = read_hex(buffer, skip_field(buffer, skip_field(buffer, p)))
        if q >= 0:
            return np.int64(identity & np.uint64(15)) | (max(0, min(first, 1024)) << 4)
    return (first & 15) | (max(0, min(second, 1024)) << 4)


@compiled
def tma_operand(buffer: Any, p: Number, state: Any, addresses: Any, masks: Any) -> Number:
    """``unit mbar multicast [ctamask] bytes oob format ...``; base 0 with one address is an address the tracer lost."""
    failed = -2 - lay.ERROR_TMA
    unit, p = read_decimal(buffer, p)
    if p < 0 or unit < 0 or unit > 1 << 20:
        return failed
    mbarrier, p = read_hex(buffer, p)
    if p < 0:
        return failed
    multicast, p = read_decimal(buffer, p)
    cta_mask = np.uint64(0)
    if p >= 0 and multicast != 0:
        cta_mask, p = read_hex(buffer, p)
    if p < 0:
        return failed
    total, p = read_decimal(buffer, p)
    if p < 0:
        return failed
    _, p = read_decimal(buffer, p)
    if p < 0:
        return failed
    form, p = read_decimal(buffer, p)
    if p < 0 or (form != 3 and form != 4):
        return failed
    base = np.uint64(0)
    if form == 4:
        base, p = read_hex(buffer, p)
        if p < 0:
            return failed
    count, p = read_decimal(buffer, p)
    if p < 0 or count < 0:
        return failed
    # The printed count may exceed the addresses that follow (out-of-bounds elements): the line's fixed tail bounds
    # them.
    tail = 2
    q = p
    while buffer[q] != 10 and buffer[q] != 13:
        if buffer[q] == 78:  # NoVal
            tail = 3
        q = skip_field(buffer, q)
    listed = max(0, count_fields(buffer, p) - tail) + (1 if form == 4 else 0)
    count = min(count, listed)
    if form == 4 and base == 0 and count <= 1:
        count = 0
    sectors_each = (unit + 62) // 32
    if count * sectors_each > lay.MAX_TMA_SECTORS:
        return failed
    at = state[lay.SECTORS]
    if at + count * sectors_each + 4 > len(addresses):
        state[lay.DETAIL] = count * sectors_each + 4
        return -2 - lay.STATUS_FULL
    used = 0
    address = base
    for i in range(count):
        if form == 3:
            address, p = read_hex(buffer, p)
        elif i > 0:
            delta, p = read_decimal(buffer, p)
            address += np.uint64(delta)
        if p < 0:
            return failed
        sector = np.int64(address & ~np.uint64(31))
        end = np.int64((address + np.uint64(max(unit, 1) - 1)) & ~np.uint64(31))
        while sector <= end:
            addresses[at + 1 + used] = sector
            masks[at + 1 + used] = 0xFFFFFFFF
            used += 1
            sector += 32
    addresses[at] = used
    masks[at] = 0
    fields = at + 1 + used
    addresses[fields] = np.int64(mbarrier & np.uint64(lay.LOCAL_WINDOW_MASK))
    addresses[fields + 1] = max(0, total)
    addresses[fields + 2] = np.int64(cta_mask & np.uint64(0xFFFF))
    for i in range(3):
        masks[fields + i] = 0
    state[lay.SECTORS] = fields + 3
    return at


@compiled
def mbarrier_operand(
    buffer: Any,
    p: Number,
    mask: Number,
    lanes: Number,
    entry: Any,
    state: Any,
    scratch: Any,
    addresses: Any,
    masks: Any,
) -> Number:
    """Address of the first lane and what source 2 holds in it. Without values the instruction orders nothing: -1."""
    failed = -2 - lay.ERROR_ADDRESS
    form = entry.fixed
    width, p = read_decimal(buffer, p)
    if p < 0:
        return failed
    if width == 0:
        return -1
    mode, p = read_decimal(buffer, p)
    if p < 0:
        return failed
    address, p = read_hex(buffer, p)
    if p < 0:
        return failed
    # The other lanes' addresses, then the immediates.
    skip = 1 if mode == 1 else lanes - 1
    for _ in range(skip + 2):
        p = skip_field(buffer, p)
    value = np.uint64(0)
    if buffer[p] == 86 and buffer[p + 1] == 97:  # Val
        value, p = source_value(buffer, skip_field(buffer, p), entry.destinations + 1, mask)
        if p < 0:
            return failed
    elif form < VALUE_FREE_FORMS:
        return -1
    first, second = mbarrier_values(form, value)
    at = state[lay.SECTORS]
    addresses[at] = np.int64(address & np.uint64(lay.LOCAL_WINDOW_MASK))
    addresses[at + 1] = first
    addresses[at + 2] = second
    for i in range(3):
        masks[at + i] = 0
    state[lay.SECTORS] = at + 3
    return at


@compiled
def source_value(buffer: Any, p: Number, skip: Number, mask: Number) -> tuple[Number, Number]:
    """Value of value group number ``skip`` in the first active lane. A group is ``1 v`` or ``32 v0 ... v31``."""
    for _ in range(skip):
        size, p = read_decimal(buffer, p)
        if p < 0 or size < 1 or size > 32:
            return np.uint64(0), -1
        for _ in range(size):
            p = skip_field(buffer, p)
    size, p = read_decimal(buffer, p)
    if p < 0 or size < 1 or size > 32:
        return np.uint64(0), -1
    if size == 32:
        lane = 0
        while lane < 31 and not (mask >> np.uint64(lane)) & np.uint64(1):
            p = skip_field(buffer, p)
            lane += 1
    return read_hex(buffer, p)


@compiled
def mbarrier_values(form: Number, value: Number) -> tuple[Number, Number]:
    """The two numbers stored for a form, from the value of source 2."""
    amount = np.int64(value & np.uint64(0xFFFFFFFF))
    if form == MBARRIER_INIT:
        # Bits 1 to 20 hold 2^20 minus the expected count, bit 63 the initial phase.
        expected = ((1 << 20) - np.int64((value >> np.uint64(1)) & np.uint64(0xFFFFF))) & 0xFFFFF
        return expected, np.int64(value >> np.uint64(63))
    if form == MBARRIER_ARRIVE_AND_EXPECT:
        return 1, amount
    if form == MBARRIER_ARRIVE_MANY:
        return amount, 0
    if form in (MBARRIER_ARRIVE, MBARRIER_COPY_ARRIVE):
        return 1, 0
    if form == MBARRIER_EXPECT:
        return 0, amount
    if form == MBARRIER_COMPLETE:
        return 0, -amount
    if form == MBARRIER_EXPECT_ONE:
        return 0, 1
    if form == MBARRIER_WAIT:
        return amount & 1, 0
    return 0, 0
