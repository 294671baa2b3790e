"""What is counted, and the name Accel-Sim gives it.

Counters live in one array per SM, per L2 slice and per DRAM channel; after a kernel they are summed (:func:`named_counters`).
Caches count by access type and outcome, and failed look-ups (repeated every cycle, as in Accel-Sim) by cause.
"""

import numpy as np
from numpy.typing import NDArray

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


def cache_counters(prefix: str, fail_prefix: str, counts: NDArray[np.int64]) -> dict[str, float]:
    """``{prefix}[TYPE][OUTCOME]`` and ``{fail_prefix}[TYPE][CAUSE]`` as Accel-Sim prints them."""
    values: dict[str, float] = {}
    for t, kind in enumerate(ACCESS_TYPES):
        for o, outcome in enumerate(OUTCOMES):
            values[f"{prefix}[{kind}][{outcome}]"] = int(counts[CACHE_OUTCOMES + t * len(OUTCOMES) + o])
        for f, cause in enumerate(FAILURES):
            failed = int(counts[CACHE_FAILURES + t * len(FAILURES) + f])
            if failed:
                values[f"{fail_prefix}[{kind}][{cause}]"] = failed
    return values


def cache_totals(prefix: str, counts: NDArray[np.int64]) -> dict[str, float]:
    """``{prefix}_total_cache_accesses`` and its kin."""
    by_type = counts[CACHE_OUTCOMES:CACHE_FAILURES].reshape(_TYPES, len(OUTCOMES))
    misses = int(by_type[:, [MISS, SECTOR_MISS]].sum())
    accesses = misses + int(by_type[:, [HIT, HIT_RESERVED]].sum())
    return {
        f"{prefix}_total_cache_accesses": accesses,
        f"{prefix}_total_cache_misses": misses,
        f"{prefix}_total_cache_miss_rate": misses / accesses if accesses else 0.0,
        f"{prefix}_total_cache_pending_hits": int(by_type[:, HIT_RESERVED].sum()),
        f"{prefix}_total_cache_reservation_fails": int(by_type[:, RESERVATION_FAIL].sum()),
    }
