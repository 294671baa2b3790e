"""What a kernel's run says: cycles, counters by Accel-Sim's stat names, and where the cycles went."""

from dataclasses import dataclass, field

import numpy as np

from sims.engine import counters
from sims.engine.accounts import ACCOUNT_NAMES
from sims.engine.occupancy import Occupancy
from sims.engine.program import Program
from sims.engine.statics import DP_PIPE, GMMA_PIPE, MEMORY_PIPE, PIPE_NAMES, SP_PIPE, TENSOR_PIPE
from sims.gpus.spec import SECTOR_BYTES, GpuSpec


@dataclass(frozen=True)
class KernelResult:
    """One kernel's outcome."""

    name: str
    cycles: int
    """Without the launch latency; Accel-Sim's gpu_sim_cycle is the sum of both."""
    launch_cycles: int
    occupancy: Occupancy
    """What fits."""
    achieved_occupancy: float
    """Warps resident on the SMs that had work, as a share of the slots there."""
    counters: dict[str, float]
    """By Accel-Sim's stat names, this kernel's share."""
    cycles_by_cause: dict[str, float]
    """Share of all sub-core cycles of the GPU, by cause; they add up to 1 (``tail`` is what no cause explains)."""
    utilisation: dict[str, float]
    """By unit: busy cycles of all units of the class over all cycles (0..1)."""
    dram_bandwidth_gbs: float
    l2_bandwidth_gbs: float
    unknown_opcodes: dict[str, int] = field(default_factory=dict)


def collect(
    program: Program, spec: GpuSpec, occupancy: Occupancy, cycles: int, before: np.void, after: np.void
) -> KernelResult:
    """The difference of two moments (:data:`sims.engine.totals.TOTALS`), named."""
    sm, stall, busy, slices, channel = (
        (after[name] - before[name]).tolist() for name in ("sm", "stall", "busy", "slice", "channel")
    )
    seconds = cycles / (spec.core_clock_mhz * 1e6)
    sectors = sm[counters.REPLIES]
    moved = (channel[counters.DRAM_READS] + channel[counters.DRAM_WRITES]) * _atom_bytes(spec)
    return KernelResult(
        name=program.shape.name,
        cycles=cycles,
        launch_cycles=spec.launch_latency_cycles,
        occupancy=occupancy,
        achieved_occupancy=_achieved_occupancy(sm, spec),
        counters=_named(sm, slices, channel, program, spec, cycles),
        cycles_by_cause=_shares(stall, cycles * spec.sms * spec.schedulers_per_sm),
        utilisation=_utilisation(busy, cycles * spec.sms * spec.schedulers_per_sm),
        dram_bandwidth_gbs=moved / seconds / 1e9,
        l2_bandwidth_gbs=sectors * SECTOR_BYTES / seconds / 1e9,
        unknown_opcodes=dict(program.unknown_opcodes),
    )


def _achieved_occupancy(sm: list[int], spec: GpuSpec) -> float:
    slot_cycles = sm[counters.ACTIVE_CYCLES] * spec.warps_per_sm
    return sm[counters.RESIDENT_WARP_CYCLES] / slot_cycles if slot_cycles else 0.0


def _atom_bytes(spec: GpuSpec) -> int:
    return spec.dram_burst_length * spec.dram_bus_bytes * spec.dram_devices_per_channel


def _shares(stall: list[int], total: int) -> dict[str, float]:
    shares = {name: cycles / total for name, cycles in zip(ACCOUNT_NAMES, stall, strict=True)}
    shares["tail"] = max(0.0, 1.0 - sum(shares.values()))
    return shares


def _utilisation(busy: list[int], total: int) -> dict[str, float]:
    names = {"fp32": SP_PIPE, "fp64": DP_PIPE, "tensor": TENSOR_PIPE, "gmma": GMMA_PIPE}
    shares = {name: min(1.0, busy[pipe] / total) for name, pipe in names.items()}
    for pipe, name in enumerate(PIPE_NAMES):
        if pipe != MEMORY_PIPE:
            shares.setdefault(name, min(1.0, busy[pipe] / total))
    return shares


def _named(
    sm: list[int],
    slices: list[int],
    channel: list[int],
    program: Program,
    spec: GpuSpec,
    cycles: int,
) -> dict[str, float]:
    reads, writes = sm[counters.PACKETS_READ], sm[counters.PACKETS_WRITTEN]
    instructions = sm[counters.WARP_INSTRUCTIONS] + sm[counters.COUNTED_TWICE] - sm[counters.NEVER_COUNTED]
    activates = channel[counters.ACTIVATES]
    columns = channel[counters.DRAM_READS] + channel[counters.DRAM_WRITES]
    values: dict[str, float] = {
        "gpu_sim_cycle": cycles + spec.launch_latency_cycles,
        "gpgpu_n_tot_w_icount": instructions,
        "gpu_tot_issued_cta": program.shape.ctas,
        "gpgpu_n_shmem_bkconflict": sm[counters.SHARED_CONFLICTS],
        "gpgpu_n_l1cache_bkconflict": sm[counters.L1_BANK_CONFLICTS],
        "gpgpu_n_mem_read_global": reads,
        "gpgpu_n_mem_write_global": writes,
        "gpgpu_n_mem_read_local": sm[counters.LOCAL_PACKETS_READ],
        "gpgpu_n_mem_write_local": sm[counters.LOCAL_PACKETS_WRITTEN],
        "total dram reads": channel[counters.ATOMS_READ],
        "total dram writes": channel[counters.ATOMS_WRITTEN],
        "n_rd": channel[counters.DRAM_READS],
        "n_wr_bk": channel[counters.DRAM_WRITES],
        "n_act": activates,
        "n_pre": channel[counters.PRECHARGES],
        "average row locality": columns / activates if activates else 0.0,
        "icnt_total_pkts_mem_to_simt": sm[counters.REPLIES],
        "icnt_total_pkts_simt_to_mem": sm[counters.REQUESTS],
    }
    values |= counters.cache_totals("L1D", sm)
    values |= counters.cache_totals("L2", slices)
    values |= counters.cache_counters("Total_core_cache_stats_breakdown", "Total_core_cache_fail_stats_breakdown", sm)
    values |= counters.cache_counters("L2_cache_stats_breakdown", "L2_cache_stats_fail_breakdown", slices)
    return values
