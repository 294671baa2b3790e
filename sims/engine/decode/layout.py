"""What the compiled scanner works on: the texts it knows, the arrays it fills, where it stands and why it stops."""

from typing import Any, NamedTuple

import numpy as np

from sims.engine.jit import Table

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
NO_OPERAND = -1
"""Of an instruction without one, or without an active lane. What is below is a refusal (:func:`.fields.refused`)."""

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
COUNT_DTYPE = np.dtype([("warps", "i8"), ("lanes", "i8")])
"""Of one static instruction: how many warps issued it, with how many active lanes in all."""


class Arrays(NamedTuple):
    """All that the scanner works on, one-dimensional arrays."""

    buffer: Table
    """The text: whole lines, and a few bytes more, since readers look ahead."""

    # What earlier lines have taught.
    slots: Table
    """By hash of a PC: its first entry, or -1."""
    entries: Table
    text: Table
    """The bytes of all entries' texts."""
    patterns: Table
    counts: Table
    """By static id."""

    # The chunk in the making; what is in it is said in :class:`sims.engine.program.CtaChunk`.
    warp_start: Table
    warp_length: Table
    static_ids: Table
    operands: Table
    sector_addresses: Table
    sector_masks: Table
    cluster_ids: Table
    cluster_ranks: Table

    # One record each.
    state: Table
    scratch: Table


STATE_DTYPE = np.dtype(
    [
        ("position", "i8"),  # next byte to read
        ("end", "i8"),  # of the data
        ("line", "i8"),  # number of the line at ``position``, from 1
        ("phase", "i8"),
        ("previous", "i8"),  # entry of the last instruction line, -1 for none
        # What is in the chunk, and what fits.
        ("instructions", "i8"),
        ("instruction_room", "i8"),
        ("sectors", "i8"),  # entries of the sector arrays in use
        ("sector_room", "i8"),
        ("sectors_needed", "i8"),  # by a line for which the room was too small
        ("ctas", "i8"),  # whole ones
        ("warp_room", "i8"),
        # The warp that is being read.
        ("warp", "i8"),
        ("left", "i8"),  # its instruction lines still to come
        ("live", "i8"),  # lanes that have not exited
        ("replaying", "i8"),  # 1 inside a replay region
        ("detail", "i8"),  # what an error sentence needs
        # Of the kernel.
        ("warps_per_cta", "i8"),
        ("last_warp_lanes", "i8"),  # lane mask of a CTA's last warp
        ("leading_fields", "i8"),  # decimal fields before the PC
        ("shared_base", "u8"),
        ("local_base", "u8"),
        ("chunk_instructions", "i8"),  # a chunk is handed over at the first CTA end at or above this
        ("ctas_wanted", "i8"),  # still to be handed over; what a file holds beyond them is not read, as in Accel-Sim
    ]
)
"""Where the scanner stands. One record: it can stop at any line and go on later."""

BULK_DTYPE = np.dtype(
    [
        ("element_bytes", "i8"),
        ("mbarrier", "u8"),
        ("cta_mask", "u8"),  # of a multicast
        ("inside_bytes", "i8"),
        ("outside_bytes", "i8"),  # out of bounds: filled by the hardware
        ("mode", "i8"),
        ("base", "u8"),
        ("elements", "i8"),
    ]
)
"""Fields of a bulk copy."""
SCRATCH_SECTORS = 32 * 64
"""Most that the lanes of an instruction touch: local memory, 64 words each."""
SCRATCH_DTYPE = np.dtype(
    [
        ("address", "u8", (32,)),  # by active lane
        ("lane", "i4", (32,)),  # its number
        ("value", "u8", (32,)),  # by lane: what its register holds
        ("sector", "u8", (SCRATCH_SECTORS,)),
        ("mask", "u4", (SCRATCH_SECTORS,)),  # bytes touched of each
        ("bank_words", "u8", (32, 32)),  # different words by bank of the shared memory
        ("bank_count", "i4", (32,)),
        ("bulk", BULK_DTYPE),
    ],
    align=True,
)
"""Of the line that is being read."""

PHASE_BETWEEN, PHASE_CTA, PHASE_WARP_COUNT, PHASE_WARP = range(4)

# Why the scanner stopped. All but GO_ON, STATUS_CHUNK and ERROR_NO_EXIT leave the line unread.
(
    GO_ON,
    STATUS_CHUNK,
    STATUS_NEED_DATA,
    STATUS_NEW_TEXT,
    STATUS_FULL,
    ERROR_NESTED_CTA,
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
) = range(20)

SECTOR_ROOM = SCRATCH_SECTORS + 8
"""Kept free in the arrays before a line is read: the most one line can add (bulk copies look for themselves)."""
MAX_TMA_SECTORS = 1 << 16
LOCAL_BYTES = 1 << 14
"""Accel-Sim takes a generic address for a local one up to here above the local window's base; beyond, it is a global one."""
LOCAL_ADDRESS_MASK = (1 << 56) - 1
"""Accel-Sim takes a local access's whole address as the offset, so only what no GPU has is cut off."""
