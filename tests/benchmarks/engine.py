"""The timing engine against Accel-Sim: ``python -m tests.benchmarks.engine [--quick] [--config NAME] [--micro] [--no-micro]``.

``--phases NAME`` instead launches the kernels of one workload or microbenchmark up to 40 cycles later: their cycles spread as
far as they depend on how the launch lies to the DRAM's clock, which is no property of a kernel.

One row per workload and config: cycles without launch latency, Accel-Sim's, the error, warp instructions per second and
how many times less CPU time than Accel-Sim. Then the totals, the microbenchmarks' score and one workload at 1x, 4x and
16x its size. CPU time of one core, the quickest of three runs, decoding included, compilation not. Every kernel runs in full: no
shortcut is taken.
Needs the reference material.
"""

import argparse
import csv
import lzma
import os
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from sims.engine.decode import open_program
from sims.engine.machine import Machine
from sims.gpus import GpuSpec, read_accelsim_config
from tests.conftest import PROJECT

TRACES_OF_CONFIG = {"SM7_QV100": "sm70", "SM75_RTX2060": "sm75", "SM86_RTX3070": "sm86", "SM90_H100_idx0": "sm86"}
QUICK = ("vectoradd", "vectoradd_low", "stress_atomics", "transpose_naive", "stress_ffma", "hgemm_tensor")
SCALES = (1, 4, 16)
RUNS = 3
"""Of which the quickest counts: what others do on a shared machine makes single ones up to half slower."""
PHASES = range(0, 41, 4)
"""Cycles by which launches are put off to see how much a kernel depends on when it starts."""


@dataclass
class Run:
    """One trace folder on one machine."""

    cycles: list[int] = field(default_factory=list)
    instructions: int = 0
    cpu_seconds: float = 0.0


@dataclass
class Reference:
    """Accel-Sim's cycles of a folder's kernels by number, launch latency apart."""

    folder: Path
    launch_latency: int
    cycles: dict[int, int]


def main() -> None:
    options = parse_options()
    shared = Path(os.environ.get("CASCADE_SHARED", PROJECT.parent / "shared")) / "reference"
    if not shared.is_dir():
        sys.exit(f"the reference material is not at {shared}; set CASCADE_SHARED to its parent folder")
    configs = [name for name in TRACES_OF_CONFIG if options.config in name]
    warm_up(shared)
    if options.phases:
        start_phases(shared, configs, options.phases)
        return
    if not options.micro:
        reference_table(shared, configs, options.quick)
    if not options.no_micro:
        microbenchmarks(shared, configs)
    if not options.micro:
        scaling(shared)


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--quick", action="store_true", help="only the small workloads")
    parser.add_argument("--config", default="", help="only configs whose name contains this")
    parser.add_argument("--micro", action="store_true", help="only the microbenchmarks")
    parser.add_argument("--no-micro", action="store_true", help="without the microbenchmarks")
    parser.add_argument("--phases", metavar="NAME", help="only this: how its kernels depend on when they start")
    return parser.parse_args()


def commands(folder: Path) -> Iterator[tuple[int, int] | Path]:
    """Memcpy lines as (address, bytes) and kernel files, in order."""
    for line in (folder / "kernelslist.g").read_text().split():
        if line.startswith("MemcpyHtoD"):
            _, address, size = line.split(",")
            yield int(address, 16), int(size)
        elif line.startswith("kernel"):
            plain = folder / line
            yield plain if plain.exists() else plain.with_name(plain.name + ".xz")


def run_folder(folder: Path, spec: GpuSpec) -> Run:
    """All kernels of a trace folder on a new machine."""
    started = time.process_time()
    machine, run = Machine(spec), Run()
    for command in commands(folder):
        if isinstance(command, tuple):
            machine.memcpy_to_device(*command)
            continue
        with open_program(command) as program:
            result = machine.run(program)
        run.cycles.append(result.cycles)
        run.instructions += int(result.counters["gpgpu_n_tot_w_icount"])
    run.cpu_seconds = time.process_time() - started
    return run


def warm_up(shared: Path) -> None:
    """Compile, or load what was compiled."""
    started = time.perf_counter()
    spec = read_accelsim_config(shared / "accelsim/configs/SM7_QV100").spec
    run_folder(shared / "accelsim/traces/vectoradd/sm70", spec)
    print(f"compiled or loaded in {time.perf_counter() - started:.1f} s\n")


def reference_table(shared: Path, configs: list[str], quick: bool) -> None:
    """The reference workloads against Accel-Sim's logs."""
    logs = shared / "accelsim/logs"
    index = {(r["config"], r["workload"]): r for r in csv.DictReader((logs / "index.csv").open())}
    kernels: dict[tuple[str, str], list[int]] = {}
    for row in csv.DictReader((logs / "kernels.csv").open()):
        kernels.setdefault((row["config"], row["workload"]), []).append(int(row["gpu_sim_cycle"]))
    print(
        f"{'config':<16}{'workload':<17}{'cycles':>9}{'Accel-Sim':>11}{'error %':>9}{'Minstr/s':>10}{'CPU ratio':>11}"
    )
    errors: list[float] = []
    ours = theirs = 0.0
    for (config, workload), row in index.items():
        folder = shared / "accelsim/traces" / workload / TRACES_OF_CONFIG.get(config, "")
        if config not in configs or not (folder / "kernelslist.g").exists() or (quick and workload not in QUICK):
            continue
        spec = read_accelsim_config(shared / "accelsim/configs" / config).spec
        run = min((run_folder(folder, spec) for _ in range(RUNS)), key=lambda run: run.cpu_seconds)
        expected = [cycles - spec.launch_latency_cycles for cycles in kernels[config, workload]]
        errors += [abs(a / b - 1) for a, b in zip(run.cycles, expected, strict=True)]
        ours, theirs = ours + run.cpu_seconds, theirs + float(row["cpu_s"])
        error = sum(run.cycles) / sum(expected) - 1
        print(
            f"{config:<16}{workload:<17}{sum(run.cycles):>9}{sum(expected):>11}{100 * error:>9.2f}"
            f"{run.instructions / run.cpu_seconds / 1e6:>10.2f}{float(row['cpu_s']) / run.cpu_seconds:>11.1f}",
            flush=True,
        )
    errors.sort()
    exact = sum(e == 0 for e in errors) / len(errors)
    print(
        f"\n{len(errors)} kernels: {100 * exact:.1f} % exact, mean error {100 * sum(errors) / len(errors):.3f} %,"
        f" p90 {100 * errors[int(0.9 * len(errors))]:.2f} %, worst {100 * errors[-1]:.2f} %;"
        f" CPU time {ours:.1f} s, Accel-Sim {theirs:.1f} s: {theirs / ours:.1f} times\n"
    )


def microbenchmarks(shared: Path, configs: list[str]) -> None:
    """Every measured point; kernels of one bench run in order on one machine."""
    benches: dict[tuple[str, str, str], list[dict[str, str]]] = {}
    for row in csv.DictReader((shared / "microbench/results.csv").open()):
        benches.setdefault((row["config"], row["variant"], row["bench"]), []).append(row)
    errors: list[tuple[float, str]] = []
    for (config, _, bench), rows in benches.items():
        if config not in configs:
            continue
        spec = read_accelsim_config(shared / "accelsim/configs" / config).spec
        spec = replace(spec, launch_latency_cycles=int(rows[0]["launch_latency"]))
        cycles = run_folder(shared / "microbench/traces" / bench / TRACES_OF_CONFIG[config], spec).cycles
        for row in rows:
            expected = int(row["cycles_net"])
            name = f"{config} {bench} {row['kernel']}: {cycles[int(row['kernel']) - 1]} for {expected}"
            errors.append((abs(cycles[int(row["kernel"]) - 1] / expected - 1), name))
    exact = sum(e == 0 for e, _ in errors) / len(errors)
    close = sum(e <= 0.02 for e, _ in errors) / len(errors)
    print(f"microbenchmarks: {len(errors)} points, {100 * exact:.2f} % exact, {100 * close:.2f} % within 2 %")
    for error, name in sorted(errors, reverse=True)[:5]:
        print(f"    {100 * error:6.2f} %  {name}")
    print()


def start_phases(shared: Path, configs: list[str], name: str) -> None:
    """The same kernels launched a few cycles later each time; all else is equal. One row per kernel and config.

    ``error`` is that of the launch Accel-Sim has too, ``spread`` what the slowest launch takes more than the fastest.
    """
    print(
        f"{'config':<16}{'kernel':<20}{'Accel-Sim':>10}{'ours':>9}{'error %':>9}{'fastest':>9}{'slowest':>9}{'spread %':>10}"
    )
    for config in configs:
        reference = reference_of(shared, config, name)
        if not reference.cycles or not (reference.folder / "kernelslist.g").exists():
            continue
        spec = read_accelsim_config(shared / "accelsim/configs" / config).spec
        latencies = [reference.launch_latency + phase for phase in PHASES]
        runs = [run_folder(reference.folder, replace(spec, launch_latency_cycles=late)).cycles for late in latencies]
        for kernel, expected in reference.cycles.items():
            cycles = [run[kernel - 1] for run in runs]
            print(
                f"{config:<16}{f'{name} {kernel}':<20}{expected:>10}{cycles[0]:>9}{100 * (cycles[0] / expected - 1):>9.2f}"
                f"{min(cycles):>9}{max(cycles):>9}{100 * (max(cycles) / min(cycles) - 1):>10.2f}",
                flush=True,
            )


def reference_of(shared: Path, config: str, name: str) -> Reference:
    """What Accel-Sim says about a workload or a microbenchmark on a config; without cycles if it was not run there."""
    traces = TRACES_OF_CONFIG[config]
    if (shared / "microbench/traces" / name).is_dir():
        rows = csv.DictReader((shared / "microbench/results.csv").open())
        points = [r for r in rows if (r["config"], r["bench"], r["variant"]) == (config, name, "config")]
        return Reference(
            shared / "microbench/traces" / name / traces,
            int(points[0]["launch_latency"]) if points else 0,
            {int(point["kernel"]): int(point["cycles_net"]) for point in points},
        )
    latency = read_accelsim_config(shared / "accelsim/configs" / config).spec.launch_latency_cycles
    rows = csv.DictReader((shared / "accelsim/logs/kernels.csv").open())
    kernels = [r for r in rows if (r["config"], r["workload"]) == (config, name)]
    cycles = {number: int(row["gpu_sim_cycle"]) - latency for number, row in enumerate(kernels, start=1)}
    return Reference(shared / "accelsim/traces" / name / traces, latency, cycles)


def scaling(shared: Path) -> None:
    """One workload at several sizes (its CTAs several times over): cost must grow as the work does."""
    spec = read_accelsim_config(shared / "accelsim/configs/SM86_RTX3070").spec
    with lzma.open(shared / "accelsim/traces/transpose_naive/sm86/kernel-1.traceg.xz", "rt") as file:
        text = file.read()
    print(f"{'size':>6}{'instructions':>14}{'cycles':>10}{'CPU s':>8}{'us/instr':>10}")
    for scale in SCALES:
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "kernel-1.traceg").write_text(enlarged(text, scale))
            Path(folder, "kernelslist.g").write_text("kernel-1.traceg\n")
            run = run_folder(Path(folder), spec)
        print(
            f"{scale:>5}x{run.instructions:>14}{sum(run.cycles):>10}{run.cpu_seconds:>8.2f}"
            f"{1e6 * run.cpu_seconds / run.instructions:>10.2f}"
        )


def enlarged(text: str, scale: int) -> str:
    """The kernel with all its CTAs ``scale`` times, one after the other."""
    head, _, blocks = text.partition("#BEGIN_TB")
    grid = re.search(r"-grid dim = \((\d+),(\d+),(\d+)\)", head)
    if grid is None:
        raise ValueError("the trace has no grid")
    x, y, z = (int(n) for n in grid.groups())
    head = head.replace(grid.group(0), f"-grid dim = ({x},{y},{z * scale})")
    return head + ("#BEGIN_TB" + blocks.rstrip() + "\n\n") * scale


if __name__ == "__main__":
    main()
