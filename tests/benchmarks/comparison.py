"""How long a comparison of 10,000 kernels on 8 GPU configs takes, and its exports.

python -m tests.benchmarks.comparison
"""

import random
import time
from collections.abc import Callable
from typing import Any

from runs.comparison import compare
from runs.comparison_export import to_csv, to_json, to_parquet
from runs.rows import RealKernel, SimulatedKernel, SimulatedRun

KERNELS, CONFIGS = 10_000, 8


def main() -> None:
    """Print one line per measured call."""
    chance = random.Random(1)
    # Half as many names as kernels: as many groups as a step ever has.
    real = [
        RealKernel(i, f"_Z6kernel{i % (KERNELS // 2)}PfS_i", real_ns=chance.lognormvariate(9, 1))
        for i in range(1, KERNELS + 1)
    ]
    runs = [_simulated(f"CONFIG_{number}", real, chance) for number in range(CONFIGS)]
    body = _timed(f"compare {KERNELS} kernels x {CONFIGS} configs", lambda: compare("run-1", "trace", real, runs))
    _timed("as JSON", lambda: to_json(body))
    _timed("as CSV", lambda: b"".join(to_csv(body)))
    _timed("as Parquet", lambda: to_parquet(body))


def _simulated(config: str, real: list[RealKernel], chance: random.Random) -> SimulatedRun:
    kernels = []
    for kernel in real:
        time_ns = (kernel.real_ns or 0.0) * chance.uniform(0.8, 1.3)
        cycles = int(time_ns * 1.7) + 5000
        kernels.append(SimulatedKernel(kernel.index, kernel.name, cycles, time_ns, launch_cycles=5000))
    return SimulatedRun(config, f"sim-{config}", 1700.0, kernels)


def _timed(what: str, call: Callable[[], Any]) -> Any:
    start = time.perf_counter()
    result = call()
    print(f"{what:45s} {time.perf_counter() - start:8.3f} s")
    return result


if __name__ == "__main__":
    main()
