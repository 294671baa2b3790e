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
from sims.engine.jit import compiled

MAX_TAIL_BYTES = 504
MAX_PATTERN_SECTORS = 64
_PATIENCE = 16
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
def pattern_fits(
    patterns: Any, k: Number, action: Number, mask: Number, base: Number, buffer: Any, p: Number
) -> Number:
    """Whether the rest of the line at ``p`` (after the base) repeats pattern ``k`` so that a shift carries it over."""
    one = patterns[k]
    if one.tail_length == 0 or one.action != action or one.mask != np.uint32(mask):
        return False
    if one.alignment != alignment_of(action, base) or not same_bytes(one.tail, 0, buffer, p, one.tail_length):
        return False
    if action == lay.OPERAND_SHARED:
        return True
    return base < np.uint64(_ADDRESS_LIMIT) and np.int64(base) + one.sector[one.count - 1] >= 0


@compiled
def store_shifted(patterns: Any, k: Number, base: Number, addresses: Any, masks: Any, at: Number) -> Number:
    """Append the pattern's sectors at the new base; returns the new end."""
    one = patterns[k]
    count = one.count
    origin = np.int64(base & ~np.uint64(31))
    addresses[at] = count
    masks[at] = 0
    for j in range(count):
        addresses[at + 1 + j] = origin + one.sector[j]
        masks[at + 1 + j] = one.byte_mask[j]
    return at + 1 + count


@compiled
def remember(
    patterns: Any,
    k: Number,
    action: Number,
    mask: Number,
    base: Number,
    buffer: Any,
    p: Number,
    end: Number,
    degree: Number,
    addresses: Any,
    masks: Any,
    at: Number,
) -> None:
    """Keep what a full reading found: ``degree`` or the list at ``at``; ``p`` to ``end`` is the line after the base."""
    one = patterns[k]
    one.misses += 1
    # An instruction whose pattern never repeats (a gather) should not pay for remembering it each time.
    if one.misses > _PATIENCE and one.misses % _PATIENCE:
        return
    one.tail_length = 0
    length = end - p
    if length > MAX_TAIL_BYTES:
        return
    if action == lay.OPERAND_SHARED:
        one.degree = degree
    else:
        count = addresses[at]
        origin = np.int64(base & ~np.uint64(31))
        if count > MAX_PATTERN_SECTORS or base >= np.uint64(_ADDRESS_LIMIT):
            return
        if addresses[at + count] < 0 or addresses[at + 1] < 0 or addresses[at + 1] >= _ADDRESS_LIMIT:
            return
        one.count = count
        for j in range(count):
            one.sector[j] = addresses[at + 1 + j] - origin
            one.byte_mask[j] = masks[at + 1 + j]
    for j in range(length):
        one.tail[j] = buffer[p + j]
    one.action = action
    one.mask = np.uint32(mask)
    one.alignment = alignment_of(action, base)
    one.tail_length = length
