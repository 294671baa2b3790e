"""The L1 data cache of one SM (section 5).

Sector cache of 128 B lines, write-through, allocating on misses and stores without fetching, least recently used, look-ups
at the head of the bank queues. A stored sector becomes readable when all its 32 bytes have been written or its fill has
come. Misses take an MSHR (key: sector; further loads of the sector join it, up to a limit) and a place in the miss queue,
which sends one packet a cycle. A look-up that cannot be served fails and is repeated every cycle; until then its bank is
blocked. Each repetition counts, but nothing is looked up again before ``l1_version`` says that something has changed.

Lines lie in a hash table and, per set, in a list from newest to oldest (a set has up to 256 ways). Lines touched in the
same cycle are ordered by way, as Accel-Sim's search for the smallest time stamp finds them.

Replacement policy: :func:`find_victim` and :func:`touch` are the only places that know it.
Microbenchmarks: ``l1_basic``, ``l1_capacity``, ``l1_store``, ``l1_miss_stream``, ``l1_misc``. Twin: tests/engine/twins/l1.py.
"""

import numpy as np

from sims.engine import counters
from sims.engine.addresses import l2_set_of, slice_of
from sims.engine.jit import Record, Table, compiled
from sims.engine.packets import LOAD, STORE, push, take_free
from sims.engine.parameters import MAX_L1_MSHRS
from sims.engine.smstate import L1_BUCKETS

INVALID, PENDING, VALID, DIRTY, PARTIAL = range(5)
"""States of a sector. DIRTY can be read; PARTIAL was written in part and cannot."""

FULL_SECTOR = 0xFFFFFFFF


@compiled
def bucket_of(sm: Record, line_number: int) -> int:
    """Hash bucket of a line."""
    return (line_number ^ (line_number >> 11)) & sm.l1_bucket_mask


@compiled
def find_line(sm: Record, line_number: int) -> int:
    """The way that holds the line, or -1."""
    x = np.int64(sm.l1_bucket[bucket_of(sm, line_number)])
    while x >= 0 and sm.line[x].tag != line_number:
        x = np.int64(sm.line[x].chain)
    return x


@compiled
def _unlink(sm: Record, cache_set: int, x: int) -> None:
    older, newer = sm.line[x].older, sm.line[x].newer
    if newer >= 0:
        sm.line[newer].older = older
    else:
        sm.l1_newest[cache_set] = older
    if older >= 0:
        sm.line[older].newer = newer
    else:
        sm.l1_oldest[cache_set] = newer


@compiled
def touch(sm: Record, cache_set: int, x: int, now: int) -> None:
    """The line was used in cycle ``now``."""
    line = sm.line[x]
    if line.stamp == now:
        return
    line.stamp = now
    _unlink(sm, cache_set, x)
    newer = np.int64(-1)
    older = np.int64(sm.l1_newest[cache_set])
    while older >= 0 and sm.line[older].stamp == now and older > x:
        newer = older
        older = np.int64(sm.line[older].older)
    line.newer = newer
    line.older = older
    if newer >= 0:
        sm.line[newer].older = x
    else:
        sm.l1_newest[cache_set] = x
    if older >= 0:
        sm.line[older].newer = x
    else:
        sm.l1_oldest[cache_set] = x


@compiled
def find_victim(gpu: Record, sm: Record, cache_set: int) -> int:
    """Oldest line without a pending sector; a dirty one only when enough of the cache is dirty. -1: none."""
    lines = gpu.l1_sets * sm.l1_ways
    dirty_allowed = sm.l1_dirty_lines * 100 >= gpu.l1_write_percent * lines
    x = np.int64(sm.l1_oldest[cache_set])
    while x >= 0 and (sm.line[x].pending or (sm.line[x].dirty and not dirty_allowed)):
        x = np.int64(sm.line[x].newer)
    return x


@compiled
def _replace(sm: Record, x: int, line_number: int) -> None:
    line = sm.line[x]
    if line.tag >= 0:
        _remove_from_bucket(sm, x)
        for s in range(4):
            _leave_mshr(sm, line, s)
    if line.dirty:
        sm.l1_dirty_lines -= 1
    line.dirty = 0
    line.ignore = 0
    for s in range(4):
        line.state[s] = INVALID
        line.written[s] = 0
        line.mshr[s] = -1
    line.tag = line_number
    bucket = bucket_of(sm, line_number)
    line.chain = sm.l1_bucket[bucket]
    sm.l1_bucket[bucket] = x


@compiled
def _leave_mshr(sm: Record, line: Record, s: int) -> None:
    """What the sector waits for, if anything, will find no line."""
    if _mshr_lives(sm, line.mshr[s], line.tag * 4 + s):
        sm.mshr[line.mshr[s]].orphan = 1
        sm.l1_orphans += 1
    line.mshr[s] = -1


@compiled
def _remove_from_bucket(sm: Record, x: int) -> None:
    bucket = bucket_of(sm, sm.line[x].tag)
    y = np.int64(sm.l1_bucket[bucket])
    if y == x:
        sm.l1_bucket[bucket] = sm.line[x].chain
        return
    while sm.line[y].chain != x:
        y = np.int64(sm.line[y].chain)
    sm.line[y].chain = sm.line[x].chain


@compiled
def _mshr_lives(sm: Record, index: int, sector: int) -> bool:
    return index >= 0 and sm.mshr[index].count > 0 and sm.mshr[index].sector == sector


@compiled
def find_mshr(gpu: Record, sm: Record, x: int, sector: int) -> int:
    """MSHR of the sector or -1. Its line knows it, unless the line was replaced while the data were on their way."""
    if x >= 0 and _mshr_lives(sm, sm.line[x].mshr[sector & 3], sector):
        return np.int64(sm.line[x].mshr[sector & 3])
    if sm.l1_orphans > 0:
        for index in range(gpu.l1_mshrs):
            if _mshr_lives(sm, index, sector):
                return index
    return np.int64(-1)


@compiled
def _fail(sm: Record, access_type: int, cause: int) -> bool:
    sm.l1_failure = access_type * len(counters.FAILURES) + cause
    count_failure(sm, sm.l1_failure, 1)
    return False


@compiled
def count_failure(sm: Record, failure: int, times: int) -> None:
    """``times`` look-ups that failed alike; ``failure`` is an access type and a cause in one number."""
    access_type = failure // len(counters.FAILURES)
    sm.counter[counters.CACHE_OUTCOMES + access_type * len(counters.OUTCOMES) + counters.RESERVATION_FAIL] += times
    sm.counter[counters.CACHE_FAILURES + failure] += times


@compiled
def changed(sm: Record) -> None:
    """Something that a look-up depends on is different now: failed ones have to be tried again."""
    sm.l1_version += 1


@compiled
def _count(sm: Record, access_type: int, outcome: int) -> None:
    sm.counter[counters.CACHE_OUTCOMES + access_type * 6 + outcome] += 1


@compiled
def load(gpu: Record, packets: Table, port: Record, sm: Record, entry: Record, now: int) -> int:
    """Look up a load. Returns 1 for a hit, 0 when it now waits for its data, -1 when it must be tried again."""
    sector = entry.address >> 5
    line_number = entry.address >> 7
    cache_set = line_number & (gpu.l1_sets - 1)
    s = sector & 3
    kind = entry.flags & 1
    x = find_line(sm, line_number)
    state = sm.line[x].state[s] if x >= 0 else INVALID
    if state == VALID or state == DIRTY:
        changed(sm)
        touch(sm, cache_set, x, now)
        _count(sm, kind, counters.HIT)
        return 1
    victim = x
    if x < 0:
        victim = find_victim(gpu, sm, cache_set)
        if victim < 0:
            _fail(sm, kind, counters.LINE_ALLOC_FAIL)
            return -1
    if sm.miss_count + 1 >= gpu.l1_miss_queue or port.free_count == 0:
        _fail(sm, kind, counters.MISS_QUEUE_FULL)
        return -1
    mshr = find_mshr(gpu, sm, x, sector)
    if mshr >= 0:
        if sm.mshr[mshr].count >= gpu.l1_merges or sm.l1_free_waiter < 0:
            _fail(sm, kind, counters.MSHR_MERGE_FAIL)
            return -1
        changed(sm)
        if state == PARTIAL and not sm.mshr[mshr].orphan:
            _await_data(sm, x, s)
        if state == PENDING or state == PARTIAL:
            touch(sm, cache_set, x, now)
        _count(sm, kind, counters.MSHR_HIT)
        _count(
            sm, kind, counters.HIT_RESERVED if state == PENDING else counters.SECTOR_MISS if x >= 0 else counters.MISS
        )
        _join(sm, mshr, entry.reference)
        return 0
    if sm.l1_live_mshrs >= gpu.l1_mshrs or sm.l1_free_waiter < 0:
        _fail(sm, kind, counters.MSHR_ENTRY_FAIL)
        return -1
    changed(sm)
    _count(sm, kind, counters.MISS if x < 0 else counters.SECTOR_MISS)
    if x < 0:
        _replace(sm, victim, line_number)
    _await_data(sm, victim, s)
    touch(sm, cache_set, victim, now)
    mshr = _new_mshr(sm, sector)
    sm.line[victim].mshr[s] = mshr
    _join(sm, mshr, entry.reference)
    _queue_miss(gpu, packets, port, sm, entry, LOAD, mshr)
    return 0


@compiled
def _await_data(sm: Record, x: int, s: int) -> None:
    """The sector waits for its data; what was written to it stays dirty."""
    line = sm.line[x]
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
    kind = (entry.flags & 1) + counters.TYPE_WRITE
    x = find_line(sm, line_number)
    found = x >= 0
    if not found:
        x = find_victim(gpu, sm, cache_set)
        if x < 0:
            return _fail(sm, kind, counters.LINE_ALLOC_FAIL)
    if sm.miss_count >= gpu.l1_miss_queue or port.free_count == 0:
        return _fail(sm, kind, counters.MISS_QUEUE_FULL)
    changed(sm)
    if not found:
        _replace(sm, x, line_number)
    line = sm.line[x]
    state = line.state[s]
    hit = state >= VALID
    if hit:
        _count(sm, kind, counters.HIT)
    elif state == PENDING:
        _count(sm, kind, counters.HIT_RESERVED)
    else:
        _count(sm, kind, counters.SECTOR_MISS if found else counters.MISS)
    _mark_written(sm, line, s, entry.byte_mask, hit)
    touch(sm, cache_set, x, now)
    _queue_miss(gpu, packets, port, sm, entry, STORE, warp)
    return True


@compiled
def _mark_written(sm: Record, line: Record, s: int, byte_mask: int, hit: bool) -> None:
    state = line.state[s]
    if state < DIRTY:
        if line.dirty == 0:
            sm.l1_dirty_lines += 1
        line.dirty += 1
    if state == PENDING:
        line.pending -= 1
        line.ignore |= np.uint8(1 << s)
    line.written[s] |= np.uint32(byte_mask)
    readable = state == VALID or state == DIRTY
    if not hit:
        readable = byte_mask == FULL_SECTOR
    if readable or line.written[s] == FULL_SECTOR:
        line.state[s] = DIRTY
    else:
        line.state[s] = PARTIAL


@compiled
def _new_mshr(sm: Record, sector: int) -> int:
    index = np.int64(sm.l1_free_mshr)
    sm.l1_free_mshr = sm.mshr[index].head
    mshr = sm.mshr[index]
    mshr.sector = sector
    mshr.count = 0
    mshr.orphan = 0
    sm.l1_live_mshrs += 1
    return index


@compiled
def _join(sm: Record, mshr: int, load_slot: int) -> None:
    node = sm.l1_free_waiter
    sm.l1_free_waiter = sm.waiter[node].next
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
    packets[index].flags = entry.flags & 1
    if sm.miss_count == 0:
        sm.miss_head = index
    else:
        packets[sm.miss_tail].next = index
    sm.miss_tail = index
    sm.miss_count += 1


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
    return index


@compiled
def send_miss(packets: Table, port: Record, sm: Record, cycle: int) -> None:
    """The miss queue's head leaves for the crossbar, which may pass it on from (global) ``cycle`` on."""
    changed(sm)
    index = sm.miss_head
    sm.miss_head = packets[index].next
    sm.miss_count -= 1
    packets[index].time = cycle
    push(packets, port.requests, index)


@compiled
def fill(sm: Record, mshr: int) -> None:
    """A reply came: its sector is valid and the loads that wait for it complete, one a cycle."""
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
                sm.l1_dirty_lines += line.dirty == 0
                line.dirty += 1
        elif written:
            line.state[s] = DIRTY
    sm.filled[(sm.filled_head + sm.filled_count) & (MAX_L1_MSHRS - 1)] = mshr
    sm.filled_count += 1


@compiled
def next_filled(sm: Record) -> int:
    """Load slot of the next access whose data have come."""
    changed(sm)
    index = np.int64(sm.filled[sm.filled_head])
    mshr = sm.mshr[index]
    node = mshr.head
    load_slot = sm.waiter[node].load
    sm.load[load_slot].level = max(sm.load[load_slot].level, mshr.level)
    mshr.head = sm.waiter[node].next
    mshr.count -= 1
    sm.waiter[node].next = sm.l1_free_waiter
    sm.l1_free_waiter = node
    if mshr.count == 0:
        sm.filled_head = (sm.filled_head + 1) & (MAX_L1_MSHRS - 1)
        sm.filled_count -= 1
        sm.l1_live_mshrs -= 1
        sm.l1_orphans -= mshr.orphan
        mshr.head = sm.l1_free_mshr
        sm.l1_free_mshr = index
    return load_slot


@compiled
def invalidate(gpu: Record, sm: Record, ways: int) -> None:
    """Empty the cache and give it ``ways`` ways: between kernels, and whenever the carve-out changes."""
    changed(sm)
    sm.l1_ways = ways
    sm.l1_dirty_lines = 0
    buckets = 1
    while buckets < 2 * gpu.l1_sets * ways and buckets < L1_BUCKETS:
        buckets *= 2
    sm.l1_bucket_mask = buckets - 1
    for bucket in range(buckets):
        sm.l1_bucket[bucket] = -1
    for cache_set in range(gpu.l1_sets):
        first = cache_set * ways
        sm.l1_newest[cache_set] = first
        sm.l1_oldest[cache_set] = first + ways - 1
        for x in range(first, first + ways):
            line = sm.line[x]
            line.tag = -1
            line.stamp = -1
            line.newer = x - 1 if x > first else -1
            line.older = x + 1 if x + 1 < first + ways else -1
            line.pending = 0
            line.dirty = 0
            line.ignore = 0
            for s in range(4):
                line.state[s] = INVALID
                line.written[s] = 0
                line.mshr[s] = -1
    for index in range(gpu.l1_mshrs if sm.l1_live_mshrs > 0 else 0):
        if sm.mshr[index].count > 0 and not sm.mshr[index].orphan:
            sm.mshr[index].orphan = 1
            sm.l1_orphans += 1


@compiled
def invalidate_what_came(gpu: Record, sm: Record) -> None:
    """Empty the cache in the middle of a kernel. Data on their way will be in it."""
    changed(sm)
    sm.l1_dirty_lines = 0
    for cache_set in range(gpu.l1_sets):
        if sm.line[sm.l1_newest[cache_set]].stamp < 0:
            continue
        first = cache_set * sm.l1_ways
        for x in range(first, first + sm.l1_ways):
            if sm.line[x].tag >= 0:
                _drop_sectors(sm, x)
            if sm.line[x].tag < 0:
                _make_oldest(sm, cache_set, x)


@compiled
def _drop_sectors(sm: Record, x: int) -> None:
    line = sm.line[x]
    line.dirty = 0
    for s in range(4):
        if line.state[s] != PENDING:
            _leave_mshr(sm, line, s)
            line.state[s] = INVALID
            line.written[s] = 0
            line.ignore &= ~np.uint8(1 << s)
    if line.pending == 0:
        _remove_from_bucket(sm, x)
        line.tag = -1
        line.stamp = -1


@compiled
def _make_oldest(sm: Record, cache_set: int, x: int) -> None:
    if sm.l1_oldest[cache_set] == x:
        return
    _unlink(sm, cache_set, x)
    line = sm.line[x]
    line.older = -1
    line.newer = sm.l1_oldest[cache_set]
    sm.line[line.newer].older = x
    sm.l1_oldest[cache_set] = x
