"""Threads and shortcuts of the timing engine: ``python -m tests.benchmarks.engine_speed [--threads N]``.

First table: the large reference workloads on one thread and on N, wall time, through ``Simulation`` as ``manage.py simulate``
runs them; the results must be equal. Beside it what N cores of this machine give at best: N processes that each simulate the
workload on one thread, at the same time, against one that does so alone (cores that share caches, clock or a physical core give
less than N). Second table: the decode step exactly and with the shortcuts on, CPU time, with a warm cache of decoded kernels,
and the error that the shortcuts add. The best of five runs each, in turn. Needs the reference material.
"""

import argparse
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from sims.engine.front.options import Options
from sims.engine.front.plan import read_plan
from sims.engine.front.simulate import Simulation
from sims.gpus import read_accelsim_config
from tests.benchmarks.engine import TRACES_OF_CONFIG, warm_up
from tests.conftest import PROJECT

WORKLOADS = ("babelstream", "gemm_tiled", "decode_step", "gather")
RUNS = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--threads", type=int, default=2, metavar="N")
    options = parser.parse_args()
    shared = Path(os.environ.get("CASCADE_SHARED", PROJECT.parent / "shared")) / "reference"
    if not shared.is_dir():
        sys.exit(f"the reference material is not at {shared}; set CASCADE_SHARED to its parent folder")
    warm_up(shared)
    threads_table(shared, options.threads)
    shortcuts_table(shared)


@dataclass(frozen=True)
class Run:
    """What a simulation took, and its cycles without launch latency."""

    wall_s: float
    cpu_s: float
    cycles: int


def simulate(shared: Path, config: str, workload: str, options: Options) -> Run:
    spec = read_accelsim_config(shared / "accelsim/configs" / config).spec
    folder = shared / "accelsim/traces" / workload / TRACES_OF_CONFIG[config]
    wall_s, cpu_s = time.perf_counter(), time.process_time()
    reports = list(Simulation(read_plan(folder), spec, options).kernels())
    cycles = sum(report.cycles - spec.launch_latency_cycles for report in reports)
    return Run(time.perf_counter() - wall_s, time.process_time() - cpu_s, cycles)


def quickest(shared: Path, config: str, workload: str, *ways: Options) -> list[Run]:
    """The quickest of some runs in each way; in turn, since the machine is now fast and now slow."""
    runs = [[simulate(shared, config, workload, options) for options in ways] for _ in range(RUNS)]
    return [
        Run(min(run.wall_s for run in same), min(run.cpu_s for run in same), same[0].cycles)
        for same in zip(*runs, strict=True)
    ]


def simulate_beside(arguments: tuple[Path, str, str, int]) -> float:
    """Wall seconds per run of a process that simulates on one thread while others do the same."""
    shared, config, workload, repeats = arguments
    started = time.perf_counter()
    for _ in range(repeats):
        simulate(shared, config, workload, Options().exact())
    return (time.perf_counter() - started) / repeats


def threads_table(shared: Path, threads: int) -> None:
    print(f"{'config':<16}{'workload':<14}{'1 thread s':>12}{f'{threads} threads s':>14}{'times':>8}{'at best':>9}")
    totals = [0.0, 0.0, 0.0]
    with ProcessPoolExecutor(threads, mp_context=get_context("spawn")) as processes:
        for config in TRACES_OF_CONFIG:
            for workload in WORKLOADS:
                alone, together = quickest(
                    shared, config, workload, Options().exact(), Options(threads=threads).exact()
                )
                if alone.cycles != together.cycles:
                    sys.exit(f"{config} {workload}: {alone.cycles} cycles on one thread, else {together.cycles}")
                one, several = alone.wall_s, together.wall_s
                # The first round loads the compiled code.
                for repeats in (1, RUNS):
                    beside = list(processes.map(simulate_beside, [(shared, config, workload, repeats)] * threads))
                best = sum(one / seconds for seconds in beside)
                totals = [sum(pair) for pair in zip(totals, (one, several, one / best), strict=True)]
                print(
                    f"{config:<16}{workload:<14}{one:>12.2f}{several:>14.2f}{one / several:>8.2f}{best:>9.2f}",
                    flush=True,
                )
    one, several, best = totals
    print(f"{'all':<30}{one:>12.2f}{several:>14.2f}{one / several:>8.2f}{one / best:>9.2f}\n")


def shortcuts_table(shared: Path) -> None:
    print(f"{'config':<16}{'exact CPU s':>13}{'shortcuts':>11}{'times':>7}{'added error %':>15}")
    for config in TRACES_OF_CONFIG:
        exact, short = quickest(shared, config, "decode_step", Options().exact(), Options())
        error = 100 * (short.cycles / exact.cycles - 1)
        print(
            f"{config:<16}{exact.cpu_s:>13.2f}{short.cpu_s:>11.2f}{exact.cpu_s / short.cpu_s:>7.2f}{error:>15.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
