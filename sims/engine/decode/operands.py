"""Compiled operand builders: lane addresses to sectors, shared-memory conflict degrees, transactions of atomics.

A sector list in the chunk's arrays is its count, then the sectors, highest address first: the order in which
Accel-Sim's load/store unit takes them from the back of its access queue.
"""

import numpy as np

from sims.engine.decode.layout import LOCAL_ADDRESS_MASK, Number
from sims.engine.jit import Record, Table, compiled


@compiled
def insert_sector(scratch: Record, used: Number, sector: Number, mask: Number) -> Number:
    """Keep ``scratch.sector`` ascending and free of duplicates; returns how many are in use."""
    place = used - 1
    while place >= 0 and scratch.sector[place] > sector:
        place -= 1
    if place >= 0 and scratch.sector[place] == sector:
        scratch.mask[place] |= np.uint32(mask)
        return used
    for j in range(used, place + 1, -1):
        scratch.sector[j] = scratch.sector[j - 1]
        scratch.mask[j] = scratch.mask[j - 1]
    scratch.sector[place + 1] = sector
    scratch.mask[place + 1] = np.uint32(mask)
    return used + 1


@compiled
def store_sectors(scratch: Record, used: Number, arrays: Table, state: Record) -> Number:
    """Append the list (count, highest sector first); returns its place."""
    at = state.sectors
    arrays.sector_addresses[at] = used
    arrays.sector_masks[at] = 0
    for j in range(used):
        arrays.sector_addresses[at + 1 + j] = np.int64(scratch.sector[used - 1 - j])
        arrays.sector_masks[at + 1 + j] = scratch.mask[used - 1 - j]
    state.sectors = at + 1 + used
    return at


@compiled
def byte_mask(first: Number, last: Number) -> Number:
    """Bits ``first``..``last`` of a sector's byte mask."""
    return (np.uint64(0xFFFFFFFF) >> (np.uint64(31) - (last - first))) << first


@compiled
def coalesce(scratch: Record, lanes: Number, width: Number) -> Number:
    """One access per 32 B sector that any lane touches; an access across a border counts in both."""
    used = 0
    one = np.uint64(1)
    low5 = np.uint64(31)
    for i in range(lanes):
        first = scratch.address[i]
        last = first + np.uint64(width) - one
        sector = first & ~low5
        end = last & ~low5
        while True:
            begin = first & low5 if sector == first & ~low5 else np.uint64(0)
            stop = last & low5 if sector == end else low5
            used = insert_sector(scratch, used, sector, byte_mask(begin, stop))
            # `==` and not `<`: a hostile address near 2^64 wraps around.
            if sector == end:
                break
            sector += np.uint64(32)
    return used


@compiled
def coalesce_run(scratch: Record, first: Number, length: Number) -> Number:
    """:func:`coalesce` for lanes that lie side by side: one run of ``length`` bytes, no search."""
    used = 0
    low5 = np.uint64(31)
    last = first + np.uint64(length) - np.uint64(1)
    sector = first & ~low5
    end = last & ~low5
    while True:
        begin = first & low5 if sector == first & ~low5 else np.uint64(0)
        stop = last & low5 if sector == end else low5
        scratch.sector[used] = sector
        scratch.mask[used] = np.uint32(byte_mask(begin, stop))
        used += 1
        if sector == end:
            return used
        sector += np.uint64(32)


@compiled
def local_sectors(scratch: Record, lanes: Number, width: Number) -> Number:
    """Local memory before translation: key = word << 7 | byte offset of the sector in the warp's 128 contiguous bytes.

    The 32 lanes of a warp keep word w of their local memory side by side (timing reference, section 9); base and
    thread slot belong to the SM that runs the warp, so the core adds them. A byte or a half word is that part of its word.
    """
    used = 0
    words = max(1, width >> 2)
    for i in range(lanes):
        lane = scratch.lane[i]
        word = (scratch.address[i] & np.uint64(LOCAL_ADDRESS_MASK)) >> np.uint64(2)
        touched = np.uint64(15)
        if width < 4:
            touched &= ((np.uint64(1) << np.uint64(width)) - np.uint64(1)) << (scratch.address[i] & np.uint64(3))
        mask = touched << np.uint64((lane & 7) * 4)
        for chunk in range(words):
            key = ((word + np.uint64(chunk)) << np.uint64(7)) | np.uint64((lane >> 3) << 5)
            used = insert_sector(scratch, used, key, mask)
    return used


@compiled
def atomic_transactions(scratch: Record, lanes: Number, width: Number) -> Number:
    """Lanes packed in order, each into the sector's first transaction that has its bytes free (section 8).

    Transactions of a sector stay in the order of their making, so the stored list, read from the back, has the last
    first.
    """
    used = 0
    low5 = np.uint64(31)
    for i in range(lanes):
        address = scratch.address[i]
        sector = address & ~low5
        begin = address - sector
        stop = begin + np.uint64(width) - np.uint64(1)
        mask = np.uint32(byte_mask(begin, stop if stop < low5 else low5))
        place = 0
        while place < used and scratch.sector[place] < sector:
            place += 1
        while place < used and scratch.sector[place] == sector and scratch.mask[place] & mask:
            place += 1
        if place < used and scratch.sector[place] == sector:
            scratch.mask[place] |= mask
            continue
        for j in range(used, place, -1):
            scratch.sector[j] = scratch.sector[j - 1]
            scratch.mask[j] = scratch.mask[j - 1]
        scratch.sector[place] = sector
        scratch.mask[place] = mask
        used += 1
    return used


@compiled
def _is_free_of_conflicts(scratch: Record, lanes: Number) -> Number:
    """Whether every bank has to serve one word, the usual case."""
    seen_banks = np.uint32(0)
    for i in range(lanes):
        word = (scratch.address[i] & np.uint64(LOCAL_ADDRESS_MASK)) >> np.uint64(2)
        bank = np.int64(word & np.uint64(31))
        bit = np.uint32(1) << np.uint32(bank)
        if not seen_banks & bit:
            seen_banks |= bit
            scratch.bank_words[bank, 0] = word
        elif scratch.bank_words[bank, 0] != word:
            return False
    return True


@compiled
def conflict_degree(scratch: Record, lanes: Number) -> Number:
    """Most different 4-byte words that one of 32 banks has to serve; a lane counts with its first word (section 3)."""
    if _is_free_of_conflicts(scratch, lanes):
        return 1
    for cleared in range(32):
        scratch.bank_count[cleared] = 0
    degree: Number = 1
    for i in range(lanes):
        word = (scratch.address[i] & np.uint64(LOCAL_ADDRESS_MASK)) >> np.uint64(2)
        bank = np.int64(word & np.uint64(31))
        count = scratch.bank_count[bank]
        seen = False
        for j in range(count):
            if scratch.bank_words[bank, j] == word:
                seen = True
                break
        if not seen:
            scratch.bank_words[bank, count] = word
            scratch.bank_count[bank] = count + 1
            degree = max(degree, count + 1)
    return degree
