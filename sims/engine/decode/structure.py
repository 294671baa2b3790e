"""Compiled readers of the lines between instructions: where CTAs and warps begin and end, and clusters."""

from typing import Any

import numpy as np

from sims.engine.decode import layout as lay
from sims.engine.decode.fields import BLANK, NEWLINE, NINE, ZERO, read_decimal, skip_line
from sims.engine.decode.layout import Number
from sims.engine.jit import Record, Table, compiled

HASH, EQUALS, COMMA = (ord(character) for character in "#=,")
BEGIN_TB, END_TB = (ord(character) for character in "BE")  # after the hash
WARP, INSTS, THREAD_BLOCK, CLUSTER = (ord(character) for character in "witc")
LOWER_L = ord("l")
CLUSTER_KIND = len("cluster ")
CLUSTER_ID, CLUSTER_RANK = (ord(character) for character in "ir")

MAX_LINES = 0x7FFFFFFF
FULL_WARP = 0xFFFFFFFF


@compiled
def begins_structure(character: Number) -> Number:
    """Whether a line that begins like this cannot be an instruction, which begins with a number."""
    return character == WARP or character == HASH or character == INSTS or character == THREAD_BLOCK


@compiled
def read_structure(arrays: Table, p: Number, state: Record) -> Number:
    """A line outside the instructions of a warp; a status."""
    status = structure_status(arrays, p, state)
    if status <= lay.STATUS_CHUNK:
        state.position = skip_line(arrays.buffer, p)
        state.line += 1
    return status


@compiled
def structure_status(arrays: Table, p: Number, state: Record) -> Number:
    """What the line says, noted in ``state``."""
    buffer = arrays.buffer
    first = buffer[p]
    phase = state.phase
    if first == HASH:
        if buffer[p + 1] == BEGIN_TB:
            return begin_cta(arrays, state)
        return end_cta(arrays, state) if buffer[p + 1] == END_TB else lay.GO_ON
    if phase == lay.PHASE_BETWEEN:
        return lay.ERROR_LINE_OUTSIDE_CTA
    if first == WARP:
        return lay.ERROR_WARP_COUNT if phase == lay.PHASE_WARP_COUNT else begin_warp(arrays, p, state)
    if first == INSTS:
        return begin_lines(arrays, p, state) if phase == lay.PHASE_WARP_COUNT else lay.ERROR_LINE_OUTSIDE_WARP
    if phase != lay.PHASE_CTA:
        return lay.ERROR_LINE_OUTSIDE_WARP
    if first == CLUSTER and buffer[p + 1] == LOWER_L:
        read_cluster(arrays, p, state)
        return lay.GO_ON
    # CTAs are taken in file order, their numbers (`thread block = ...`) are not used.
    return lay.GO_ON if first == THREAD_BLOCK else lay.ERROR_LINE_OUTSIDE_WARP


@compiled
def begin_cta(arrays: Table, state: Record) -> Number:
    """``#BEGIN_TB``."""
    if state.phase != lay.PHASE_BETWEEN:
        return lay.ERROR_NESTED_CTA
    base = state.ctas * state.warps_per_cta
    if base + state.warps_per_cta > state.warp_room:
        return lay.STATUS_FULL
    for w in range(state.warps_per_cta):
        arrays.warp_length[base + w] = -1
    arrays.cluster_ids[state.ctas] = -1
    arrays.cluster_ranks[state.ctas] = 0
    state.phase = lay.PHASE_CTA
    return lay.GO_ON


@compiled
def begin_warp(arrays: Table, p: Number, state: Record) -> Number:
    """``warp = k``."""
    k = value_after_equals(arrays.buffer, p)
    state.detail = k
    if k < 0:
        return lay.ERROR_WARP_NUMBER
    if k >= state.warps_per_cta:
        return lay.ERROR_WARP_RANGE
    slot = state.ctas * state.warps_per_cta + k
    if arrays.warp_length[slot] >= 0:
        return lay.ERROR_WARP_TWICE
    arrays.warp_start[slot] = state.instructions
    state.warp = k
    state.phase = lay.PHASE_WARP_COUNT
    return lay.GO_ON


@compiled
def begin_lines(arrays: Table, p: Number, state: Record) -> Number:
    """``insts = n``. A warp of no instructions is legal: it ends as soon as it starts."""
    n = value_after_equals(arrays.buffer, p)
    if n < 0 or n > MAX_LINES:
        return lay.ERROR_WARP_COUNT
    arrays.warp_length[state.ctas * state.warps_per_cta + state.warp] = n
    state.left = n
    state.replaying = 0  # a warp's last region may have no end
    is_last = state.warp == state.warps_per_cta - 1
    state.live = state.last_warp_lanes if is_last else np.int64(FULL_WARP)
    state.phase = lay.PHASE_WARP if n > 0 else lay.PHASE_CTA
    return lay.GO_ON


@compiled
def end_cta(arrays: Table, state: Record) -> Number:
    """``#END_TB``: every warp must have been there."""
    if state.phase == lay.PHASE_WARP_COUNT:
        return lay.ERROR_WARP_COUNT
    if state.phase != lay.PHASE_CTA:
        return lay.ERROR_LINE_OUTSIDE_CTA
    base = state.ctas * state.warps_per_cta
    for w in range(state.warps_per_cta):
        if arrays.warp_length[base + w] < 0:
            state.detail = w
            return lay.ERROR_WARP_MISSING
    state.ctas += 1
    state.phase = lay.PHASE_BETWEEN
    is_full = state.instructions >= state.chunk_instructions or state.ctas == state.ctas_wanted
    return lay.STATUS_CHUNK if is_full else lay.GO_ON


@compiled
def value_after_equals(buffer: Any, p: Number) -> Number:
    """The number of a ``name = number`` line, or -1."""
    while buffer[p] != EQUALS:
        if buffer[p] == NEWLINE:
            return -1
        p += 1
    p += 1
    while buffer[p] == BLANK:
        p += 1
    value, p = read_decimal(buffer, p)
    return value if p >= 0 else -1


@compiled
def read_cluster(arrays: Table, p: Number, state: Record) -> None:
    """``cluster id = x,y,z`` and ``cluster rank = r``; ``cluster cta = x,y,z`` says nothing more."""
    buffer = arrays.buffer
    kind = buffer[p + CLUSTER_KIND]
    while buffer[p] != EQUALS and buffer[p] != NEWLINE:
        p += 1
    number: Number = 0
    place = 0
    packed: Number = 0
    while buffer[p] != NEWLINE:
        p += 1
        if ZERO <= buffer[p] <= NINE:
            number = (number * 10 + buffer[p] - ZERO) & 0x7FFFFFFF
        elif buffer[p] == COMMA or buffer[p] == NEWLINE:
            # A grid has at most 2^31 - 1 x 65,535 x 65,535 CTAs.
            if place < 3:
                packed |= number << (0 if place == 0 else 15 + 16 * place)
            place += 1
            number = 0
    if kind == CLUSTER_ID:
        arrays.cluster_ids[state.ctas] = packed
    elif kind == CLUSTER_RANK:
        arrays.cluster_ranks[state.ctas] = packed
