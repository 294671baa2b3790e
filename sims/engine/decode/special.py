"""Compiled operands of barriers, waits and bulk copies: immediates and TMA fields.

Operands are -1 for none and ``-2 - status`` for an error. A bulk copy's is the place of its list in the chunk's sector
arrays: count n, the n sectors it touches, highest first, then mbarrier address, bytes it completes there, CTA mask of a
multicast.
"""

from typing import Any

import numpy as np

from sims.engine.decode import layout as lay
from sims.engine.decode.fields import count_fields, read_decimal, read_hex, skip_field
from sims.engine.decode.layout import Number
from sims.engine.decode.operands import byte_mask
from sims.engine.jit import compiled
from sims.engine.program import BARRIER_WAITS


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
    for all, and an arrival waits there like any other BAR.
    """
    _, p = read_decimal(buffer, p)
    if p < 0:
        return -2 - lay.ERROR_ADDRESS
    first, p = read_decimal(buffer, p)
    if p < 0:
        return BARRIER_WAITS
    second, p = read_decimal(buffer, p)
    if p < 0:
        return BARRIER_WAITS
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
    inside, p = read_decimal(buffer, p)
    if p < 0:
        return failed
    outside, p = read_decimal(buffer, p)
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
    ascending = True
    address = base
    for i in range(count):
        if form == 3:
            address, p = read_hex(buffer, p)
        elif i > 0:
            delta, p = read_decimal(buffer, p)
            address += np.uint64(delta)
        if p < 0:
            return failed
        first = np.int64(address)
        last = np.int64(address + np.uint64(max(unit, 1) - 1))
        sector = first & ~31
        while sector <= last:
            touched = byte_mask(np.uint64(max(first, sector) - sector), np.uint64(min(last - sector, 31)))
            if used > 0 and addresses[at + used] == sector:
                masks[at + used] |= np.uint32(touched)
            else:
                ascending = ascending and (used == 0 or addresses[at + used] < sector)
                addresses[at + 1 + used] = sector
                masks[at + 1 + used] = np.uint32(touched)
                used += 1
            sector += 32
    if not ascending:
        used = sort_sectors(addresses, masks, at + 1, used)
    reverse_sectors(addresses, masks, at + 1, used)
    addresses[at] = used
    masks[at] = 0
    fields = at + 1 + used
    addresses[fields] = np.int64(mbarrier & np.uint64(0xFFFFFFFF))
    # Accel-Sim completes what comes back: the elements listed, then those out of bounds, which the hardware fills.
    addresses[fields + 1] = (unit * count if count > 0 else max(0, inside)) + max(0, outside)
    addresses[fields + 2] = np.int64(cta_mask & np.uint64(0xFFFF))
    for i in range(3):
        masks[fields + i] = 0
    state[lay.SECTORS] = fields + 3
    return at


@compiled
def sort_sectors(addresses: Any, masks: Any, first: Number, count: Number) -> Number:
    """Sort a list of sectors, ascending, and merge equal ones; returns how many are left. Shell's method, in place."""
    gap = count // 2
    while gap > 0:
        for i in range(first + gap, first + count):
            address, mask = addresses[i], masks[i]
            j = i
            while j >= first + gap and addresses[j - gap] > address:
                addresses[j] = addresses[j - gap]
                masks[j] = masks[j - gap]
                j -= gap
            addresses[j] = address
            masks[j] = mask
        gap = gap // 2
    used = 0
    for i in range(first, first + count):
        if used > 0 and addresses[first + used - 1] == addresses[i]:
            masks[first + used - 1] |= masks[i]
        else:
            addresses[first + used] = addresses[i]
            masks[first + used] = masks[i]
            used += 1
    return used


@compiled
def reverse_sectors(addresses: Any, masks: Any, first: Number, count: Number) -> None:
    """Highest first: the order in which Accel-Sim's load/store unit serves them."""
    for i in range(count // 2):
        j = first + count - 1 - i
        addresses[first + i], addresses[j] = addresses[j], addresses[first + i]
        masks[first + i], masks[j] = masks[j], masks[first + i]
