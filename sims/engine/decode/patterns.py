"""Remembered address patterns: the same lanes, strides and immediates as last time, at another base address.

Most memory instructions keep their shape and move their base. Then the rest of the line after the base repeats byte
for byte, and its sectors (or its bank conflicts) follow from the last ones by a shift. One pattern is kept per
instruction text.
"""

from typing import Any

import numpy as np

from sims.engine.decode import layout as lay
from sims.engine.decode.layout import Number
from sims.engine.decode.words import same_bytes
from sims.engine.jit import Record, Table, compiled

MAX_TAIL_BYTES = 504
MAX_PATTERN_SECTORS = 64
_PATIENCE = 16
"""Full readings in a row after which a pattern is remembered only now and then."""
_ADDRESS_LIMIT = 1 << 62
"""Beyond it, or below zero, a shifted address could wrap around and change the order of sectors."""

PATTERN_DTYPE = np.dtype(
    [
        ("mask", "u4"),
        ("action", "i4"),
        ("alignment", "u4"),  # base address modulo what the result depends on
        ("tail_length", "i4"),  # 0: nothing remembered
        ("misses", "i4"),  # in a row
        ("degree", "i4"),  # of a shared-memory access
        ("count", "i4"),  # sectors of any other
        ("byte_mask", "u4", (MAX_PATTERN_SECTORS,)),
        ("sector", "i8", (MAX_PATTERN_SECTORS,)),  # relative to the base's own sector, highest first
        ("tail", "u1", (MAX_TAIL_BYTES + 8,)),
    ],
    align=True,
)


@compiled
def alignment_of(action: Number, base: Number) -> Number:
    """What of the base decides the outcome: its place in a word for banks, in a sector for sectors."""
    return np.uint32(base & np.uint64(3 if action == lay.OPERAND_SHARED else 31))


@compiled
def pattern_fits(pattern: Record, action: Number, mask: Number, base: Number, buffer: Any, p: Number) -> Number:
    """Whether the rest of the line at ``p`` (after the base) repeats the pattern so that a shift carries it over."""
    if pattern.tail_length == 0 or pattern.action != action or pattern.mask != np.uint32(mask):
        return False
    if pattern.alignment != alignment_of(action, base):
        return False
    if not same_bytes(pattern.tail, 0, buffer, p, pattern.tail_length):
        return False
    if action == lay.OPERAND_SHARED:
        return True
    return base < np.uint64(_ADDRESS_LIMIT) and np.int64(base) + pattern.sector[pattern.count - 1] >= 0


@compiled
def repeat(pattern: Record, action: Number, base: Number, arrays: Table, state: Record) -> Number:
    """The operand that the pattern has at another base."""
    pattern.misses = 0
    if action == lay.OPERAND_SHARED:
        return np.int64(pattern.degree)
    at = state.sectors
    count = pattern.count
    origin = np.int64(base & ~np.uint64(31))
    arrays.sector_addresses[at] = count
    arrays.sector_masks[at] = 0
    for j in range(count):
        arrays.sector_addresses[at + 1 + j] = origin + pattern.sector[j]
        arrays.sector_masks[at + 1 + j] = pattern.byte_mask[j]
    state.sectors = at + 1 + count
    return at


@compiled
def remember(
    pattern: Record,
    action: Number,
    mask: Number,
    base: Number,
    buffer: Any,
    p: Number,
    end: Number,
    operand: Number,
    arrays: Table,
) -> None:
    """Keep what a full reading found; ``p`` to ``end`` is the line after the base."""
    pattern.misses += 1
    # An instruction whose pattern never repeats (a gather) should not pay for remembering it each time.
    if pattern.misses > _PATIENCE and pattern.misses % _PATIENCE:
        return
    pattern.tail_length = 0
    length = end - p
    if length > MAX_TAIL_BYTES:
        return
    if action == lay.OPERAND_SHARED:
        pattern.degree = operand
    elif not _remember_sectors(pattern, base, operand, arrays):
        return
    for j in range(length):
        pattern.tail[j] = buffer[p + j]
    pattern.action = action
    pattern.mask = np.uint32(mask)
    pattern.alignment = alignment_of(action, base)
    pattern.tail_length = length


@compiled
def _remember_sectors(pattern: Record, base: Number, at: Number, arrays: Table) -> Number:
    """Keep the list at ``at``, relative to the base; whether a shift can carry it over."""
    addresses = arrays.sector_addresses
    count = addresses[at]
    origin = np.int64(base & ~np.uint64(31))
    if count > MAX_PATTERN_SECTORS or base >= np.uint64(_ADDRESS_LIMIT):
        return False
    if addresses[at + count] < 0 or addresses[at + 1] < 0 or addresses[at + 1] >= _ADDRESS_LIMIT:
        return False
    pattern.count = count
    for j in range(count):
        pattern.sector[j] = addresses[at + 1 + j] - origin
        pattern.byte_mask[j] = arrays.sector_masks[at + 1 + j]
    return True
