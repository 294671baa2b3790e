"""Shared layout of the compiled scanner: its state vector, its table of known instruction texts, its status codes."""

from typing import Any

import numpy as np

Number = Any
"""An integer in compiled code, where Python, signed and unsigned 64-bit integers mix."""

# What the scanner does with the rest of a line to get the instruction's operand.
(
    OPERAND_NONE,
    OPERAND_GLOBAL,
    OPERAND_SHARED,
    OPERAND_LOCAL,
    OPERAND_GENERIC,  # resolved by the first address; the static ids of its three forms are consecutive
    OPERAND_ATOMIC,
    OPERAND_IMMEDIATE,
    OPERAND_BARRIER,
    OPERAND_FIXED,
    OPERAND_EXIT,
    OPERAND_TMA,
    OPERAND_MBARRIER,
    OPERAND_MARKER,  # of a replay region: no instruction
) = range(13)

# A known instruction text: the bytes of a line up to its memory width. The text proper (destinations, opcode, sources)
# is what makes an instruction; PC and mask stand in front of it as they were on the line that brought it.
ENTRY_DTYPE = np.dtype(
    [
        ("pc", "u8"),
        ("line_start", "i4"),  # of the whole stored line part, in the text array
        ("line_length", "i4"),
        ("text_start", "i4"),
        ("text_length", "i4"),
        ("mask", "u4"),
        ("follower", "i4"),  # entry of the line that came after this one last time: the first guess
        ("next", "i4"),  # next entry with the same slot of the PC table, -1 for none
        ("static_id", "i4"),
        ("action", "i4"),
        ("width_bytes", "i4"),
        # OPERAND_FIXED: the operand; OPERAND_MBARRIER: its form; OPERAND_BARRIER: 1 only arrives; OPERAND_MARKER: 1 opens
        ("fixed", "i4"),
        ("destinations", "i4"),
        ("pattern", "i4"),  # its remembered address pattern, -1 for none
    ],
    align=True,
)
PC_SLOTS = 1 << 16

# Scanner state, one int64 each.
(
    POSITION,  # next byte to read
    PHASE,
    LINE,  # number of the line at POSITION, from 1
    INSTRUCTIONS,  # dynamic instructions in the chunk being filled
    SECTORS,  # entries of the sector arrays in use
    CTAS,  # whole CTAs in the chunk being filled
    WARP,  # warp being read
    LEFT,  # its instruction lines still to come
    LIVE,  # lanes that have not exited
    WARPS_PER_CTA,
    LAST_WARP_LANES,  # lane mask of a CTA's last warp
    LEADING_FIELDS,  # decimal fields before the PC
    SHARED_BASE,
    LOCAL_BASE,
    CHUNK_INSTRUCTIONS,  # a chunk is handed over at the first CTA end at or above this
    CTAS_WANTED,  # CTAs of the grid still to be handed over; what a file holds beyond them is not read, as in Accel-Sim
    REPLAYING,  # 1 inside a replay region
    DETAIL,  # what an error sentence needs
    STATE_SIZE,
) = range(19)

PHASE_BETWEEN, PHASE_CTA, PHASE_WARP_COUNT, PHASE_WARP = range(4)

# Why the scanner stopped.
(
    STATUS_NEED_DATA,
    STATUS_CHUNK,
    STATUS_NEW_TEXT,
    STATUS_FULL,
    ERROR_NESTED_CTA,
    ERROR_CTA_NOT_CLOSED,
    ERROR_LINE_OUTSIDE_CTA,
    ERROR_LINE_OUTSIDE_WARP,
    ERROR_WARP_NUMBER,
    ERROR_WARP_RANGE,
    ERROR_WARP_TWICE,
    ERROR_WARP_MISSING,
    ERROR_WARP_COUNT,
    ERROR_TOO_FEW_LINES,
    ERROR_NO_EXIT,
    ERROR_PC,
    ERROR_MASK,
    ERROR_MODE,
    ERROR_ADDRESS,
    ERROR_TMA,
    ERROR_TOO_LARGE,
) = range(21)

# Room kept free in the arrays before a line is read: the most one line can add (TMA lines check for themselves).
SECTOR_ROOM = 32 * 64 + 8
MAX_TMA_SECTORS = 1 << 16
LOCAL_BYTES = 1 << 14
"""Accel-Sim takes a generic address for a local one up to here above the local window's base; beyond, it is a global one."""
LOCAL_ADDRESS_MASK = (1 << 56) - 1
"""Accel-Sim takes a local access's whole address as the offset, so only what no GPU has is cut off."""
