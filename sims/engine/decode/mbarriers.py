"""Compiled operands of mbarrier operations: what each lane does to which mbarrier.

An operand is the place of a list in the chunk's sector arrays: triples of address, first value, second value, their number
in the mask of the first. Lanes that do the same to one mbarrier share a triple:

* init: arrivals expected, initial phase (one lane initialises, as in Accel-Sim)
* arrive: arrivals, bytes (positive are expected, negative are completed), summed over the lanes
* wait: parity of the phase, 0

An address is an offset in the shared window of the cluster: the CTA's rank from bit 24 up, below it the offset in that
CTA's own window.
"""

from typing import Any

import numpy as np

from sims.engine.decode import layout as lay
from sims.engine.decode.fields import has_values, read_decimal, read_hex, refused, skip_field
from sims.engine.decode.lanes import MODE_NONE, name_lanes, read_addresses, read_mode
from sims.engine.decode.layout import Number
from sims.engine.decode.words import count_ones
from sims.engine.jit import Record, Table, compiled

(
    MBARRIER_INIT,
    MBARRIER_ARRIVE_AND_EXPECT,  # arrives once, expects the bytes of source 2
    MBARRIER_ARRIVE_MANY,  # ART0: arrives as often as source 2 says
    MBARRIER_EXPECT,  # A0TR
    MBARRIER_COMPLETE,  # A0TX
    MBARRIER_WAIT,
    MBARRIER_TEST,  # a look that waits for nothing
    MBARRIER_ARRIVE,  # A1T0
    MBARRIER_EXPECT_ONE,  # A0T1
    MBARRIER_COPY_COMPLETE,  # ARRIVES.LDGSTSBAR.TRANSCNT: completes what A0T1 expected
    MBARRIER_COPY_ARRIVE,  # ...ARVCNT
) = range(11)
FIRST_WITHOUT_VALUE = MBARRIER_TEST
"""This form and those after it need no register value."""
MAX_COUNT = 1 << 20
"""Of arrivals, in the hardware's mbarrier word."""


@compiled
def mbarrier_operand(arrays: Table, p: Number, mask: Number, entry: Record, state: Record, scratch: Record) -> Number:
    """The list's place; NO_OPERAND for what orders nothing: a mere look, or a line without the value that it needs."""
    buffer = arrays.buffer
    form = entry.fixed
    lanes = count_ones(mask)
    if form == MBARRIER_TEST or lanes == 0:
        return lay.NO_OPERAND
    mode, p = read_mode(buffer, p)
    if p < 0:
        return refused(-p)
    if mode == MODE_NONE:
        return lay.NO_OPERAND
    p = read_addresses(buffer, p, lanes, mode, scratch)
    if p < 0:
        return refused(-p)
    if form < FIRST_WITHOUT_VALUE:
        for _ in range(2):  # the immediates
            p = skip_field(buffer, p)
        if not has_values(buffer, p):
            return lay.NO_OPERAND
        if not read_values(buffer, skip_field(buffer, p), entry.destinations + 1, scratch):
            return refused(lay.ERROR_ADDRESS)
    name_lanes(mask, scratch)
    at = state.sectors
    triples = list_triples(form, 1 if form == MBARRIER_INIT else lanes, arrays, state, scratch)
    arrays.sector_masks[at] = triples
    state.sectors = at + 3 * triples
    return at


@compiled
def read_values(buffer: Any, p: Number, skip: Number, scratch: Record) -> Number:
    """All lanes' values of value group number ``skip`` into ``scratch.value``. A group is ``1 v`` or ``32 v0 ... v31``."""
    for group in range(skip + 1):
        size, p = read_decimal(buffer, p)
        if p < 0 or (size != 1 and size != 32):
            return False
        value = np.uint64(0)
        for i in range(size):
            if group < skip:
                p = skip_field(buffer, p)
                continue
            value, p = read_hex(buffer, p)
            if p < 0:
                return False
            scratch.value[i] = value
        if group == skip and size == 1:
            for i in range(1, 32):
                scratch.value[i] = value
    return True


@compiled
def list_triples(form: Number, lanes: Number, arrays: Table, state: Record, scratch: Record) -> Number:
    """Write the triples behind the lists so far; returns their number."""
    at = state.sectors
    numbers, masks = arrays.sector_addresses, arrays.sector_masks
    triples = 0
    for i in range(lanes):
        address = window_offset(scratch.address[i], state)
        first, second = mbarrier_values(form, scratch.value[scratch.lane[i]])
        place = at
        end = at + 3 * triples
        while place < end and (numbers[place] != address or (form == MBARRIER_WAIT and numbers[place + 1] != first)):
            place += 3
        if place == end:
            numbers[place] = address
            numbers[place + 1] = 0
            numbers[place + 2] = 0
            for k in range(3):
                masks[place + k] = 0
            triples += 1
        if form == MBARRIER_WAIT:
            numbers[place + 1] = first
        else:
            numbers[place + 1] += first
            numbers[place + 2] += second
    return triples


@compiled
def window_offset(address: Number, state: Record) -> Number:
    """Where an address lies in the shared window; a tracer writes it with the window's base or without."""
    base = state.shared_base
    if base != np.uint64(0) and base <= address < state.local_base:
        address -= base
    return np.int64(address & np.uint64(0xFFFFFFFF))


@compiled
def mbarrier_values(form: Number, value: Number) -> tuple[Number, Number]:
    """The two numbers stored for a form, from the value of source 2."""
    amount = np.int64(value & np.uint64(0xFFFFFFFF))
    if form == MBARRIER_INIT:
        # Bits 1 to 20 hold 2^20 minus the expected count, bit 63 the initial phase.
        expected = (MAX_COUNT - np.int64((value >> np.uint64(1)) & np.uint64(0xFFFFF))) & (MAX_COUNT - 1)
        return expected, np.int64(value >> np.uint64(63))
    if form == MBARRIER_ARRIVE_AND_EXPECT:
        return 1, amount
    if form == MBARRIER_ARRIVE_MANY:
        return min(amount, MAX_COUNT), 0
    if form in (MBARRIER_ARRIVE, MBARRIER_COPY_ARRIVE):
        return 1, 0
    if form == MBARRIER_EXPECT:
        return 0, amount
    if form == MBARRIER_COMPLETE:
        return 0, -amount
    if form == MBARRIER_EXPECT_ONE:
        return 0, 1
    if form == MBARRIER_COPY_COMPLETE:
        return 0, -1
    if form == MBARRIER_WAIT:
        # The parity is the sign bit: SASS shifts PTX's 0 or 1 up by 31.
        return (amount >> 31) & 1, 0
    return 0, 0
