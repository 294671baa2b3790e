"""Where a kernel's cycles went, from the statistics that the built-in simulator logs.

A replayed or an Accel-Sim log does not say it: its kernels have no such answer.
"""

from collections.abc import Mapping
from dataclasses import dataclass

_STAT = {
    "issue": "issue",
    "fetch": "fetch",
    "dependency": "dependency",
    "register banks": "register_banks",
    "shared memory": "shared_memory",
    "L1": "l1",
    "L2": "l2",
    "DRAM": "dram",
    "barrier": "barrier",
    "async copy": "async_copy",
    "tail": "tail",
}
PLACES = tuple(_STAT)

_WORDS = {
    "issue": "the issue slots: the SMs are busy issuing instructions",
    "fetch": "instruction fetch",
    "dependency": "dependent instructions: warps wait for results, and too few warps are there to hide it",
    "register banks": "full units and register bank conflicts",
    "shared memory": "shared memory: bank conflicts or its throughput",
    "L1": "the L1 cache and the load/store unit",
    "L2": "the L2 cache and the crossbar to it",
    "DRAM": "DRAM bandwidth and latency",
    "barrier": "barriers: warps wait for each other",
    "async copy": "asynchronous copies: warps wait for data they have asked for",
    "tail": "too little work: ramp-up, the tail of the grid, SMs without CTAs",
}


def cycles_by_place(stats: Mapping[str, float]) -> dict[str, float]:
    """One kernel's cycles by place: its share of the schedulers' time there, times its own cycles. Empty where its
    simulator does not say."""
    cycles = stats.get("gpu_sim_cycle", 0)
    shares = {place: stats.get(f"cascade_share_{name}", 0) for place, name in _STAT.items()}
    return {place: share * cycles for place, share in shares.items() if share * cycles > 0}


@dataclass(frozen=True, slots=True)
class Spent:
    """Where cycles went, of one kernel or summed over many."""

    cycles: Mapping[str, float]

    @property
    def most(self) -> str:
        """The place with most of the cycles."""
        return max(self.cycles, key=lambda place: self.cycles[place])

    @property
    def share(self) -> float:
        return self.cycles[self.most] / sum(self.cycles.values())

    @property
    def words(self) -> str:
        return _WORDS[self.most]
