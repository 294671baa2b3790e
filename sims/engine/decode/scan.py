"""The compiled scanner: trace text in, dynamic instructions out.

One pass over the bytes. A line's text between mask and operands is compared with the texts known for its PC; only a
new text goes back to Python (:mod:`sims.engine.decode.statics`). The scanner keeps all its state in one vector, so it
can stop at any line, for more data, a new text, fuller arrays or a finished chunk, and go on later. Data always ends
with a newline, and every field reader stops at one, so no line can make it read past its end.
"""

from typing import Any

import numpy as np

from sims.engine.decode import layout as lay
from sims.engine.decode.fields import read_decimal, read_hex, skip_line
from sims.engine.decode.lanes import name_lanes, read_addresses
from sims.engine.decode.layout import Number
from sims.engine.decode.mbarriers import mbarrier_operand
from sims.engine.decode.operands import (
    atomic_transactions,
    coalesce,
    coalesce_run,
    conflict_degree,
    local_sectors,
    store_sectors,
)
from sims.engine.decode.patterns import pattern_fits, remember, store_shifted
from sims.engine.decode.special import barrier_operand, immediate_operand, tma_operand
from sims.engine.decode.words import count_ones, same_bytes
from sims.engine.jit import compiled
from sims.engine.program import BARRIER_WAITS


@compiled
def find_text(buffer: Any, p: Number, pc: Number, slots: Any, entries: Any, text: Any) -> Number:
    """Entry whose PC and text stand at ``p``, or -1. Functions share PCs, so a slot is a chain."""
    e = slots[(pc >> np.uint64(3)) & np.uint64(lay.PC_SLOTS - 1)]
    while e >= 0:
        if entries[e].pc == pc and same_bytes(text, entries[e].text_start, buffer, p, entries[e].text_length):
            return e
        e = entries[e].next
    return -1


@compiled
def read_line_start(
    buffer: Any, p: Number, leading: Number, slots: Any, entries: Any, text: Any
) -> tuple[Number, Number, Number]:
    """(entry, mask, position of the width field) of the line at ``p``; entry is a negated status if there is none."""
    mask = np.uint64(0)
    for _ in range(leading):
        _, p = read_decimal(buffer, p)
        if p < 0:
            return -lay.ERROR_PC, mask, 0
    pc, p = read_hex(buffer, p)
    if p < 0:
        return -lay.ERROR_PC, mask, 0
    mask, p = read_hex(buffer, p)
    if p < 0 or mask > np.uint64(0xFFFFFFFF):
        return -lay.ERROR_MASK, mask, 0
    e = find_text(buffer, p, pc, slots, entries, text)
    if e < 0:
        return -lay.STATUS_NEW_TEXT, mask, 0
    return e, mask, p + entries[e].text_length


@compiled
def resolve_generic(address: Number, shared_base: Number, local_base: Number) -> Number:
    """Form of a generic access by its first address: 0 global, 1 shared, 2 local. A missing base means shared."""
    if shared_base == 0 or local_base == 0:
        return 1
    if shared_base <= address < local_base:
        return 1
    if local_base <= address < local_base + np.uint64(lay.LOCAL_BYTES):
        return 2
    return 0


@compiled
def memory_operand(
    buffer: Any,
    p: Number,
    mask: Number,
    lanes: Number,
    entry: Any,
    state: Any,
    scratch: Any,
    patterns: Any,
    addresses: Any,
    masks: Any,
) -> tuple[Number, Number, Number]:
    """(operand, form of a generic access, where the reading stopped) of a memory line at its width field.

    An error status ``s`` comes back as operand ``-2 - s``.
    """
    declared, p = read_decimal(buffer, p)
    if p < 0:
        return -2 - lay.ERROR_ADDRESS, 0, p
    if declared == 0:
        return -1, 0, p
    mode, p = read_decimal(buffer, p)
    if p < 0:
        return -2 - lay.ERROR_MODE, 0, p
    base = np.uint64(0)
    behind = p
    if mode == 1 or mode == 2:
        base, behind = read_hex(buffer, p)
        if behind < 0:
            return -2 - lay.ERROR_ADDRESS, 0, p
    action = entry.action
    form = 0
    if lanes > 0 and mode != 0:
        if action == lay.OPERAND_GENERIC:
            form = resolve_generic(base, np.uint64(state[lay.SHARED_BASE]), np.uint64(state[lay.LOCAL_BASE]))
            action = action_of_form(form)
        if pattern_fits(patterns, entry.pattern, action, mask, base, buffer, behind):
            one = patterns[entry.pattern]
            one.misses = 0
            end = behind + one.tail_length - 1
            if action == lay.OPERAND_SHARED:
                return one.degree, form, end
            at = state[lay.SECTORS]
            state[lay.SECTORS] = store_shifted(patterns, entry.pattern, base, addresses, masks, at)
            return at, form, end
    # The address part is checked even where no lane is active, so that a damaged line does not pass for an idle one.
    end = read_addresses(buffer, p, lanes, mode, scratch)
    if end < 0:
        return -2 + end, 0, p
    if lanes == 0:
        return -1, 0, end
    if action == lay.OPERAND_GENERIC:
        form = resolve_generic(scratch.address[0], np.uint64(state[lay.SHARED_BASE]), np.uint64(state[lay.LOCAL_BASE]))
        action = action_of_form(form)
    at = state[lay.SECTORS]
    operand = lane_operand(mask, lanes, action, entry.width_bytes, mode, state, scratch, addresses, masks)
    if mode != 0 and action != lay.OPERAND_LOCAL:
        line_end = skip_line(buffer, end)
        remember(patterns, entry.pattern, action, mask, base, buffer, behind, line_end, operand, addresses, masks, at)
        return operand, form, line_end - 1
    return operand, form, end


@compiled
def action_of_form(form: Number) -> Number:
    """How a generic access is read once its space is known."""
    if form == 1:
        return lay.OPERAND_SHARED
    return lay.OPERAND_LOCAL if form == 2 else lay.OPERAND_GLOBAL


@compiled
def lane_operand(
    mask: Number,
    lanes: Number,
    action: Number,
    width: Number,
    mode: Number,
    state: Any,
    scratch: Any,
    addresses: Any,
    masks: Any,
) -> Number:
    """Operand from the lane addresses in ``scratch``: a conflict degree, or the place of a new sector list."""
    side_by_side = (
        mode == 1
        and lanes > 1
        and scratch.address[1] - scratch.address[0] == np.uint64(width)
        and scratch.address[lanes - 1] > scratch.address[0]
        and scratch.address[lanes - 1] + np.uint64(width) > scratch.address[0]
    )
    if action == lay.OPERAND_SHARED:
        return conflict_degree(scratch, lanes)
    if action == lay.OPERAND_LOCAL:
        name_lanes(mask, scratch)
        used = local_sectors(scratch, lanes, width)
    elif action == lay.OPERAND_ATOMIC:
        used = atomic_transactions(scratch, lanes, width)
    elif side_by_side:
        used = coalesce_run(scratch, scratch.address[0], lanes * width)
    else:
        used = coalesce(scratch, lanes, width)
    at = state[lay.SECTORS]
    state[lay.SECTORS] = store_sectors(scratch, used, addresses, masks, at)
    return at


@compiled
def read_structure(
    buffer: Any, p: Number, state: Any, warp_start: Any, warp_length: Any, cluster_ids: Any, cluster_ranks: Any
) -> Number:
    """A line outside the instructions of a warp. Returns 0 to go on, or a status."""
    first = buffer[p]
    phase = state[lay.PHASE]
    if first == 35:  # '#'
        if buffer[p + 1] == 66:  # #BEGIN_TB
            if phase != lay.PHASE_BETWEEN:
                return lay.ERROR_NESTED_CTA
            base = state[lay.CTAS] * state[lay.WARPS_PER_CTA]
            if base + state[lay.WARPS_PER_CTA] > len(warp_start):
                return lay.STATUS_FULL
            for w in range(state[lay.WARPS_PER_CTA]):
                warp_length[base + w] = -1
            cluster_ids[state[lay.CTAS]] = -1
            cluster_ranks[state[lay.CTAS]] = 0
            state[lay.PHASE] = lay.PHASE_CTA
        elif buffer[p + 1] == 69:  # #END_TB
            return end_cta(state, warp_length)
        return 0
    if phase == lay.PHASE_BETWEEN:
        return lay.ERROR_LINE_OUTSIDE_CTA
    if first == 119:  # warp = k
        if phase == lay.PHASE_WARP_COUNT:
            return lay.ERROR_WARP_COUNT
        return begin_warp(buffer, p, state, warp_start, warp_length)
    if first == 105:  # insts = n
        if phase != lay.PHASE_WARP_COUNT:
            return lay.ERROR_LINE_OUTSIDE_WARP
        return begin_instructions(buffer, p, state, warp_length)
    if first == 116 and phase == lay.PHASE_CTA:
        return 0  # `thread block = ...`: CTAs are taken in file order, their numbers are not used
    if first == 99 and buffer[p + 1] == 108 and phase == lay.PHASE_CTA:
        read_cluster(buffer, p, state[lay.CTAS], cluster_ids, cluster_ranks)
        return 0
    return lay.ERROR_LINE_OUTSIDE_WARP


@compiled
def value_after_equals(buffer: Any, p: Number) -> Number:
    """The number of a ``name = number`` line, or -1."""
    while buffer[p] != 61:
        if buffer[p] == 10:
            return -1
        p += 1
    p += 1
    while buffer[p] == 32:
        p += 1
    value, p = read_decimal(buffer, p)
    return value if p >= 0 else -1


@compiled
def read_cluster(buffer: Any, p: Number, cta: Number, cluster_ids: Any, cluster_ranks: Any) -> None:
    """``cluster id = x,y,z`` and ``cluster rank = r``; ``cluster cta = x,y,z`` says nothing more."""
    kind = buffer[p + 8]
    while buffer[p] != 61 and buffer[p] != 10:
        p += 1
    number: Number = 0
    place = 0
    packed: Number = 0
    while buffer[p] != 10:
        p += 1
        if 48 <= buffer[p] <= 57:
            number = (number * 10 + buffer[p] - 48) & 0x7FFFFFFF
        elif buffer[p] == 44 or buffer[p] == 10:
            # A grid has at most 2^31 - 1 x 65,535 x 65,535 CTAs.
            if place < 3:
                packed |= number << (0 if place == 0 else 15 + 16 * place)
            place += 1
            number = 0
    if kind == 105:  # id
        cluster_ids[cta] = packed
    elif kind == 114:  # rank
        cluster_ranks[cta] = packed


@compiled
def begin_warp(buffer: Any, p: Number, state: Any, warp_start: Any, warp_length: Any) -> Number:
    """``warp = k``."""
    k = value_after_equals(buffer, p)
    state[lay.DETAIL] = k
    if k < 0:
        return lay.ERROR_WARP_NUMBER
    if k >= state[lay.WARPS_PER_CTA]:
        return lay.ERROR_WARP_RANGE
    slot = state[lay.CTAS] * state[lay.WARPS_PER_CTA] + k
    if warp_length[slot] >= 0:
        return lay.ERROR_WARP_TWICE
    warp_start[slot] = state[lay.INSTRUCTIONS]
    state[lay.WARP] = k
    state[lay.PHASE] = lay.PHASE_WARP_COUNT
    return 0


@compiled
def begin_instructions(buffer: Any, p: Number, state: Any, warp_length: Any) -> Number:
    """``insts = n``. A warp of no instructions is legal: it ends as soon as it starts."""
    n = value_after_equals(buffer, p)
    if n < 0 or n > 0x7FFFFFFF:
        return lay.ERROR_WARP_COUNT
    k = state[lay.WARP]
    warp_length[state[lay.CTAS] * state[lay.WARPS_PER_CTA] + k] = n
    state[lay.LEFT] = n
    state[lay.REPLAYING] = 0  # a warp's last region may have no end
    last = k == state[lay.WARPS_PER_CTA] - 1
    state[lay.LIVE] = state[lay.LAST_WARP_LANES] if last else np.int64(0xFFFFFFFF)
    state[lay.PHASE] = lay.PHASE_WARP if n > 0 else lay.PHASE_CTA
    return 0


@compiled
def end_cta(state: Any, warp_length: Any) -> Number:
    """``#END_TB``: every warp must have been there."""
    if state[lay.PHASE] == lay.PHASE_WARP_COUNT:
        return lay.ERROR_WARP_COUNT
    if state[lay.PHASE] != lay.PHASE_CTA:
        return lay.ERROR_LINE_OUTSIDE_CTA
    base = state[lay.CTAS] * state[lay.WARPS_PER_CTA]
    for w in range(state[lay.WARPS_PER_CTA]):
        if warp_length[base + w] < 0:
            state[lay.DETAIL] = w
            return lay.ERROR_WARP_MISSING
    state[lay.CTAS] += 1
    state[lay.PHASE] = lay.PHASE_BETWEEN
    full = state[lay.INSTRUCTIONS] >= state[lay.CHUNK_INSTRUCTIONS] or state[lay.CTAS] == state[lay.CTAS_WANTED]
    return lay.STATUS_CHUNK if full else 0


@compiled
def scan(
    buffer: Any,
    end: Number,
    state: Any,
    slots: Any,
    entries: Any,
    text: Any,
    counts: Any,
    patterns: Any,
    scratch_array: Any,
    warp_start: Any,
    warp_length: Any,
    static_ids: Any,
    operands: Any,
    addresses: Any,
    masks: Any,
    cluster_ids: Any,
    cluster_ranks: Any,
) -> Number:
    """Read ``buffer[state[POSITION]:end]``; the status says why it stopped. ``buffer[end - 1]`` is a newline.

    ``counts[static, 0]`` and ``[static, 1]`` gain the issued warp instructions and their active lanes.
    """
    scratch = scratch_array[0]
    p = state[lay.POSITION]
    line = state[lay.LINE]
    used = state[lay.INSTRUCTIONS]
    room = len(static_ids)
    sector_room = len(addresses) - lay.SECTOR_ROOM
    leading = state[lay.LEADING_FIELDS]
    status = lay.STATUS_NEED_DATA
    e = -1
    while p < end:
        start = p
        while buffer[p] == 32 or buffer[p] == 13 or buffer[p] == 9:
            p += 1
        first = buffer[p]
        if first == 10:
            p += 1
            line += 1
            continue
        if state[lay.PHASE] != lay.PHASE_WARP:
            state[lay.INSTRUCTIONS] = used
            status = read_structure(buffer, p, state, warp_start, warp_length, cluster_ids, cluster_ranks)
            if status > lay.STATUS_CHUNK:
                p = start
                break
            p = skip_line(buffer, p)
            line += 1
            if status == lay.STATUS_CHUNK:
                break
            continue
        if first == 119 or first == 35 or first == 105 or first == 116:
            status = lay.ERROR_TOO_FEW_LINES
            p = start
            break
        if used >= room or state[lay.SECTORS] >= sector_room:
            status = lay.STATUS_FULL
            p = start
            break
        # Most lines repeat, byte for byte, the one that followed their predecessor before.
        guess = entries[e].follower if e >= 0 else -1
        if guess >= 0 and same_bytes(text, entries[guess].line_start, buffer, p, entries[guess].line_length):
            e = guess
            mask = np.uint64(entries[e].mask)
            p += entries[e].line_length
        else:
            previous = e
            e, mask, p = read_line_start(buffer, p, leading, slots, entries, text)
            if e < 0:
                status = -e
                p = start
                break
            if previous >= 0:
                entries[previous].follower = e
        lanes = count_ones(mask)
        static = entries[e].static_id
        action = entries[e].action
        operand = -1
        if action != lay.OPERAND_NONE:
            if action <= lay.OPERAND_ATOMIC:
                operand, form, p = memory_operand(
                    buffer, p, mask, lanes, entries[e], state, scratch, patterns, addresses, masks
                )
                static += form
            elif action == lay.OPERAND_EXIT:
                state[lay.LIVE] &= ~np.int64(mask)
                if state[lay.REPLAYING] and state[lay.LEFT] == 1:
                    state[lay.LIVE] = 0  # the kept iteration of a spin loop may not be the one in which all left it
            elif action == lay.OPERAND_FIXED:
                operand = entries[e].fixed
            elif action == lay.OPERAND_IMMEDIATE:
                operand = immediate_operand(buffer, p)
            elif action == lay.OPERAND_BARRIER:
                operand = barrier_operand(buffer, p, entries[e].destinations)
                if lanes == 0 and entries[e].fixed and operand >= 0 and not operand & BARRIER_WAITS:
                    operand = -1  # no lane arrives
            elif lanes > 0 and action == lay.OPERAND_TMA:
                operand = tma_operand(buffer, p, state, addresses, masks)
            elif lanes > 0 and action == lay.OPERAND_MBARRIER:
                operand = mbarrier_operand(buffer, p, mask, lanes, entries[e], state, scratch, addresses, masks)
            if operand < -1:
                status = -operand - 2
                p = start
                break
        if action == lay.OPERAND_MARKER:
            state[lay.REPLAYING] = entries[e].fixed
            warp_length[state[lay.CTAS] * state[lay.WARPS_PER_CTA] + state[lay.WARP]] -= 1
        else:
            static_ids[used] = np.uint16(static)
            operands[used] = np.int32(operand)
            counts[static, 0] += 1
            counts[static, 1] += lanes
            used += 1
        p = skip_line(buffer, p)
        line += 1
        left = state[lay.LEFT] - 1
        state[lay.LEFT] = left
        if left == 0:
            state[lay.PHASE] = lay.PHASE_CTA
            if state[lay.LIVE] != 0:
                status = lay.ERROR_NO_EXIT
                break
    state[lay.POSITION] = p
    state[lay.LINE] = line
    state[lay.INSTRUCTIONS] = used
    return status
