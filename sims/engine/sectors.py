"""Sectors of both caches: the states they go through, and what a look-up counts as (sections 5, 6)."""

from sims.engine import counters
from sims.engine.jit import Record, compiled

INVALID, PENDING, VALID, DIRTY, PARTIAL = range(5)
"""States of a sector. DIRTY can be read; PARTIAL was written in part and cannot."""

FULL_SECTOR = 0xFFFFFFFF
"""Mask of all bytes of a sector."""
SECTORS_PER_LINE = 4


@compiled
def is_readable(state: int) -> bool:
    """Whether a load of the sector hits."""
    return state == VALID or state == DIRTY


@compiled
def state_after_write(state: int, written: int) -> int:
    """What was not readable becomes so when all its bytes have been written; ``written`` is their mask so far."""
    return DIRTY if is_readable(state) or written == FULL_SECTOR else PARTIAL


@compiled
def outcome_of_miss(state: int, has_line: bool) -> int:
    """A miss by what there is: the sector on its way, the line without it, or nothing."""
    if state == PENDING:
        return counters.HIT_RESERVED
    return counters.SECTOR_MISS if has_line else counters.MISS


@compiled
def count_outcome(cache: Record, access_type: int, outcome: int) -> None:
    """A look-up of the SM's or slice's cache."""
    cache.counter[counters.CACHE_OUTCOMES + access_type * len(counters.OUTCOMES) + outcome] += 1


@compiled
def count_failure(cache: Record, access_type: int, cause: int, times: int) -> None:
    """``times`` look-ups that failed alike and will be repeated."""
    cache.counter[counters.CACHE_OUTCOMES + access_type * len(counters.OUTCOMES) + counters.RESERVATION_FAIL] += times
    cache.counter[counters.CACHE_FAILURES + access_type * len(counters.FAILURES) + cause] += times
