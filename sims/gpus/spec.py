"""What a GPU is, to a simulator: one immutable record of sizes, counts, clocks and latencies.

Every reader (a shipped TOML file, a user's ``gpgpusim.config``) ends in a :class:`GpuSpec`; the engine, the pages and
the API start from one. Nothing here knows where a value came from: that is kept beside it (``sources``).
Units are in the names; ``_cycles`` are core cycles, ``dram_*_ticks`` are DRAM command clocks.
"""

from dataclasses import dataclass, field, replace
from typing import Any

SECTOR_BYTES = 32
LINE_BYTES = 128


@dataclass(frozen=True, slots=True)
class UnitTiming:
    """Latency and initiation interval of one functional unit, in core cycles."""

    latency_cycles: int
    initiation_cycles: int


@dataclass(frozen=True, kw_only=True)
class GpuSpec:
    """One GPU configuration. Flat on purpose: any field can be overridden by its name (:meth:`with_overrides`)."""

    # Identity
    id: str
    name: str
    architecture: str
    binary_version: int
    sources: dict[str, str] = field(default_factory=dict)
    """Where each figure is from, by field name; ``""`` holds the source of all others."""

    # Clocks, MHz. The memory clock is the DRAM command clock, as Accel-Sim's ``-gpgpu_clock_domains`` has it.
    core_clock_mhz: float
    icnt_clock_mhz: float
    l2_clock_mhz: float
    memory_clock_mhz: float

    # Streaming multiprocessors
    sms: int
    warps_per_sm: int
    ctas_per_sm: int
    registers_per_sm: int
    shared_memory_per_sm_bytes: int
    schedulers_per_sm: int = 4
    scheduler: str = "lrr"
    """Warp scheduling policy: ``lrr`` (loose round robin) or ``gto`` (greedy then oldest)."""
    register_banks_per_sm: int = 8
    collector_units_per_sm: int = 8
    launch_latency_cycles: int = 5000
    cta_launch_latency_cycles: int = 0
    memcpy_fills_l2: bool = True
    clock_gated_lanes: bool = False
    """Idle lanes are not clocked: ``gpgpu_n_tot_thrd_icount`` counts active lanes only. Costs no time."""

    # Functional units by class: int sp half is derived, dp sfu branch texture tensor uniform gmma
    units: dict[str, UnitTiming] = field(default_factory=dict)
    """One unit of each class per scheduler. A class that is missing is one the configuration does not have."""

    # Shared memory and L1 (one unified array per SM)
    shared_memory_latency_cycles: int = 20
    unified_l1_bytes: int = 131072
    shared_memory_options_bytes: tuple[int, ...] = (0, 8192, 16384, 32768, 65536, 98304)
    """Carve-outs the driver can choose from, ascending. ``(0,)`` alone: the L1 is apart and keeps its size."""
    shared_memory_per_cta_bytes: int = 49152
    global_skips_l1: bool = False
    """Global accesses go to the L2 directly, as if the L1 were not there (local memory too where there is no L1)."""
    l1_sets: int = 4
    l1_ways: int = 64
    """Ways of the configuration's base geometry; :attr:`l1_max_ways` has those of the whole unified array."""
    l1_set_index: str = "L"
    """Set index function, Accel-Sim's letters: L linear, X bitwise XOR, P IPOLY, F Fermi."""
    l1_latency_cycles: int = 20
    l1_banks: int = 4
    l1_mshr_entries: int = 512
    l1_mshr_merges: int = 8
    l1_miss_queue: int = 16
    l1_write_ratio_percent: int = 25

    # L2 and the crossbar to it
    l2_slices_per_channel: int = 2
    l2_sets: int = 64
    l2_ways: int = 16
    l2_set_index: str = "P"
    """As ``l1_set_index``."""
    l2_mshr_entries: int = 192
    l2_mshr_merges: int = 4
    l2_miss_queue: int = 32
    l2_rop_latency_cycles: int = 160
    l2_queue: int = 64
    """Depth of each queue between crossbar, L2 and DRAM (``-gpgpu_dram_partition_queues``)."""
    l2_coalescer_entries: int = 0
    """Entries of the request coalescer before each slice (Accel-Sim 2.0 on Hopper); 0: there is none."""
    icnt_buffer_packets: int = 512
    partition_indexing: int = 0
    """0 plain bits, 1 bitwise XOR, 2 IPOLY hash, 6 IPOLY hash modulo the slice count (Accel-Sim 2.0)."""

    # DRAM
    memory_channels: int = 16
    dram_latency_cycles: int = 100
    dram_bus_bytes: int = 2
    """Bus width of one device, bytes."""
    dram_devices_per_channel: int = 1
    dram_burst_length: int = 16
    dram_data_command_ratio: int = 4
    """Data transfers per command clock."""
    dram_scheduler_queue: int = 64
    dram_return_queue: int = 192
    dram_simple: bool = False
    """Accel-Sim's fixed-rate DRAM in place of banks, rows and FR-FCFS."""
    dram_dual_bus: bool = False
    dram_address_map: str = "dramid@8;00000000.00000000.00000000.00000000.0000RRRR.RRRRRRRR.RBBBCCCC.BCCSSSSS"
    dram_banks: int = 16
    dram_bank_groups: int = 4
    dram_ccd_ticks: int = 4
    dram_rrd_ticks: int = 12
    dram_rcd_ticks: int = 24
    dram_ras_ticks: int = 55
    dram_rp_ticks: int = 24
    dram_rc_ticks: int = 78
    dram_cl_ticks: int = 24
    dram_wl_ticks: int = 8
    dram_cdlr_ticks: int = 10
    dram_wr_ticks: int = 24
    dram_ccdl_ticks: int = 6
    dram_rtpl_ticks: int = 4

    # What the data sheet says, to hold the configuration against (GB/s = 1e9 bytes per second)
    datasheet_bandwidth_gbs: float | None = None

    @property
    def l1_max_ways(self) -> int:
        """Ways per set when no shared memory is carved out: the unified array in multiples of the base geometry."""
        base_bytes = self.l1_sets * self.l1_ways * LINE_BYTES
        return self.l1_ways * max(1, self.unified_l1_bytes // base_bytes)

    @property
    def register_banks_per_scheduler(self) -> int:
        """Banks of one sub-core's register file."""
        return self.register_banks_per_sm // self.schedulers_per_sm

    @property
    def dram_atom_bytes(self) -> int:
        """Bytes that one column command moves."""
        return self.dram_bus_bytes * self.dram_devices_per_channel * self.dram_burst_length

    @property
    def l2_slices(self) -> int:
        """Sub-partitions over all channels."""
        return self.memory_channels * self.l2_slices_per_channel

    @property
    def l2_bytes(self) -> int:
        """Capacity of the whole L2."""
        return self.l2_slices * self.l2_sets * self.l2_ways * LINE_BYTES

    @property
    def memory_bandwidth_gbs(self) -> float:
        """Peak DRAM bandwidth in GB/s (1e9): one column command per tCCD on every channel.

        This is the rate that Accel-Sim's DRAM can reach. Where tCCD equals the burst's time on the bus, as in all
        well-made configurations, it is also pins x data rate.
        """
        bytes_per_tick = self.memory_channels * self.dram_atom_bytes / self.dram_ccd_ticks
        return bytes_per_tick * self.memory_clock_mhz / 1e3

    def with_overrides(self, values: dict[str, Any]) -> "GpuSpec":
        """A copy with fields replaced by name, unchecked; see :func:`sims.gpus.overrides.apply_overrides`."""
        return replace(self, **values)
