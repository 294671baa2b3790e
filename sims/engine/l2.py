"""One L2 slice (sub-partition), section 6.

A request waits ``rop_latency`` cycles, then in the input queue; one look-up a cycle, one reply a cycle. Sector cache, write-back,
allocating on writes without fetching; a sector is readable when all its bytes were written or its data came. Misses take an MSHR
(up to ``l2_merges`` requests each: the next one blocks the slice's head until the fill) and a place in the miss queue. Victim: an
invalid line, else the least recently used without a pending sector; its dirty sectors go to DRAM as one write-back.

Replacement policy: :func:`find_victim` and :func:`touch` are the only places that know it.
Microbenchmarks: ``l2_chain``, ``l2_capacity``, ``l2_store``, ``slice_rate``. Twin: tests/engine/twins/l2.py.
"""

import numpy as np

from sims.engine import counters, mshrs
from sims.engine.addresses import bank_of, l2_set_of, row_of, slice_of
from sims.engine.jit import Record, compiled, inlined
from sims.engine.memory import Memory
from sims.engine.packets import ATOMIC, LOCAL_FLAG, MISSED_L2_FLAG, STORE, WRITE_BACK, pop, push, take_free
from sims.engine.pointers import prefetch
from sims.engine.sectors import (
    DIRTY,
    INVALID,
    PARTIAL,
    PENDING,
    SECTORS_PER_LINE,
    VALID,
    count_failure,
    count_outcome,
    is_readable,
    outcome_of_miss,
    state_after_write,
)

RETRY, ANSWER, FETCH, WAIT = range(4)
"""What becomes of a look-up: try again next cycle, reply, go to DRAM, wait for data that are on their way."""

TAGS_PER_LINE = 8
"""Of one of the host's cache lines."""

SLICE_FREE_ENTRIES = 4
"""A slice takes no request from the crossbar when fewer entries of its input queue are free."""


@inlined
def slice_cycle(gpu: Record, memory: Memory, d: int, now: int) -> None:
    """One cycle: complete a waiter, take a fill, move a miss on, look up a request, admit one from the delay."""
    part = memory.slices[d]
    packets = memory.packets
    if part.filled_count > 0 and part.replies.count < gpu.l2_queue:
        push(packets, part.replies, _next_filled(memory, part))
    if part.from_dram.count > 0:
        _fill(gpu, memory, part, d, pop(packets, part.from_dram))
        memory.channels[d >> gpu.slice_bits].asleep_until = 0
    if part.misses.count > 0 and part.to_dram.count < gpu.l2_queue:
        push(packets, part.to_dram, pop(packets, part.misses))
        channel = memory.channels[d >> gpu.slice_bits]
        channel.offered += 1
        channel.asleep_until = 0
    if part.input.count > 0 and part.port_free <= now:
        if part.to_dram.count < gpu.l2_queue and part.replies.count < gpu.l2_queue:
            _serve_head(gpu, memory, part, d, now)
    if part.delayed.count > 0 and part.input.count < gpu.l2_queue and packets[part.delayed.head].time <= now:
        index = pop(packets, part.delayed)
        for way in range(0, gpu.l2_ways, TAGS_PER_LINE):
            prefetch(memory.tags, packets[index].line + way)
        push(packets, part.input, index)


@inlined
def _serve_head(gpu: Record, memory: Memory, part: Record, d: int, now: int) -> None:
    index = part.input.head
    packet = memory.packets[index]
    if packet.kind == STORE:
        action = _write(gpu, memory, part, d, packet, now)
    else:
        action = _read(gpu, memory, part, d, index, now)
    if action == RETRY:
        return
    pop(memory.packets, part.input)
    if action == ANSWER:
        push(memory.packets, part.replies, index)
    elif action == FETCH:
        push(memory.packets, part.misses, index)
    if part.evicted >= 0:
        push(memory.packets, part.misses, part.evicted)
        part.evicted = -1
    if part.input.count > 0:
        _look_ahead(gpu, memory, d, memory.packets[part.input.head])


@compiled
def _look_ahead(gpu: Record, memory: Memory, d: int, packet: Record) -> None:
    """Have the line of the request that is next brought to the host's cache."""
    x = find_way(gpu, memory, d, packet.set, packet.address >> 7)
    if x >= 0:
        packet.line = x
        prefetch(memory.lines, x)
        prefetch(memory.stamps, x)


@compiled
def expect_fill(memory: Memory, packet: Record) -> None:
    """The request's data will come soon: likewise for where they go."""
    prefetch(memory.slices[packet.slice].mshr, packet.mshr)
    prefetch(memory.tags, packet.line)
    prefetch(memory.lines, packet.line)


@compiled
def way_of(gpu: Record, memory: Memory, d: int, packet: Record, line_number: int) -> int:
    """Index of the line that the request is for, or -1: most often where it was seen before."""
    if memory.tags[packet.line] == line_number:
        return np.int64(packet.line)
    return find_way(gpu, memory, d, packet.set, line_number)


@compiled
def find_way(gpu: Record, memory: Memory, d: int, cache_set: int, line_number: int) -> int:
    """Index of the line, or -1."""
    base = (d * gpu.l2_sets + cache_set) * gpu.l2_ways
    for x in range(base, base + gpu.l2_ways):
        if memory.tags[x] == line_number:
            return x
    return -1


@compiled
def touch(memory: Memory, part: Record, x: int, now: int) -> None:
    """The line was used in cycle ``now``. Sectors copied by memcpy count as time (Accel-Sim's memcpy cycle offset)."""
    memory.stamps[x] = now + part.copied


@compiled
def find_victim(gpu: Record, memory: Memory, d: int, cache_set: int) -> int:
    """The last invalid way, else the least recently used without a pending sector; -1 if all are waiting."""
    base = (d * gpu.l2_sets + cache_set) * gpu.l2_ways
    oldest = -1
    invalid = -1
    for x in range(base, base + gpu.l2_ways):
        if memory.tags[x] < 0:
            invalid = x
        elif memory.pending[x] == 0 and (oldest < 0 or memory.stamps[x] < memory.stamps[oldest]):
            oldest = x
    return invalid if invalid >= 0 else oldest


@compiled
def replace_line(gpu: Record, memory: Memory, part: Record, d: int, x: int, line_number: int) -> int:
    """Give way ``x`` to a new line; returns how many dirty sectors of the old one have become ``part.evicted``."""
    line = memory.lines[x]
    old = memory.tags[x]
    dirty = 0
    for s in range(SECTORS_PER_LINE):
        if line.state[s] >= DIRTY:
            dirty += 1
        if mshrs.lives(part, line.mshr[s], old * SECTORS_PER_LINE + s):
            mshrs.orphan(part, line.mshr[s])
    _drop_line(memory, x, line_number)
    if dirty:
        channel = memory.channels[d >> gpu.slice_bits]
        index = take_free(memory.packets, channel)
        packet = memory.packets[index]
        packet.kind = WRITE_BACK
        packet.flags = 0
        packet.slice = d
        packet.bytes = 32 * dirty
        packet.bank = bank_of(gpu, old << 7)
        packet.row = row_of(gpu, old << 7)
        part.evicted = index
    return dirty


@compiled
def _drop_line(memory: Memory, x: int, line_number: int) -> None:
    """Way ``x`` holds another line; what was in the old one is gone."""
    line = memory.lines[x]
    line.ignore = 0
    for s in range(SECTORS_PER_LINE):
        line.state[s] = INVALID
        line.written[s] = 0
        line.mshr[s] = -1
    memory.tags[x] = line_number


@compiled
def _write(gpu: Record, memory: Memory, part: Record, d: int, packet: Record, now: int) -> int:
    line_number = packet.address >> 7
    s = (packet.address >> 5) & 3
    kind = (packet.flags & LOCAL_FLAG) + counters.TYPE_WRITE
    x = way_of(gpu, memory, d, packet, line_number)
    state = memory.lines[x].state[s] if x >= 0 else INVALID
    is_hit = state >= VALID
    victim = x
    if x < 0:
        victim = find_victim(gpu, memory, d, packet.set)
        if victim < 0:
            return _fail(part, kind, counters.LINE_ALLOC_FAIL)
    if not is_hit and part.misses.count >= gpu.l2_miss_queue:
        return _fail(part, kind, counters.MISS_QUEUE_FULL)
    if x < 0:
        # Accel-Sim reads the old sectors out through the data port, but counts them only when a write replaces the line.
        part.port_free = now + replace_line(gpu, memory, part, d, victim, line_number)
    line = memory.lines[victim]
    if state == PENDING:
        memory.pending[victim] -= 1
        line.ignore |= np.uint8(1 << s)
    line.written[s] |= packet.byte_mask
    line.state[s] = state_after_write(state, line.written[s])
    touch(memory, part, victim, now)
    count_outcome(part, kind, counters.HIT if is_hit else outcome_of_miss(state, x >= 0))
    if is_hit:
        part.port_free = max(part.port_free, now + 1)
    return ANSWER


@compiled
def _read(gpu: Record, memory: Memory, part: Record, d: int, index: int, now: int) -> int:
    packet = memory.packets[index]
    sector = packet.address >> 5
    line_number = packet.address >> 7
    s = sector & 3
    kind = packet.flags & LOCAL_FLAG
    x = way_of(gpu, memory, d, packet, line_number)
    state = memory.lines[x].state[s] if x >= 0 else INVALID
    if is_readable(state):
        touch(memory, part, x, now)
        if packet.kind == ATOMIC:
            memory.lines[x].state[s] = DIRTY
        part.port_free = now + 1
        count_outcome(part, kind, counters.HIT)
        return ANSWER
    victim = x
    if x < 0:
        victim = find_victim(gpu, memory, d, packet.set)
        if victim < 0:
            return _fail(part, kind, counters.LINE_ALLOC_FAIL)
    if part.misses.count + 1 >= gpu.l2_miss_queue:
        return _fail(part, kind, counters.MISS_QUEUE_FULL)
    mshr = mshrs.find(part, memory.lines[x].mshr[s] if x >= 0 else -1, gpu.l2_mshrs, sector)
    if mshr >= 0:
        if part.mshr[mshr].count >= gpu.l2_merges:
            return _fail(part, kind, counters.MSHR_MERGE_FAIL)
        if state == PARTIAL and not part.mshr[mshr].orphan:
            _expect_data(memory, x, s)
        if state == PENDING or state == PARTIAL:
            touch(memory, part, x, now)
        count_outcome(part, kind, counters.MSHR_HIT)
        count_outcome(part, kind, outcome_of_miss(state, x >= 0))
        _join(memory, part, mshr, index)
        return WAIT
    if part.live_mshrs >= gpu.l2_mshrs:
        return _fail(part, kind, counters.MSHR_ENTRY_FAIL)
    count_outcome(part, kind, outcome_of_miss(state, x >= 0))
    if x < 0:
        replace_line(gpu, memory, part, d, victim, line_number)
    touch(memory, part, victim, now)
    packet.line = victim
    packet.mshr = mshrs.take(part, sector)
    part.mshr[packet.mshr].atomic = 0
    _expect_data(memory, victim, s)
    memory.lines[victim].mshr[s] = packet.mshr
    _join(memory, part, packet.mshr, index)
    packet.bytes = 32
    packet.bank = bank_of(gpu, packet.address)
    packet.row = row_of(gpu, packet.address)
    return FETCH


@compiled
def _expect_data(memory: Memory, x: int, s: int) -> None:
    """Sector ``s`` of way ``x`` is on its way. What was written of it makes it dirty when it comes."""
    line = memory.lines[x]
    if line.state[s] == PARTIAL:
        line.ignore |= np.uint8(1 << s)
    line.state[s] = PENDING
    memory.pending[x] += 1


@compiled
def _fail(part: Record, access_type: int, cause: int) -> int:
    count_failure(part, access_type, cause, 1)
    return RETRY


@compiled
def _join(memory: Memory, part: Record, index: int, packet_index: int) -> None:
    mshr = part.mshr[index]
    packet = memory.packets[packet_index]
    packet.flags |= np.uint8(MISSED_L2_FLAG)
    packet.waiter = -1
    if mshr.count == 0:
        mshr.head = packet_index
    else:
        memory.packets[mshr.tail].waiter = packet_index
    mshr.tail = packet_index
    mshr.count += 1
    if packet.kind == ATOMIC:
        mshr.atomic = 1


@compiled
def _fill(gpu: Record, memory: Memory, part: Record, d: int, packet_index: int) -> None:
    """Data came from DRAM: the sector can be read, and is dirty if it was written or is the target of an atomic meanwhile."""
    packet = memory.packets[packet_index]
    index = packet.mshr
    mshr = part.mshr[index]
    s = mshr.sector & 3
    x = way_of(gpu, memory, d, packet, mshr.sector >> 2)
    if x >= 0:
        line = memory.lines[x]
        written = (line.ignore >> s) & 1
        line.ignore &= ~np.uint8(1 << s)
        if line.state[s] == PENDING:
            memory.pending[x] -= 1
            line.state[s] = DIRTY if mshr.atomic or written else VALID
        elif written:
            line.state[s] = DIRTY
    mshrs.data_came(part, index)


@compiled
def _next_filled(memory: Memory, part: Record) -> int:
    """The next request whose data are there."""
    index = mshrs.first_filled(part)
    mshr = part.mshr[index]
    packet_index = mshr.head
    mshr.head = memory.packets[packet_index].waiter
    mshrs.served(part, index)
    return packet_index


# ---- copies from the host ---------------------------------------------------------------------------------------------


@compiled
def copy_from_host(gpu: Record, memory: Memory, address: int, size_bytes: int, now: int) -> None:
    """MemcpyHtoD fills L2 tags as valid; Accel-Sim keeps only the low 32 address bits (section 6).

    It is no use of a line that is there already, and what the copy overwrites is no longer dirty.
    """
    for offset in range(0, size_bytes, 32):
        sector_address = (address + offset) & 0xFFFFFFFF
        d = slice_of(gpu, sector_address)
        part = memory.slices[d]
        cache_set = l2_set_of(gpu, sector_address)
        line_number = sector_address >> 7
        s = (sector_address >> 5) & 3
        x = find_way(gpu, memory, d, cache_set, line_number)
        if x < 0:
            x = find_victim(gpu, memory, d, cache_set)
            if x >= 0:
                _drop_line(memory, x, line_number)  # no write-back: the copy is functional, not timed
        if x >= 0:
            line = memory.lines[x]
            if line.state[s] == INVALID:
                touch(memory, part, x, now)
            elif line.state[s] == PENDING:
                memory.pending[x] -= 1
            line.state[s] = VALID
        part.copied += 1
