"""What a person should know before trusting a configuration's numbers."""

from sims.gpus.spec import GpuSpec

BANDWIDTH_TOLERANCE = 0.03


def check(spec: GpuSpec) -> list[str]:
    """Warnings, one sentence each; none for a configuration that agrees with its data sheet and with itself."""
    return [*_bandwidth(spec), *_shared_memory(spec), *_dram_timing(spec), *_clocks(spec)]


def bandwidth_deviation(spec: GpuSpec) -> float | None:
    """How far the modelled peak bandwidth is off the data sheet's, as a signed fraction; None where that is unknown."""
    if spec.datasheet_bandwidth_gbs is None:
        return None
    return spec.memory_bandwidth_gbs / spec.datasheet_bandwidth_gbs - 1


def _bandwidth(spec: GpuSpec) -> list[str]:
    deviation = bandwidth_deviation(spec)
    if deviation is None or abs(deviation) <= BANDWIDTH_TOLERANCE:
        return []
    return [
        f"The DRAM bandwidth comes to {spec.memory_bandwidth_gbs:.0f} GB/s, {deviation:+.0%} off the data sheet's "
        f"{spec.datasheet_bandwidth_gbs:.0f} GB/s: memory-bound kernels will be off by as much "
        "(see memory_channels, dram_bus_bytes, dram_burst_length, dram_ccd_ticks, memory_clock_mhz)."
    ]


def _shared_memory(spec: GpuSpec) -> list[str]:
    warnings = []
    carve_outs = spec.shared_memory_options_bytes
    if carve_outs != (0,) and carve_outs[-1] < spec.shared_memory_per_sm_bytes:
        warnings.append(
            f"The largest carve-out ({carve_outs[-1]} bytes) is smaller than the SM's shared memory "
            f"({spec.shared_memory_per_sm_bytes} bytes)."
        )
    if carve_outs[-1] > spec.unified_l1_bytes:
        warnings.append(
            f"The largest carve-out ({carve_outs[-1]} bytes) does not fit the unified L1 "
            f"({spec.unified_l1_bytes} bytes)."
        )
    return warnings


def _dram_timing(spec: GpuSpec) -> list[str]:
    warnings = []
    burst_ticks = spec.dram_burst_length / spec.dram_data_command_ratio
    if burst_ticks > spec.dram_ccd_ticks:
        warnings.append(
            f"A burst lasts {burst_ticks:g} command clocks on the bus but tCCD allows a column command every "
            f"{spec.dram_ccd_ticks}: the model, as Accel-Sim, goes by tCCD, so the bandwidth exceeds the pins'."
        )
    if spec.dram_ccdl_ticks > spec.dram_ccd_ticks * spec.dram_bank_groups:
        warnings.append(
            f"tCCDL ({spec.dram_ccdl_ticks}) is more than tCCD x bank groups "
            f"({spec.dram_ccd_ticks} x {spec.dram_bank_groups}): the peak bandwidth cannot be reached."
        )
    if spec.dram_rc_ticks < spec.dram_ras_ticks:
        warnings.append(f"tRC ({spec.dram_rc_ticks}) is shorter than tRAS ({spec.dram_ras_ticks}), which it contains.")
    return warnings


def _clocks(spec: GpuSpec) -> list[str]:
    clocks = {
        name: getattr(spec, name) for name in ("core_clock_mhz", "icnt_clock_mhz", "l2_clock_mhz", "memory_clock_mhz")
    }
    odd = [f"{name} is {value:g}" for name, value in clocks.items() if not 100 <= value <= 12000]
    return [f"{text} MHz: no GPU runs at that." for text in odd]
