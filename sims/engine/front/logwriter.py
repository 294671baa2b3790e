"""The log of a simulation: Accel-Sim's own format for everything both know, so that one parser serves both.

Lines come in Accel-Sim's order and classes: ``gpu_sim_*`` and ``L2_BW`` are a kernel's own, all other counters grow
over the run (cache breakdowns per stream). What Accel-Sim does not tell follows as ``cascade_*``, always of the one
kernel.
"""

from collections import defaultdict
from typing import TextIO

from sims.engine.counters import ACCESS_TYPES, OUTCOMES
from sims.engine.front.plan import Launch
from sims.engine.front.report import KernelReport
from sims.gpus import to_accelsim_options
from sims.gpus.spec import GpuSpec
from traces.accelsim import MemcpyCommand, TraceError, open_body

BANNER = "Cascade built-in simulator"
_HIT_OUTCOMES = ("HIT", "HIT_RESERVED", "MISS", "SECTOR_MISS")

# Plain counters in the order of Accel-Sim's block, after the L1's totals and after the L2's.
_CORE_COUNTERS = (
    "gpgpu_n_tot_thrd_icount",
    "gpgpu_n_tot_w_icount",
    "gpgpu_n_mem_read_local",
    "gpgpu_n_mem_write_local",
    "gpgpu_n_mem_read_global",
    "gpgpu_n_mem_write_global",
    "gpgpu_n_load_insn",
    "gpgpu_n_store_insn",
    "gpgpu_n_shmem_insn",
    "gpgpu_n_shmem_bkconflict",
    "gpgpu_n_l1cache_bkconflict",
)
_DRAM_COUNTERS = ("total dram reads", "total dram writes", "n_act", "n_pre", "n_rd", "n_wr_bk")
_INTERCONNECT_COUNTERS = ("icnt_total_pkts_mem_to_simt", "icnt_total_pkts_simt_to_mem")
_TOTALS = ("accesses", "misses", "pending_hits", "reservation_fails")


class LogWriter:
    """Writes to a text stream, flushing after every kernel: a reader sees whole blocks."""

    def __init__(self, stream: TextIO, spec: GpuSpec) -> None:
        self._stream = stream
        self._spec = spec
        self._totals: dict[str, float] = defaultdict(int)
        self._per_stream: dict[int, dict[str, float]] = defaultdict(lambda: defaultdict(int))

    def begin(self, switches: dict[str, object], notes: list[str]) -> None:
        """Banner, final options, clocks, and what the reader should know about this run."""
        spec = self._spec
        self._line(f"{BANNER} [{spec.id}: {spec.name}]")
        self._line("GPGPU-Sim: Configuration options:")
        for text in to_accelsim_options(spec).values():
            for name, value in _option_lines(text):
                self._line(f"-{name:<40} {value} #")
        clocks = (spec.core_clock_mhz, spec.icnt_clock_mhz, spec.l2_clock_mhz, spec.memory_clock_mhz)
        self._line("GPGPU-Sim uArch: clock freqs: " + ":".join(f"{mhz * 1e6:.6f}" for mhz in clocks))
        for switch, setting in switches.items():
            self._line(f"cascade: {switch} is {setting}")
        for note in notes:
            self._line(f"cascade: {note}")
        self._stream.flush()

    def step(self, step: MemcpyCommand | Launch) -> None:
        """A command of the list, before it is carried out."""
        if isinstance(step, Launch):
            self._line(f"Processing kernel {step.file}")
            self._launch(step)
        elif step.kind == "HtoD":
            self._line(f"launching memcpy command : MemcpyHtoD,0x{step.address:016x},{step.size_bytes}")
        self._stream.flush()

    def kernel(self, report: KernelReport) -> None:
        """The stats block of a finished kernel."""
        self._add(report)
        self._line(f"Destroy streams for kernel {report.uid}: size 0")
        self._head(report)
        self._caches(report)
        self._counters(_CORE_COUNTERS, report)
        self._dram(report)
        self._l2(report)
        self._counters(_INTERCONNECT_COUNTERS, report)
        self._own(report)
        self._stream.flush()

    def _launch(self, launch: Launch) -> None:
        try:
            header, body = open_body(launch.file)
        except TraceError:
            return  # the simulation is about to say what is wrong
        body.close()
        self._line(f"launching kernel name: {header.name} uid: {launch.uid} cuda_stream_id: {header.stream}")

    def end(self) -> None:
        """The two lines by which a whole run is known."""
        self._line("GPGPU-Sim: *** simulation thread exiting ***")
        self._line("GPGPU-Sim: *** exit detected ***")
        self._stream.flush()

    def failure(self, message: str) -> None:
        """Why the run ends here."""
        self._line(f"cascade: ERROR {message}")
        self._stream.flush()

    def _line(self, text: str) -> None:
        self._stream.write(text.replace("\n", " ") + "\n")

    def _add(self, report: KernelReport) -> None:
        of_stream = self._per_stream[report.stream]
        for name, value in report.stats.items():
            if isinstance(value, str) or name.startswith("cascade_"):
                continue
            totals = of_stream if "_breakdown[" in name else self._totals
            totals[name] += value

    def _head(self, report: KernelReport) -> None:
        totals = self._totals
        clock = self._spec.core_clock_mhz * 1e6
        self._line(f"kernel_name = {report.name} ")
        self._line(f"kernel_launch_uid = {report.uid} ")
        self._line(f"kernel_stream_id = {report.stream}")
        self._line(f"gpu_sim_cycle = {report.cycles}")
        self._line(f"gpu_sim_insn = {report.instructions}")
        self._line(f"gpu_ipc = {report.ipc:12.4f}")
        self._line(f"gpu_tot_sim_cycle = {totals['gpu_sim_cycle']}")
        self._line(f"gpu_tot_sim_insn = {totals['gpu_sim_insn']}")
        self._line(f"gpu_tot_ipc = {_ratio(totals['gpu_sim_insn'], totals['gpu_sim_cycle']):12.4f}")
        self._line(f"gpu_tot_issued_cta = {totals['gpu_tot_issued_cta']}")
        self._line(f"gpu_occupancy = {100 * report.occupancy:.4f}% ")
        replies = report.stats["icnt_total_pkts_mem_to_simt"]
        bandwidth = 32 * float(replies) / report.cycles * clock / 1e9
        self._line(f"L2_BW  = {bandwidth:12.4f} GB/Sec")

    def _caches(self, report: KernelReport) -> None:
        for name in _TOTALS:
            self._line(f"\tL1D_total_cache_{name} = {self._totals[f'L1D_total_cache_{name}']}")
        self._rate("\tL1D_total_cache_miss_rate", "L1D")
        self._line("Total_core_cache_stats:")
        self._breakdown("Total_core_cache_stats_breakdown", report)
        self._line("Total_core_cache_fail_stats:")
        self._failures("Total_core_cache_fail_stats_breakdown", report)

    def _dram(self, report: KernelReport) -> None:
        self._counters(_DRAM_COUNTERS, report)
        columns, rows = self._totals["n_rd"] + self._totals["n_wr_bk"], self._totals["n_act"]
        if rows:
            self._line(f"average row locality = {columns}/{rows} = {columns / rows:.6f}")

    def _l2(self, report: KernelReport) -> None:
        self._line("========= L2 cache stats =========")
        for name in _TOTALS:
            self._line(f"L2_total_cache_{name} = {self._totals[f'L2_total_cache_{name}']}")
        self._rate("L2_total_cache_miss_rate", "L2")
        self._line("L2_total_cache_breakdown:")
        self._breakdown("L2_cache_stats_breakdown", report)
        self._line("L2_total_cache_reservation_fail_breakdown:")
        self._failures("L2_cache_stats_fail_breakdown", report)

    def _rate(self, name: str, cache: str) -> None:
        accesses = self._totals[f"{cache}_total_cache_accesses"]
        if accesses:
            self._line(f"{name} = {self._totals[f'{cache}_total_cache_misses'] / accesses:.4f}")

    def _breakdown(self, prefix: str, report: KernelReport) -> None:
        of_stream = self._per_stream[report.stream]
        for kind in ACCESS_TYPES:
            total = 0.0
            for outcome in OUTCOMES:
                value = of_stream[f"{prefix}[{kind}][{outcome}]"]
                total += value if outcome in _HIT_OUTCOMES else 0
                self._line(f"\t{prefix}[{kind}][{outcome}] = {value}")
            if total:
                self._line(f"\t{prefix}[{kind}][TOTAL_ACCESS] = {total:.0f}")

    def _failures(self, prefix: str, report: KernelReport) -> None:
        for name, value in self._per_stream[report.stream].items():
            if name.startswith(prefix) and value:
                self._line(f"\t{name} = {value}")

    def _counters(self, names: tuple[str, ...], report: KernelReport) -> None:
        for name in names:
            if name in report.stats:
                self._line(f"{name} = {self._totals[name]}")

    def _own(self, report: KernelReport) -> None:
        for name, value in report.stats.items():
            if name.startswith("cascade_"):
                self._line(f"{name} = {value:.6f}" if isinstance(value, float) else f"{name} = {value}")


def _ratio(numerator: float, denominator: float) -> float:
    return numerator / denominator if denominator else 0.0


def _option_lines(text: str) -> list[tuple[str, str]]:
    """``-name value`` lines of a config text, comments and blanks left out."""
    options = []
    for line in text.splitlines():
        name, _, value = line.partition("#")[0].strip().partition(" ")
        if name.startswith("-"):
            options.append((name[1:], value.strip()))
    return options
