"""One stats block: what a simulator printed when a kernel (or several that ran together) ended."""

from dataclasses import dataclass, field
from typing import Any

from sims.statlog.lines import Number, Pairs
from sims.statlog.rules import CELL, COUNTER, INDEXED, PER_STREAM, RULES, is_counter, learn_rule

SECTOR_BYTES = 32
"""What one DRAM read or write moves: Accel-Sim counts them in sectors."""

NO_STREAM = 2**32
"""Printed stream ids from here on are pointers or garbage; only a launch line can vouch for one."""


@dataclass
class KernelBlock:
    """One stats block. ``names`` and ``uids`` have one entry per kernel that ended; both empty for an idle interval.

    ``cycles`` are the block's: several kernels in one block share them. What was missing or no number is None.
    """

    index: int
    """From 1, in the order of the log."""
    line: int
    """Of its first line, from 1."""
    names: list[str] | None
    """None where the log has no kernel names at all (a grep of cycle counts)."""
    uids: list[int]
    stream: int | None
    stats: dict[str, Number] = field(default_factory=dict)
    """Every line's value for this kernel: counters as differences to the block before, everything else as printed."""
    cumulative: dict[str, Number] = field(default_factory=dict)
    """Counters and ratios as printed, since the run's start; without those that are indexed."""
    cycles_by_uid: dict[int, int] = field(default_factory=dict)
    """Each kernel's own cycles, where a fork prints them for kernels that ran together."""
    same_as: int | None = None
    """The kernel (index from 1) whose result stands in for this one, from our own simulator."""
    texts: dict[str, str] = field(default_factory=dict)
    """What our own simulator says in words, by name: ``cascade_limiter``."""
    configured_launch_cycles: int | None = None
    complete: bool = True
    """False if the log ended inside the block."""

    @property
    def is_kernel(self) -> bool:
        """Whether a kernel ended; Accel-Sim also prints blocks for idle intervals."""
        return self.names is None or bool(self.names or self.uids)

    @property
    def name(self) -> str:
        """The kernels' names, joined where there are several; empty where there is none."""
        return " ".join(self.names or [])

    @property
    def launch_uid(self) -> int | None:
        """The first kernel's launch number."""
        return self.uids[0] if self.uids else None

    @property
    def cycles(self) -> int | None:
        """Core cycles, launch latency included."""
        return _whole(self.stats.get("gpu_sim_cycle"))

    @property
    def instructions(self) -> int | None:
        """Thread instructions."""
        return _whole(self.stats.get("gpu_sim_insn"))

    @property
    def launch_cycles(self) -> int | None:
        """The part of ``cycles`` that is the configured launch latency; None where the log does not say it."""
        if self.configured_launch_cycles is None or self.cycles is None:
            return None
        # One latency per kernel that was launched; a fast-forwarded kernel may not have waited for it.
        return min(self.configured_launch_cycles * max(1, len(self.uids)), self.cycles)

    @property
    def ipc(self) -> float | None:
        """Thread instructions per cycle, over the whole GPU."""
        return _real(self.stats.get("gpu_ipc"))

    @property
    def occupancy(self) -> float | None:
        """Resident warps as a fraction of the SMs' slots."""
        percent = self.stats.get("gpu_occupancy")
        return None if percent is None else percent / 100

    @property
    def l1_hit_rate(self) -> float | None:
        """Fraction of L1 data cache accesses (sectors) that did not miss."""
        return self._hit_rate("L1D")

    @property
    def l2_hit_rate(self) -> float | None:
        """Fraction of L2 accesses (sectors) that did not miss."""
        return self._hit_rate("L2")

    @property
    def dram_bytes(self) -> int | None:
        """Bytes read from and written to DRAM."""
        reads, writes = self.stats.get("total dram reads"), self.stats.get("total dram writes")
        if reads is None:
            return None
        return _whole((reads + (writes or 0)) * SECTOR_BYTES)

    @property
    def source(self) -> str:
        """``simulated``, or ``same-as N``."""
        return "simulated" if self.same_as is None else f"same-as {self.same_as}"

    def _hit_rate(self, cache: str) -> float | None:
        accesses = self.stats.get(f"{cache}_total_cache_accesses")
        misses = self.stats.get(f"{cache}_total_cache_misses")
        if not accesses or misses is None:
            return None
        return min(1.0, max(0.0, 1 - misses / accesses))


class Baseline:
    """Counters as the last block printed them: what the next block's are differences to.

    Per-stream counters have a baseline per stream; the number of streams kept is bounded.
    """

    MAX_STREAMS = 64

    def __init__(self) -> None:
        self.of_run: Pairs = {}
        self.streams: dict[str, Pairs] = {}

    def clear(self) -> None:
        """Start anew, as a new run in the same log does."""
        self.of_run, self.streams = {}, {}

    def per_kernel(self, values: Pairs, stream: str) -> tuple[Pairs, Pairs]:
        """This kernel's statistics and the plain cumulative ones; the baseline moves on to ``values``."""
        of_stream = self.streams.pop(stream, {})
        self.streams[stream] = of_stream
        if len(self.streams) > self.MAX_STREAMS:
            del self.streams[next(iter(self.streams))]
        stats: Pairs = {}
        cumulative: Pairs = {}
        of_run = self.of_run
        for name, value in values.items():
            try:
                rule = RULES[name]
            except KeyError:
                rule = learn_rule(name)
            if not rule & INDEXED:
                cumulative[name] = value
            if not rule & COUNTER or type(value) is not int:
                stats[name] = value
                continue
            baseline = of_stream if rule & PER_STREAM else of_run
            base = baseline.get(name, 0)
            if value != base:
                baseline[name] = value
                # A counter that fell was reset: what it shows is this kernel's.
                stats[name] = value - base if value > base else value
            elif not rule & CELL:
                stats[name] = 0
        _recompute_miss_rates(stats)
        return stats, cumulative

    def to_plain(self) -> dict[str, Any]:
        """As JSON data."""
        return {"of_run": self.of_run, "streams": self.streams}

    @classmethod
    def from_plain(cls, data: dict[str, Any]) -> "Baseline":
        """From :meth:`to_plain`."""
        baseline = cls()
        baseline.of_run, baseline.streams = data["of_run"], data["streams"]
        return baseline


def without_counters(values: Pairs) -> Pairs:
    """Of values whose baseline nobody knows (a log that begins in the middle), those that stand as printed."""
    return {name: value for name, value in values.items() if type(value) is not int or not is_counter(name)}


def _recompute_miss_rates(stats: Pairs) -> None:
    for cache in ("L1D", "L2"):
        accesses = stats.get(f"{cache}_total_cache_accesses")
        if accesses is None:
            continue
        name = f"{cache}_total_cache_miss_rate"
        if accesses:
            stats[name] = round(stats.get(f"{cache}_total_cache_misses", 0) / accesses, 6)
        else:
            stats.pop(name, None)


def _whole(value: Number | None) -> int | None:
    """The value as a whole number that fits 64 bits; a printed overflow is no value."""
    return None if value is None or abs(value) >= 2**63 else int(value)


def _real(value: Number | None) -> float | None:
    return None if value is None else float(value)
