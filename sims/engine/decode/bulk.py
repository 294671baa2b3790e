"""Compiled operands of bulk copies (TMA).

An operand is the place of a list in the chunk's sector arrays: count n, the n sectors that the copy touches, highest first,
then mbarrier address, bytes it completes there, CTA mask of a multicast.
"""

from typing import Any

import numpy as np

from sims.engine.decode import layout as lay
from sims.engine.decode.fields import NEWLINE, RETURN, count_fields, next_decimal, next_hex, refused, skip_field
from sims.engine.decode.layout import Number
from sims.engine.decode.operands import byte_mask
from sims.engine.jit import Record, Table, compiled

MODE_LIST, MODE_DELTAS = 3, 4
"""Address formats of a bulk copy: all addresses, or the first and differences."""
MAX_ELEMENT_BYTES = 1 << 20
EXTRA_ENTRIES = 4
"""Of a list, beside its sectors: their count, and three fields."""
UPPER_N = ord("N")


@compiled
def bulk_operand(arrays: Table, p: Number, state: Record, scratch: Record) -> Number:
    """The list's place."""
    copy = scratch.bulk
    p = read_fields(arrays.buffer, p, copy)
    if p < 0:
        return refused(lay.ERROR_TMA)
    # An element that begins at the last byte of a sector touches one sector more than its size says.
    most = copy.elements * ((copy.element_bytes + 62) // 32)
    if most > lay.MAX_TMA_SECTORS:
        return refused(lay.ERROR_TMA)
    if state.sectors + most + EXTRA_ENTRIES > state.sector_room:
        state.sectors_needed = most + EXTRA_ENTRIES
        return refused(lay.STATUS_FULL)
    at = state.sectors
    sectors = list_sectors(arrays, p, copy, at + 1)
    if sectors < 0:
        return refused(lay.ERROR_TMA)
    reverse_sectors(arrays.sector_addresses, arrays.sector_masks, at + 1, sectors)
    fields = at + 1 + sectors
    arrays.sector_addresses[at] = sectors
    arrays.sector_addresses[fields] = np.int64(copy.mbarrier & np.uint64(0xFFFFFFFF))
    # Accel-Sim completes what comes back: the elements listed, then those out of bounds, which the hardware fills.
    listed_bytes = copy.element_bytes * copy.elements if copy.elements > 0 else max(0, copy.inside_bytes)
    arrays.sector_addresses[fields + 1] = listed_bytes + max(0, copy.outside_bytes)
    arrays.sector_addresses[fields + 2] = np.int64(copy.cta_mask & np.uint64(0xFFFF))
    arrays.sector_masks[at] = 0
    for i in range(3):
        arrays.sector_masks[fields + i] = 0
    state.sectors = fields + 3
    return at


@compiled
def read_fields(buffer: Any, p: Number, copy: Record) -> Number:
    """``unit mbar multicast [ctamask] bytes oob format [base] count`` into ``copy``; the position behind, or -1."""
    copy.element_bytes, p = next_decimal(buffer, p)
    copy.mbarrier, p = next_hex(buffer, p)
    multicast, p = next_decimal(buffer, p)
    copy.cta_mask = np.uint64(0)
    if multicast != 0:
        copy.cta_mask, p = next_hex(buffer, p)
    copy.inside_bytes, p = next_decimal(buffer, p)
    copy.outside_bytes, p = next_decimal(buffer, p)
    copy.mode, p = next_decimal(buffer, p)
    copy.base = np.uint64(0)
    if copy.mode == MODE_DELTAS:
        copy.base, p = next_hex(buffer, p)
    count, p = next_decimal(buffer, p)
    if p < 0 or (copy.mode != MODE_LIST and copy.mode != MODE_DELTAS):
        return -1
    if count < 0 or copy.element_bytes < 0 or copy.element_bytes > MAX_ELEMENT_BYTES:
        return -1
    copy.elements = min(count, listed_elements(buffer, p, copy.mode))
    if copy.mode == MODE_DELTAS and copy.base == 0 and copy.elements <= 1:
        copy.elements = 0  # an address that the tracer lost
    return p


@compiled
def listed_elements(buffer: Any, p: Number, mode: Number) -> Number:
    """Elements whose addresses stand at ``p``; the printed count may exceed them (elements out of bounds)."""
    # Two immediates end the line, or these and a mark.
    tail = 2
    q = p
    while buffer[q] != NEWLINE and buffer[q] != RETURN:
        if buffer[q] == UPPER_N:  # NoVal
            tail = 3
        q = skip_field(buffer, q)
    return max(0, count_fields(buffer, p) - tail) + (1 if mode == MODE_DELTAS else 0)


@compiled
def list_sectors(arrays: Table, p: Number, copy: Record, first: Number) -> Number:
    """Sectors of all elements from entry ``first`` on, ascending; how many there are, or -1 for a damaged line."""
    buffer, addresses, masks = arrays.buffer, arrays.sector_addresses, arrays.sector_masks
    used = 0
    ascending = True
    address = np.uint64(copy.base)
    last_byte = np.uint64(max(copy.element_bytes, 1) - 1)
    for i in range(copy.elements):
        if copy.mode == MODE_LIST:
            address, p = next_hex(buffer, p)
        elif i > 0:
            delta, p = next_decimal(buffer, p)
            address += np.uint64(delta)
        if p < 0:
            return -1
        begin, end = np.int64(address), np.int64(address + last_byte)
        sector = begin & ~31
        while sector <= end:
            touched = byte_mask(np.uint64(max(begin, sector) - sector), np.uint64(min(end - sector, 31)))
            if used > 0 and addresses[first + used - 1] == sector:
                masks[first + used - 1] |= np.uint32(touched)
            else:
                ascending = ascending and (used == 0 or addresses[first + used - 1] < sector)
                addresses[first + used] = sector
                masks[first + used] = np.uint32(touched)
                used += 1
            sector += 32
    return used if ascending else sort_sectors(addresses, masks, first, used)


@compiled
def sort_sectors(addresses: Table, masks: Table, first: Number, count: Number) -> Number:
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
def reverse_sectors(addresses: Table, masks: Table, first: Number, count: Number) -> None:
    """Highest first: the order in which Accel-Sim's load/store unit serves them."""
    for i in range(count // 2):
        j = first + count - 1 - i
        addresses[first + i], addresses[j] = addresses[j], addresses[first + i]
        masks[first + i], masks[j] = masks[j], masks[first + i]
