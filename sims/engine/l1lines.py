"""Lines of an SM's L1: how they are found, which was used last, which gives way (section 5).

Lines lie in a hash table and, per set, in a list from newest to oldest (a set has up to 256 ways). Lines touched in the
same cycle are ordered by way, as Accel-Sim's search for the smallest time stamp finds them.

Replacement policy: :func:`find_victim` and :func:`touch` are the only places that know it. Twin: tests/engine/twins/l1.py.
"""

import numpy as np

from sims.engine import mshrs
from sims.engine.jit import Record, compiled
from sims.engine.pointers import prefetch
from sims.engine.sectors import INVALID, PENDING, SECTORS_PER_LINE
from sims.engine.smstate import L1_BUCKETS


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
def prefetch_line(sm: Record, line_number: int) -> None:
    """The line will be looked for."""
    x = sm.l1_bucket[bucket_of(sm, line_number)]
    if x >= 0:
        prefetch(sm.line, x)


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
    _put_next(sm, cache_set, newer, x)
    _put_next(sm, cache_set, x, older)


@compiled
def _unlink(sm: Record, cache_set: int, x: int) -> None:
    _put_next(sm, cache_set, sm.line[x].newer, sm.line[x].older)


@compiled
def _put_next(sm: Record, cache_set: int, newer: int, older: int) -> None:
    """Line ``older`` comes right after ``newer``; -1 on either side is the list's end."""
    if newer >= 0:
        sm.line[newer].older = older
    else:
        sm.l1_newest[cache_set] = older
    if older >= 0:
        sm.line[older].newer = newer
    else:
        sm.l1_oldest[cache_set] = newer


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
def replace(sm: Record, x: int, line_number: int) -> None:
    """Give way ``x`` to a new line. What was written of the old one has been sent on long ago."""
    line = sm.line[x]
    if line.tag >= 0:
        _remove_from_bucket(sm, x)
        for s in range(SECTORS_PER_LINE):
            _leave_mshr(sm, line, s)
    if line.dirty:
        sm.l1_dirty_lines -= 1
    line.dirty = 0
    _empty(line)
    line.tag = line_number
    bucket = bucket_of(sm, line_number)
    line.chain = sm.l1_bucket[bucket]
    sm.l1_bucket[bucket] = x


@compiled
def _leave_mshr(sm: Record, line: Record, s: int) -> None:
    """What the sector waits for, if anything, will find no line."""
    if mshrs.lives(sm, line.mshr[s], line.tag * SECTORS_PER_LINE + s):
        mshrs.orphan(sm, line.mshr[s])
    line.mshr[s] = -1


@compiled
def _empty(line: Record) -> None:
    line.ignore = 0
    for s in range(SECTORS_PER_LINE):
        line.state[s] = INVALID
        line.written[s] = 0
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
def invalidate_lines(gpu: Record, sm: Record, ways: int) -> None:
    """All lines are gone, and each set has ``ways`` ways now; whose data are on their way is an orphan."""
    in_order = ways == sm.l1_ways and not sm.l1_reordered
    sm.l1_ways = ways
    sm.l1_reordered = 0
    sm.l1_dirty_lines = 0
    buckets = 1
    while buckets < 2 * gpu.l1_sets * ways and buckets < L1_BUCKETS:
        buckets *= 2
    sm.l1_bucket_mask = buckets - 1
    for bucket in range(buckets):
        sm.l1_bucket[bucket] = -1
    for cache_set in range(gpu.l1_sets):
        if not in_order or sm.line[sm.l1_newest[cache_set]].stamp >= 0:
            _invalidate_set(sm, cache_set)
    sm.l1_known_lines = max(sm.l1_known_lines, gpu.l1_sets * ways)
    for index in range(gpu.l1_mshrs if sm.live_mshrs > 0 else 0):
        if sm.mshr[index].count > 0:
            mshrs.orphan(sm, index)


@compiled
def _invalidate_set(sm: Record, cache_set: int) -> None:
    first = cache_set * sm.l1_ways
    end = first + sm.l1_ways
    sm.l1_newest[cache_set] = first
    sm.l1_oldest[cache_set] = end - 1
    for x in range(first, end):
        line = sm.line[x]
        line.stamp = -1
        line.newer = x - 1 if x > first else -1
        line.older = x + 1 if x + 1 < end else -1
        # A line that was never used, or has been emptied, is as it should be.
        if line.tag >= 0 or x >= sm.l1_known_lines:
            line.tag = -1
            line.pending = 0
            line.dirty = 0
            _empty(line)


@compiled
def invalidate_what_came(gpu: Record, sm: Record) -> None:
    """Empty the lines in the middle of a kernel. Data on their way will be in them."""
    sm.l1_dirty_lines = 0
    sm.l1_reordered = 1
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
    for s in range(SECTORS_PER_LINE):
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
    _put_next(sm, cache_set, sm.l1_oldest[cache_set], x)
    _put_next(sm, cache_set, x, -1)
