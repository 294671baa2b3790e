"""What is counted, and the name Accel-Sim gives it.

Counters live in one array per SM, per L2 slice and per DRAM channel; after a kernel they are summed (:func:`named_counters`).
Caches count by access type and outcome, and failed look-ups (repeated every cycle, as in Accel-Sim) by cause.
"""

from collections.abc import Sequence

ACCESS_TYPES = ("GLOBAL_ACC_R", "LOCAL_ACC_R", "GLOBAL_ACC_W", "LOCAL_ACC_W")
TYPE_WRITE = 2
"""Added to the type (0 global, 1 local) of a store."""
OUTCOMES = ("HIT", "HIT_RESERVED", "MISS", "RESERVATION_FAIL", "SECTOR_MISS", "MSHR_HIT")
HIT, HIT_RESERVED, MISS, RESERVATION_FAIL, SECTOR_MISS, MSHR_HIT = range(6)
FAILURES = ("LINE_ALLOC_FAIL", "MISS_QUEUE_FULL", "MSHR_ENRTY_FAIL", "MSHR_MERGE_ENRTY_FAIL")
LINE_ALLOC_FAIL, MISS_QUEUE_FULL, MSHR_ENTRY_FAIL, MSHR_MERGE_FAIL = range(4)

_TYPES = len(ACCESS_TYPES)
CACHE_OUTCOMES = 0
CACHE_FAILURES = CACHE_OUTCOMES + _TYPES * len(OUTCOMES)
CACHE_COUNTERS = CACHE_FAILURES + _TYPES * len(FAILURES)

SM_COUNTERS = CACHE_COUNTERS + 15
# Of an SM, after its L1's.
(
    WARP_INSTRUCTIONS,
    SHARED_CONFLICTS,
    L1_BANK_CONFLICTS,
    PACKETS_READ,
    PACKETS_WRITTEN,
    LOCAL_PACKETS_READ,
    LOCAL_PACKETS_WRITTEN,
    REPLIES,
    SHARED_STALLS,
    VISITED_CYCLES,
    REQUESTS,
    COUNTED_TWICE,
    NEVER_COUNTED,
    ACTIVE_CYCLES,
    RESIDENT_WARP_CYCLES,
) = range(CACHE_COUNTERS, SM_COUNTERS)
"""ACTIVE_CYCLES: with a CTA. RESIDENT_WARP_CYCLES: of each warp from its CTA's start to its own end. COUNTED_TWICE: LDGSTS;
NEVER_COUNTED: shared-memory atomics without a destination. Accel-Sim's warp instruction count has them so."""

# Channel counters.
DRAM_READS, DRAM_WRITES, ACTIVATES, PRECHARGES, ATOMS_READ, ATOMS_WRITTEN = range(6)
CHANNEL_COUNTERS = 6


_OUTCOME_LABELS = [f"[{kind}][{outcome}]" for kind in ACCESS_TYPES for outcome in OUTCOMES]
_FAILURE_LABELS = [f"[{kind}][{cause}]" for kind in ACCESS_TYPES for cause in FAILURES]
"""In the order of the counters."""


def cache_counters(prefix: str, fail_prefix: str, counts: Sequence[int]) -> dict[str, float]:
    """``{prefix}[TYPE][OUTCOME]`` and ``{fail_prefix}[TYPE][CAUSE]`` as Accel-Sim prints them."""
    outcomes = zip(_OUTCOME_LABELS, counts[CACHE_OUTCOMES:CACHE_FAILURES], strict=True)
    failures = zip(_FAILURE_LABELS, counts[CACHE_FAILURES:CACHE_COUNTERS], strict=True)
    named: dict[str, float] = {prefix + label: count for label, count in outcomes}
    return named | {fail_prefix + label: count for label, count in failures if count}


def cache_totals(prefix: str, counts: Sequence[int]) -> dict[str, float]:
    """``{prefix}_total_cache_accesses`` and its kin."""
    by_outcome = [sum(counts[outcome : CACHE_FAILURES : len(OUTCOMES)]) for outcome in range(len(OUTCOMES))]
    misses = by_outcome[MISS] + by_outcome[SECTOR_MISS]
    accesses = misses + by_outcome[HIT] + by_outcome[HIT_RESERVED]
    return {
        f"{prefix}_total_cache_accesses": accesses,
        f"{prefix}_total_cache_misses": misses,
        f"{prefix}_total_cache_miss_rate": misses / accesses if accesses else 0.0,
        f"{prefix}_total_cache_pending_hits": by_outcome[HIT_RESERVED],
        f"{prefix}_total_cache_reservation_fails": by_outcome[RESERVATION_FAIL],
    }
