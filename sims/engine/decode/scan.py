"""The compiled scanner: trace text in, dynamic instructions out.

One pass over the bytes. A line's text between mask and operands is compared with the texts known for its PC; only a
new text goes back to Python (:mod:`sims.engine.decode.statics`). The scanner keeps all its state in one record, so it
can stop at any line, for more data, a new text, fuller arrays or a finished chunk, and go on later. Data always ends
with a newline, and every field reader stops at one, so no line can make it read past its end.
"""

import numpy as np

from sims.engine.decode import layout as lay
from sims.engine.decode.bulk import bulk_operand
from sims.engine.decode.fields import NEWLINE, read_decimal, read_hex, refused, skip_blanks, skip_line
from sims.engine.decode.layout import Number
from sims.engine.decode.mbarriers import mbarrier_operand
from sims.engine.decode.memory import FORM_GLOBAL, memory_operand
from sims.engine.decode.special import barrier_operand, immediate_operand
from sims.engine.decode.structure import begins_structure, read_structure
from sims.engine.decode.words import count_ones, same_bytes
from sims.engine.jit import Record, Table, compiled
from sims.engine.program import BARRIER_WAITS

FULL_MASK = 0xFFFFFFFF


@compiled
def scan(arrays: Table) -> Number:
    """Read on from ``state.position`` to ``state.end``; the status says why it stopped. The last byte is a newline."""
    buffer, state, scratch = arrays.buffer, arrays.state[0], arrays.scratch[0]
    while state.position < state.end:
        p = skip_blanks(buffer, state.position)
        if buffer[p] == NEWLINE:
            state.position = p + 1
            state.line += 1
            continue
        if state.phase == lay.PHASE_WARP:
            status = read_instruction(arrays, p, state, scratch)
        else:
            status = read_structure(arrays, p, state)
        if status != lay.GO_ON:
            return status
    return lay.STATUS_NEED_DATA


@compiled
def read_instruction(arrays: Table, p: Number, state: Record, scratch: Record) -> Number:
    """A line of a warp; a status."""
    if begins_structure(arrays.buffer[p]):
        return lay.ERROR_TOO_FEW_LINES
    if state.instructions >= state.instruction_room or state.sectors + lay.SECTOR_ROOM >= state.sector_room:
        return lay.STATUS_FULL
    e, mask, p = read_text(arrays, p, state)
    if e < 0:
        return -e
    entry = arrays.entries[e]
    operand, form, p = read_operand(arrays, p, mask, entry, state, scratch)
    if operand < lay.NO_OPERAND:
        return refused(operand)
    if entry.action == lay.OPERAND_MARKER:
        state.replaying = entry.fixed
        arrays.warp_length[state.ctas * state.warps_per_cta + state.warp] -= 1
    else:
        append(entry.static_id + form, operand, mask, arrays, state)
    state.position = skip_line(arrays.buffer, p)
    state.line += 1
    state.left -= 1
    if state.left == 0:
        state.phase = lay.PHASE_CTA
        if state.live != 0:
            return lay.ERROR_NO_EXIT
    return lay.GO_ON


@compiled
def read_text(arrays: Table, p: Number, state: Record) -> tuple[Number, Number, Number]:
    """(entry, mask, position of the width field) of the line at ``p``; entry is a negated status if there is none."""
    # Most lines repeat, byte for byte, the one that followed their predecessor before.
    if state.previous >= 0:
        guess = np.int64(arrays.entries[state.previous].follower)
        if guess >= 0:
            entry = arrays.entries[guess]
            if same_bytes(arrays.text, entry.line_start, arrays.buffer, p, entry.line_length):
                state.previous = guess
                return guess, np.uint64(entry.mask), p + entry.line_length
    e, mask, p = read_line_start(arrays, p, state)
    if e >= 0:
        if state.previous >= 0:
            arrays.entries[state.previous].follower = e
        state.previous = e
    return e, mask, p


@compiled
def read_line_start(arrays: Table, p: Number, state: Record) -> tuple[Number, Number, Number]:
    """The same, field by field."""
    mask = np.uint64(0)
    buffer = arrays.buffer
    for _ in range(state.leading_fields):
        _, p = read_decimal(buffer, p)
        if p < 0:
            return -lay.ERROR_PC, mask, 0
    pc, p = read_hex(buffer, p)
    if p < 0:
        return -lay.ERROR_PC, mask, 0
    mask, p = read_hex(buffer, p)
    if p < 0 or mask > np.uint64(FULL_MASK):
        return -lay.ERROR_MASK, mask, 0
    e = find_text(arrays, p, pc)
    if e < 0:
        return -lay.STATUS_NEW_TEXT, mask, 0
    return e, mask, p + arrays.entries[e].text_length


@compiled
def find_text(arrays: Table, p: Number, pc: Number) -> Number:
    """Entry whose PC and text stand at ``p``, or -1. Functions share PCs, so a slot is a chain."""
    e = np.int64(arrays.slots[(pc >> np.uint64(3)) & np.uint64(lay.PC_SLOTS - 1)])
    while e >= 0:
        entry = arrays.entries[e]
        if entry.pc == pc and same_bytes(arrays.text, entry.text_start, arrays.buffer, p, entry.text_length):
            return e
        e = np.int64(entry.next)
    return e


@compiled
def read_operand(
    arrays: Table, p: Number, mask: Number, entry: Record, state: Record, scratch: Record
) -> tuple[Number, Number, Number]:
    """(operand, form of a generic access, where the reading stopped) of a line at its width field ``p``."""
    action = entry.action
    if action == lay.OPERAND_NONE:
        return lay.NO_OPERAND, FORM_GLOBAL, p
    if action <= lay.OPERAND_ATOMIC:
        return memory_operand(arrays, p, mask, entry, state, scratch)
    return other_operand(arrays, p, mask, entry, state, scratch), FORM_GLOBAL, p


@compiled
def other_operand(arrays: Table, p: Number, mask: Number, entry: Record, state: Record, scratch: Record) -> Number:
    """The operand of what is no memory instruction."""
    action = entry.action
    if action == lay.OPERAND_EXIT:
        end_lanes(mask, state)
    elif action == lay.OPERAND_FIXED:
        return np.int64(entry.fixed)
    elif action == lay.OPERAND_IMMEDIATE:
        return np.int64(immediate_operand(arrays.buffer, p))
    elif action == lay.OPERAND_BARRIER:
        operand = np.int64(barrier_operand(arrays.buffer, p, entry.destinations))
        only_arrives = entry.fixed and (operand < 0 or not operand & BARRIER_WAITS)
        return operand if mask or not only_arrives else min(operand, lay.NO_OPERAND)
    elif action == lay.OPERAND_TMA and mask:
        return np.int64(bulk_operand(arrays, p, state, scratch))
    elif action == lay.OPERAND_MBARRIER:
        return np.int64(mbarrier_operand(arrays, p, mask, entry, state, scratch))
    return np.int64(lay.NO_OPERAND)


@compiled
def end_lanes(mask: Number, state: Record) -> None:
    """The lanes of an EXIT are done."""
    state.live &= ~np.int64(mask)
    if state.replaying and state.left == 1:
        state.live = 0  # the kept iteration of a spin loop may not be the one in which all left it


@compiled
def append(static: Number, operand: Number, mask: Number, arrays: Table, state: Record) -> None:
    """One more dynamic instruction."""
    arrays.static_ids[state.instructions] = np.uint16(static)
    arrays.operands[state.instructions] = np.int32(operand)
    state.instructions += 1
    count = arrays.counts[static]
    count.warps += 1
    count.lanes += count_ones(mask)
