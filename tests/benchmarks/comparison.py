"""How long a comparison of 10,000 kernels on 8 GPU configs takes, its exports, and a Chrome trace of 100,000 kernels.

python -m tests.benchmarks.comparison
"""

import random
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

from cascade_site.serializing import dumped
from runs.comparison import compare
from runs.comparison_export import to_csv, to_parquet
from runs.perfetto import chrome_trace, real_process, simulated_process
from runs.rows import RealKernel, SimulatedKernel, SimulatedRun

KERNELS, CONFIGS = 10_000, 8
TRACED_KERNELS = 100_000


def main() -> None:
    """Print the CPU time of each call."""
    chance = random.Random(1)
    # Half as many names as kernels: as many groups as a step ever has.
    real = [
        RealKernel(i, f"_Z6kernel{i % (KERNELS // 2)}PfS_i", real_ns=chance.lognormvariate(9, 1))
        for i in range(1, KERNELS + 1)
    ]
    runs = [_simulated(f"CONFIG_{number}", real, chance) for number in range(CONFIGS)]
    body = _timed(f"compare {KERNELS} kernels x {CONFIGS} configs", lambda: compare("run-1", "trace", real, runs))
    _timed("as JSON", lambda: dumped(body))
    _timed("as CSV", lambda: b"".join(to_csv(body)))
    _timed("as Parquet", lambda: to_parquet(body))
    _chrome_trace(chance)


def _chrome_trace(chance: random.Random) -> None:
    """A file of the real run and one config; the memory is what the writer needs beyond the rows it is given."""
    real = [
        RealKernel(i, f"_Z6kernel{i % 500}PfS_i", stream=i % 4, real_ns=1500.0, start_ns=i * 500, step=i // 1000)
        for i in range(1, TRACED_KERNELS + 1)
    ]
    simulated = _simulated("CONFIG_0", real, chance)
    starts_ns = {kernel.index: float(kernel.start_ns or 0) for kernel in real}
    processes = [real_process(real, "GPU"), simulated_process("CONFIG_0", simulated.kernels, starts_ns)]
    size = _timed(
        f"Chrome trace of {TRACED_KERNELS} kernels, twice", lambda: sum(len(part) for part in chrome_trace(processes))
    )
    processes = [real_process(real, "GPU"), simulated_process("CONFIG_0", simulated.kernels, starts_ns)]
    tracemalloc.start()
    for _ in chrome_trace(processes):
        pass
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    print(f"{size / 1e6:.0f} MB written with {peak / 1e6:.0f} MB at the peak")


def _simulated(config: str, real: list[RealKernel], chance: random.Random) -> SimulatedRun:
    kernels = []
    for kernel in real:
        time_ns = (kernel.real_ns or 0.0) * chance.uniform(0.8, 1.3)
        cycles = int(time_ns * 1.7) + 5000
        kernels.append(SimulatedKernel(kernel.index, kernel.name, cycles, time_ns, launch_cycles=5000))
    return SimulatedRun(config, f"sim-{config}", 1700.0, kernels)


def _timed(what: str, call: Callable[[], Any]) -> Any:
    start = time.process_time()
    result = call()
    print(f"{what:45s} {time.process_time() - start:8.3f} s")
    return result


if __name__ == "__main__":
    main()
