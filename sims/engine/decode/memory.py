"""Compiled operands of memory instructions: from the addresses of a line to a sector list or a conflict degree.

Where a line repeats the remembered pattern of its text, its operand is that one's, shifted; else every lane's address is read.
"""

import numpy as np

from sims.engine.decode import layout as lay
from sims.engine.decode.fields import read_hex, refused, skip_line
from sims.engine.decode.lanes import MODE_LIST, MODE_NONE, MODE_STRIDE, name_lanes, read_addresses, read_mode
from sims.engine.decode.layout import Number
from sims.engine.decode.operands import (
    atomic_transactions,
    coalesce,
    coalesce_run,
    conflict_degree,
    local_sectors,
    store_sectors,
)
from sims.engine.decode.patterns import pattern_fits, remember, repeat
from sims.engine.decode.words import count_ones
from sims.engine.jit import Record, Table, compiled

FORM_GLOBAL, FORM_SHARED, FORM_LOCAL = range(3)
"""Of a generic access, in the order of its static ids."""


@compiled
def memory_operand(
    arrays: Table, p: Number, mask: Number, entry: Record, state: Record, scratch: Record
) -> tuple[Number, Number, Number]:
    """(operand, form of a generic access, where the reading stopped) of a line at its width field ``p``."""
    buffer = arrays.buffer
    mode, p = read_mode(buffer, p)
    if p < 0:
        return refused(-p), FORM_GLOBAL, p
    if mode == MODE_NONE:
        return lay.NO_OPERAND, FORM_GLOBAL, p
    lanes = count_ones(mask)
    if mode == MODE_LIST:
        return read_all(arrays, p, mask, lanes, mode, entry, state, scratch)
    base, tail = read_hex(buffer, p)
    if tail < 0:
        return refused(lay.ERROR_ADDRESS), FORM_GLOBAL, p
    if lanes == 0:
        return read_all(arrays, p, mask, lanes, mode, entry, state, scratch)
    pattern = arrays.patterns[entry.pattern]
    action, form = resolved(entry.action, base, state)
    if pattern_fits(pattern, action, mask, base, buffer, tail):
        return repeat(pattern, action, base, arrays, state), form, tail + pattern.tail_length - 1
    operand, form, end = read_all(arrays, p, mask, lanes, mode, entry, state, scratch)
    if operand >= 0 and action != lay.OPERAND_LOCAL:
        line_end = skip_line(buffer, end)
        remember(pattern, action, mask, base, buffer, tail, line_end, operand, arrays)
        end = line_end - 1
    return operand, form, end


@compiled
def read_all(
    arrays: Table, p: Number, mask: Number, lanes: Number, mode: Number, entry: Record, state: Record, scratch: Record
) -> tuple[Number, Number, Number]:
    """The same from every lane's address; ``p`` is where they begin."""
    # The address part is checked even where no lane is active, so that a damaged line does not pass for an idle one.
    end = read_addresses(arrays.buffer, p, lanes, mode, scratch)
    if end < 0:
        return refused(-end), FORM_GLOBAL, p
    if lanes == 0:
        return lay.NO_OPERAND, FORM_GLOBAL, end
    action, form = resolved(entry.action, scratch.address[0], state)
    if action == lay.OPERAND_SHARED:
        return np.int64(conflict_degree(scratch, lanes)), form, end
    sectors = sectors_of(mask, lanes, action, entry.width_bytes, mode, scratch)
    return store_sectors(scratch, sectors, arrays, state), form, end


@compiled
def resolved(action: Number, address: Number, state: Record) -> tuple[Number, Number]:
    """(action, form): what an access does whose first address this is. Without the windows' bases generic means shared."""
    if action != lay.OPERAND_GENERIC:
        return np.int64(action), FORM_GLOBAL
    shared_base, local_base = state.shared_base, state.local_base
    if shared_base == 0 or local_base == 0 or shared_base <= address < local_base:
        return np.int64(lay.OPERAND_SHARED), FORM_SHARED
    if local_base <= address < local_base + np.uint64(lay.LOCAL_BYTES):
        return np.int64(lay.OPERAND_LOCAL), FORM_LOCAL
    return np.int64(lay.OPERAND_GLOBAL), FORM_GLOBAL


@compiled
def sectors_of(mask: Number, lanes: Number, action: Number, width: Number, mode: Number, scratch: Record) -> Number:
    """Sectors or transactions of the lanes' addresses into ``scratch``; how many."""
    if action == lay.OPERAND_LOCAL:
        name_lanes(mask, scratch)
        return local_sectors(scratch, lanes, width)
    if action == lay.OPERAND_ATOMIC:
        return atomic_transactions(scratch, lanes, width)
    if mode == MODE_STRIDE and _lie_side_by_side(scratch, lanes, width):
        return coalesce_run(scratch, scratch.address[0], lanes * width)
    return coalesce(scratch, lanes, width)


@compiled
def _lie_side_by_side(scratch: Record, lanes: Number, width: Number) -> Number:
    """Whether lanes with a constant stride touch one run of bytes that does not wrap around at the end of all addresses."""
    first, last = scratch.address[0], scratch.address[lanes - 1]
    return (
        lanes > 1
        and scratch.address[1] - first == np.uint64(width)
        and last > first
        and last + np.uint64(width) > first
    )
