"""The L1 data cache of one SM: look-ups, fills, and the way to memory (section 5).

Sector cache of 128 B lines, write-through, allocating on misses and stores without fetching, least recently used, look-ups
at the head of the bank queues. A stored sector becomes readable when all its 32 bytes have been written or its fill has
come. Misses take an MSHR (key: sector; further loads of the sector join it, up to a limit) and a place in the miss queue,
which sends one packet a cycle. A look-up that cannot be served fails and is repeated every cycle; until then its bank is
blocked. Each repetition counts, but nothing is looked up again before ``l1_version`` says that something has changed.

Lines and their replacement are in l1lines.py, MSHRs in mshrs.py.
Microbenchmarks: ``l1_basic``, ``l1_capacity``, ``l1_store``, ``l1_miss_stream``, ``l1_misc``. Twin: tests/engine/twins/l1.py.
"""

import numpy as np

from sims.engine import counters, mshrs
from sims.engine.addresses import l2_set_of, slice_of
from sims.engine.freelist import distance, follower
from sims.engine.jit import Record, Table, compiled
from sims.engine.l1lines import find_line, find_victim, invalidate_lines, invalidate_what_came, replace, touch
from sims.engine.packets import LOAD, LOCAL_FLAG, STORE, pop, push, take_free
from sims.engine.pointers import prefetch
from sims.engine.sectors import (
    DIRTY,
    INVALID,
    PARTIAL,
    PENDING,
    VALID,
    count_failure,
    count_outcome,
    is_readable,
    outcome_of_miss,
    state_after_write,
)
from sims.engine.smstate import WAITERS

HIT, WAITS, RETRY = 1, 0, -1
"""Outcomes of a load's look-up: served, waiting for its data, to be repeated."""


@compiled
def changed(sm: Record) -> None:
    """Something that a look-up depends on is different now: failed ones have to be tried again."""
    sm.l1_version += 1


@compiled
def _fail(sm: Record, access_type: int, cause: int) -> None:
    sm.l1_failure = access_type * len(counters.FAILURES) + cause
    count_failure(sm, access_type, cause, 1)


@compiled
def repeat_failure(sm: Record, failure: int, times: int) -> None:
    """A look-up failed ``times`` more for the same reason; ``failure`` is what ``l1_failure`` was after it."""
    count_failure(sm, failure // len(counters.FAILURES), failure % len(counters.FAILURES), times)


@compiled
def load(gpu: Record, packets: Table, port: Record, sm: Record, entry: Record, now: int) -> int:
    """Look up a load: HIT, WAITS or RETRY."""
    sector = entry.address >> 5
    line_number = entry.address >> 7
    cache_set = line_number & (gpu.l1_sets - 1)
    s = sector & 3
    kind = entry.flags & LOCAL_FLAG
    x = find_line(sm, line_number)
    state = sm.line[x].state[s] if x >= 0 else INVALID
    if is_readable(state):
        changed(sm)
        touch(sm, cache_set, x, now)
        count_outcome(sm, kind, counters.HIT)
        return HIT
    victim = x
    if x < 0:
        victim = find_victim(gpu, sm, cache_set)
        if victim < 0:
            _fail(sm, kind, counters.LINE_ALLOC_FAIL)
            return RETRY
    if sm.misses.count + 1 >= gpu.l1_miss_queue or port.free_count == 0:
        _fail(sm, kind, counters.MISS_QUEUE_FULL)
        return RETRY
    mshr = mshrs.find(sm, sm.line[x].mshr[s] if x >= 0 else -1, gpu.l1_mshrs, sector)
    if mshr >= 0:
        if sm.mshr[mshr].count >= gpu.l1_merges or sm.l1_free_waiter == WAITERS:
            _fail(sm, kind, counters.MSHR_MERGE_FAIL)
            return RETRY
        if state == PARTIAL and not sm.mshr[mshr].orphan:
            _expect_data(sm, sm.line[x], s)
        if state == PENDING or state == PARTIAL:
            touch(sm, cache_set, x, now)
        count_outcome(sm, kind, counters.MSHR_HIT)
    else:
        if sm.live_mshrs >= gpu.l1_mshrs or sm.l1_free_waiter == WAITERS:
            _fail(sm, kind, counters.MSHR_ENTRY_FAIL)
            return RETRY
        if x < 0:
            replace(sm, victim, line_number)
        touch(sm, cache_set, victim, now)
        mshr = mshrs.take(sm, sector)
        _expect_data(sm, sm.line[victim], s)
        sm.line[victim].mshr[s] = mshr
        _queue_miss(gpu, packets, port, sm, entry, LOAD, mshr)
    changed(sm)
    count_outcome(sm, kind, outcome_of_miss(state, x >= 0))
    _join(sm, mshr, entry.reference)
    return WAITS


@compiled
def _expect_data(sm: Record, line: Record, s: int) -> None:
    """Sector ``s`` is on its way. What was written of it makes it dirty when it comes."""
    if line.state[s] == PARTIAL:
        line.ignore |= np.uint8(1 << s)
        line.dirty -= 1
        if line.dirty == 0:
            sm.l1_dirty_lines -= 1
    line.state[s] = PENDING
    line.pending += 1


@compiled
def store(gpu: Record, packets: Table, port: Record, sm: Record, entry: Record, warp: int, now: int) -> bool:
    """Write through; allocate the line without fetching it. False: must be tried again."""
    line_number = entry.address >> 7
    cache_set = line_number & (gpu.l1_sets - 1)
    s = (entry.address >> 5) & 3
    kind = (entry.flags & LOCAL_FLAG) + counters.TYPE_WRITE
    x = find_line(sm, line_number)
    found = x >= 0
    if not found:
        x = find_victim(gpu, sm, cache_set)
        if x < 0:
            _fail(sm, kind, counters.LINE_ALLOC_FAIL)
            return False
    if sm.misses.count >= gpu.l1_miss_queue or port.free_count == 0:
        _fail(sm, kind, counters.MISS_QUEUE_FULL)
        return False
    changed(sm)
    if not found:
        replace(sm, x, line_number)
    state = sm.line[x].state[s]
    count_outcome(sm, kind, counters.HIT if state >= VALID else outcome_of_miss(state, found))
    _mark_written(sm, sm.line[x], s, entry.byte_mask)
    touch(sm, cache_set, x, now)
    _queue_miss(gpu, packets, port, sm, entry, STORE, warp)
    return True


@compiled
def _mark_written(sm: Record, line: Record, s: int, byte_mask: int) -> None:
    state = line.state[s]
    if state < DIRTY:
        _add_dirty_sector(sm, line)
    if state == PENDING:
        line.pending -= 1
        line.ignore |= np.uint8(1 << s)
    line.written[s] |= np.uint32(byte_mask)
    line.state[s] = state_after_write(state, line.written[s])


@compiled
def _add_dirty_sector(sm: Record, line: Record) -> None:
    if line.dirty == 0:
        sm.l1_dirty_lines += 1
    line.dirty += 1


@compiled
def _join(sm: Record, mshr: int, load_slot: int) -> None:
    """The load waits at the MSHR."""
    node = sm.l1_free_waiter
    sm.l1_free_waiter = follower(node, sm.waiter[node].next)
    sm.waiter[node].load = load_slot
    if sm.mshr[mshr].count == 0:
        sm.mshr[mshr].head = node
    else:
        sm.waiter[sm.mshr[mshr].tail].next = node
    sm.mshr[mshr].tail = node
    sm.mshr[mshr].count += 1


@compiled
def _queue_miss(
    gpu: Record, packets: Table, port: Record, sm: Record, entry: Record, kind: int, reference: int
) -> None:
    index = new_packet(gpu, packets, port, sm, entry.address, kind, reference)
    packets[index].byte_mask = entry.byte_mask
    packets[index].flags = entry.flags & LOCAL_FLAG
    push(packets, sm.misses, index)


@compiled
def new_packet(gpu: Record, packets: Table, port: Record, sm: Record, address: int, kind: int, reference: int) -> int:
    """A request of this SM, with the slice and set it goes to."""
    index = take_free(packets, port)
    packet = packets[index]
    packet.address = address
    packet.kind = kind
    packet.sm = sm.index
    packet.reference = reference
    packet.flags = 0
    packet.byte_mask = 0
    packet.slice = slice_of(gpu, address)
    packet.set = l2_set_of(gpu, address)
    packet.line = (packet.slice * gpu.l2_sets + packet.set) * gpu.l2_ways
    return index


@compiled
def send_miss(packets: Table, port: Record, sm: Record, cycle: int) -> None:
    """The miss queue's head leaves for the crossbar, which may pass it on from (global) ``cycle`` on."""
    changed(sm)
    index = pop(packets, sm.misses)
    packets[index].time = cycle
    push(packets, port.sent, index)


@compiled
def fill(sm: Record, mshr: int) -> None:
    """A reply came: its sector can be read and the loads that wait for it complete, one a cycle."""
    sector = sm.mshr[mshr].sector
    x = find_line(sm, sector >> 2)
    s = sector & 3
    if x >= 0:
        line = sm.line[x]
        written = (line.ignore >> s) & 1
        line.ignore &= ~np.uint8(1 << s)
        if line.state[s] == PENDING:
            line.pending -= 1
            line.state[s] = DIRTY if written else VALID
            if written:
                _add_dirty_sector(sm, line)
        elif written:
            line.state[s] = DIRTY
    mshrs.data_came(sm, mshr)
    prefetch(sm.waiter, sm.mshr[mshr].head)


@compiled
def next_filled(sm: Record) -> int:
    """Load slot of the next access whose data have come."""
    changed(sm)
    index = mshrs.first_filled(sm)
    mshr = sm.mshr[index]
    node = mshr.head
    load_slot = sm.waiter[node].load
    sm.load[load_slot].level = max(sm.load[load_slot].level, mshr.level)
    mshr.head = sm.waiter[node].next
    sm.waiter[node].next = distance(node, sm.l1_free_waiter)
    sm.l1_free_waiter = node
    mshrs.served(sm, index)
    return load_slot


@compiled
def invalidate(gpu: Record, sm: Record, ways: int) -> None:
    """Empty the cache and give it ``ways`` ways: between kernels, and whenever the carve-out changes."""
    changed(sm)
    invalidate_lines(gpu, sm, ways)


@compiled
def end_membar(gpu: Record, sm: Record) -> None:
    """A MEMBAR ended: the cache is empty."""
    changed(sm)
    invalidate_what_came(gpu, sm)
