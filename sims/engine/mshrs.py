"""Miss status holding registers (MSHRs) of a cache: which sectors are on their way, and whose data have come (sections 5, 6).

``cache`` is the record of an SM (its L1) or of an L2 slice; both have the same fields for this. A line knows the MSHRs of its
sectors; one whose line was replaced while the data were on their way is an *orphan* and has to be searched for. Data that have
come wait in order until all who asked for them have been served, one a cycle: what those are (load slots of an SM, packets of a
slice) and how they are chained is the cache's own affair.
"""

import numpy as np

from sims.engine.freelist import distance, follower
from sims.engine.jit import Record, compiled
from sims.engine.pointers import prefetch


@compiled
def lives(cache: Record, index: int, sector: int) -> bool:
    """Whether MSHR ``index`` (-1 for none) is the sector's: a line may still name one that has been used again since."""
    return index >= 0 and cache.mshr[index].count > 0 and cache.mshr[index].sector == sector


@compiled
def find(cache: Record, known: int, entries: int, sector: int) -> int:
    """MSHR of the sector or -1: the one that its line knows (-1 without a line), else an orphan among the ``entries``."""
    if lives(cache, known, sector):
        return np.int64(known)
    if cache.orphans > 0:
        for index in range(entries):
            if lives(cache, index, sector):
                return index
    return np.int64(-1)


@compiled
def take(cache: Record, sector: int) -> int:
    """A free MSHR, of which there must be one, for ``sector``; nobody waits at it yet."""
    index = np.int64(cache.free_mshr)
    mshr = cache.mshr[index]
    cache.free_mshr = follower(index, mshr.head)
    prefetch(cache.mshr, cache.free_mshr)
    mshr.sector = sector
    mshr.count = 0
    mshr.orphan = 0
    cache.live_mshrs += 1
    return index


@compiled
def orphan(cache: Record, index: int) -> None:
    """The line of a live MSHR is gone."""
    if not cache.mshr[index].orphan:
        cache.mshr[index].orphan = 1
        cache.orphans += 1


@compiled
def data_came(cache: Record, index: int) -> None:
    """The sector's data are there: it queues to be served."""
    cache.filled[(cache.filled_head + cache.filled_count) & (len(cache.filled) - 1)] = index
    cache.filled_count += 1


@compiled
def first_filled(cache: Record) -> int:
    """The MSHR whose data came first of those that are being served."""
    return np.int64(cache.filled[cache.filled_head])


@compiled
def served(cache: Record, index: int) -> None:
    """One of those who wait at it, the first filled, has its data; after the last it is free."""
    mshr = cache.mshr[index]
    mshr.count -= 1
    if mshr.count > 0:
        return
    cache.filled_head = (cache.filled_head + 1) & (len(cache.filled) - 1)
    cache.filled_count -= 1
    cache.live_mshrs -= 1
    cache.orphans -= mshr.orphan
    mshr.head = distance(index, cache.free_mshr)
    cache.free_mshr = index
