"""One kernel's outcome, in the terms of the service and by Accel-Sim's stat names."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sims.engine import program as p
from sims.engine.front.limiter import limiter_of
from sims.engine.program import KernelShape
from sims.engine.results import KernelResult
from sims.gpus.spec import SECTOR_BYTES, GpuSpec

Stat = int | float | str


@dataclass(frozen=True, slots=True)
class InstructionCounts:
    """What a kernel issued, counted where it is decoded."""

    warp_instructions: int
    """Instruction lines of the trace."""
    counted_warp_instructions: int
    """As Accel-Sim counts them: shared-memory atomics never, LDGSTS twice."""
    thread_instructions: int
    """Active lanes, counted the same way."""

    @classmethod
    def of(cls, statics: NDArray[np.void], counts: NDArray[np.int64]) -> "InstructionCounts":
        """From a program's static records and its counts per record."""
        times = np.ones(len(statics), np.int64)
        times[(statics["kind"] == p.KIND_ATOMIC) & (statics["space"] == p.SPACE_SHARED)] = 0
        times[statics["kind"] == p.KIND_LDGSTS] = 2
        warps, lanes = counts[:, 0], counts[:, 1]
        return cls(int(warps.sum()), int(warps @ times), int(lanes @ times))


@dataclass(frozen=True, slots=True)
class KernelReport:
    """A finished kernel. Fractions are 0..1."""

    index: int
    uid: int
    name: str
    stream: int
    cycles: int
    """Launch latency included, as Accel-Sim's gpu_sim_cycle."""
    launch_cycles: int
    instructions: int
    warp_instructions: int
    simulated_ns: float
    occupancy: float
    l1_hit_rate: float | None
    l2_hit_rate: float | None
    dram_bytes: int
    source: str
    """``simulated``, or ``same-as N``."""
    limiter: str
    stats: dict[str, Stat] = field(default_factory=dict)
    """By Accel-Sim's names, this kernel's share; ``cascade_*`` is what Accel-Sim does not tell."""
    unknown_opcodes: dict[str, int] = field(default_factory=dict)

    @property
    def ipc(self) -> float:
        """Thread instructions per cycle over the whole GPU."""
        return self.instructions / self.cycles if self.cycles else 0.0

    def to_dict(self) -> dict[str, Any]:
        """As the service's API and ``simulate --json`` show it."""
        names = (
            "index",
            "name",
            "cycles",
            "launch_cycles",
            "instructions",
            "ipc",
            "simulated_ns",
            "occupancy",
            "l1_hit_rate",
            "l2_hit_rate",
            "dram_bytes",
            "source",
            "warp_instructions",
            "stats",
        )
        return {"launch_uid": self.uid} | {name: getattr(self, name) for name in names}


def report_of(
    result: KernelResult, shape: KernelShape, counts: InstructionCounts, spec: GpuSpec, *, index: int, uid: int
) -> KernelReport:
    """What the engine found, as a report."""
    cycles = result.cycles + result.launch_cycles
    limiter = limiter_of(result, spec)
    stats: dict[str, Stat] = dict(result.counters)
    stats["gpu_sim_insn"] = counts.thread_instructions
    stats["gpgpu_n_tot_w_icount"] = counts.counted_warp_instructions
    lanes = counts.thread_instructions if spec.clock_gated_lanes else 32 * counts.counted_warp_instructions
    stats["gpgpu_n_tot_thrd_icount"] = lanes
    stats |= _own_stats(result, spec)
    stats["cascade_limiter"] = limiter
    dram = stats["total dram reads"], stats["total dram writes"]
    return KernelReport(
        index=index,
        uid=uid,
        name=shape.name,
        stream=shape.stream,
        cycles=cycles,
        launch_cycles=result.launch_cycles,
        instructions=counts.thread_instructions,
        warp_instructions=counts.warp_instructions,
        simulated_ns=result.cycles * 1e3 / spec.core_clock_mhz,
        occupancy=result.achieved_occupancy,
        l1_hit_rate=_hit_rate(stats, "L1D"),
        l2_hit_rate=_hit_rate(stats, "L2"),
        dram_bytes=SECTOR_BYTES * sum(int(sectors) for sectors in dram),
        source="simulated",
        limiter=limiter,
        stats=stats,
        unknown_opcodes=result.unknown_opcodes,
    )


def _own_stats(result: KernelResult, spec: GpuSpec) -> dict[str, Stat]:
    stats: dict[str, Stat] = {
        "cascade_ctas_per_sm": result.occupancy.ctas_per_sm,
        "cascade_theoretical_occupancy": result.occupancy.warps_per_sm() / spec.warps_per_sm,
        "cascade_occupancy_limiter": result.occupancy.limiter,
        "cascade_dram_bandwidth_gbs": result.dram_bandwidth_gbs,
        "cascade_dram_bandwidth_share": result.dram_bandwidth_gbs / spec.memory_bandwidth_gbs,
        "cascade_l2_bandwidth_gbs": result.l2_bandwidth_gbs,
    }
    stats |= {f"cascade_share_{cause}": share for cause, share in result.cycles_by_cause.items()}
    stats |= {f"cascade_utilisation_{unit}": share for unit, share in result.utilisation.items()}
    stats |= {f"cascade_unknown_opcode[{name}]": count for name, count in result.unknown_opcodes.items()}
    return stats


def _hit_rate(stats: dict[str, Stat], cache: str) -> float | None:
    accesses, misses = stats[f"{cache}_total_cache_accesses"], stats[f"{cache}_total_cache_misses"]
    if not isinstance(accesses, int) or not isinstance(misses, int) or accesses == 0:
        return None
    return min(1.0, max(0.0, 1 - misses / accesses))
