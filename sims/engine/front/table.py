"""The results of a simulation as text: a table of kernels, and what they add up to."""

from collections import Counter
from typing import Any

from sims.engine.front.options import Options
from sims.engine.front.report import KernelReport
from sims.gpus.spec import GpuSpec
from traces.times.names import short_name

NAME_WIDTH = 32
_HEADINGS = ("#", "kernel", "cycles", "time us", "IPC", "occ", "L1", "L2", "DRAM MB", "limited by")


def kernel_table(reports: list[KernelReport]) -> str:
    """One line per kernel. ``cycles`` are without the launch latency."""
    rows = [_HEADINGS, *(_row(report) for report in reports)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(_HEADINGS))]
    left = {1, len(_HEADINGS) - 1}
    return "\n".join(
        "  ".join(
            cell.ljust(width) if i in left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def _row(report: KernelReport) -> tuple[str, ...]:
    source = "" if report.source == "simulated" else f" [{report.source}]"
    return (
        str(report.index),
        short_name(report.name, NAME_WIDTH),
        f"{report.cycles - report.launch_cycles}",
        f"{report.simulated_ns / 1e3:.2f}",
        f"{report.ipc:.1f}",
        f"{report.occupancy:.0%}",
        _percent(report.l1_hit_rate),
        _percent(report.l2_hit_rate),
        f"{report.dram_bytes / 1e6:.2f}",
        report.limiter + source,
    )


def _percent(fraction: float | None) -> str:
    return "-" if fraction is None else f"{fraction:.0%}"


def totals_of(reports: list[KernelReport], spec: GpuSpec) -> dict[str, Any]:
    """Sums over all kernels, with how many were stood in for."""
    cycles = sum(report.cycles for report in reports)
    launch = sum(report.launch_cycles for report in reports)
    instructions = sum(report.instructions for report in reports)
    return {
        "kernels": len(reports),
        "kernels_simulated": sum(report.source == "simulated" for report in reports),
        "cycles": cycles,
        "launch_cycles": launch,
        "instructions": instructions,
        "warp_instructions": sum(report.warp_instructions for report in reports),
        "ipc": instructions / cycles if cycles else 0.0,
        "simulated_ns": (cycles - launch) * 1e3 / spec.core_clock_mhz,
        "dram_bytes": sum(report.dram_bytes for report in reports),
        "unknown_opcodes": dict(sum((Counter(report.unknown_opcodes) for report in reports), Counter())),
    }


def totals_text(totals: dict[str, Any], reports: list[KernelReport], options: Options, seconds: float) -> str:
    """The totals in two or three lines."""
    rate = totals["warp_instructions"] / seconds if seconds else 0.0
    lines = [
        f"{totals['kernels']} kernels: {totals['simulated_ns'] / 1e3:.2f} us, "
        f"{totals['cycles'] - totals['launch_cycles']} cycles (and {totals['launch_cycles']} of launch latency); "
        f"{seconds:.1f} s, {rate / 1e6:.2f} M instructions/s"
    ]
    stood_in = totals["kernels"] - totals["kernels_simulated"]
    if stood_in:
        lines.append(f"{stood_in} kernels stand for equal ones (same-as); --exact simulates every one")
    if totals["unknown_opcodes"]:
        names = ", ".join(f"{name} ({count})" for name, count in totals["unknown_opcodes"].items())
        lines.append(f"opcodes timed by their family because no table knows them: {names}")
    return "\n".join(lines)
