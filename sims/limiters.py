"""What limits a kernel, in cycles and in words, from the statistics that the built-in simulator logs.

A replayed or an Accel-Sim log does not say where the cycles went: its kernels have no limiter.
"""

from collections.abc import Mapping
from dataclasses import dataclass

PLACES = ("issue", "dependency", "register banks", "shared memory", "L1", "L2", "DRAM", "barrier", "tail")
_STAT = {place: f"cascade_cycles_{place.lower().replace(' ', '_')}" for place in PLACES}

_WORDS = {
    "issue": "the issue slots: the SMs are busy issuing instructions",
    "dependency": "dependent instructions: warps wait for results, and too few warps are there to hide it",
    "register banks": "register bank conflicts",
    "shared memory": "shared memory: bank conflicts or its throughput",
    "L1": "the L1 cache and the load/store unit",
    "L2": "the L2 cache and the crossbar to it",
    "DRAM": "DRAM bandwidth and latency",
    "barrier": "barriers: warps wait for each other",
    "tail": "the tail: SMs without work while the last CTAs finish",
}


def cycles_by_place(stats: Mapping[str, float]) -> dict[str, float]:
    """One kernel's cycles by place; empty where its simulator does not say."""
    return {place: stats[name] for place, name in _STAT.items() if stats.get(name)}


@dataclass(frozen=True, slots=True)
class Spent:
    """Where cycles went, of one kernel or summed over many."""

    cycles: Mapping[str, float]

    @property
    def limiter(self) -> str:
        """The place with most of the cycles; empty where nothing is known."""
        return max(self.cycles, key=lambda place: self.cycles[place]) if self.cycles else ""

    @property
    def share(self) -> float:
        return self.cycles[self.limiter] / sum(self.cycles.values())

    @property
    def words(self) -> str:
        return _WORDS[self.limiter]
