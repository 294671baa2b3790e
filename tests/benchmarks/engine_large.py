"""The timing engine on one large kernel file: ``python -m tests.benchmarks.engine_large [--gigabytes N] [--threads N]``.

Writes a kernel whose warps load from 32 addresses a time and compute, each CTA elsewhere than the 1,999 before it, and
simulates it exactly. Prints how long it took, instructions/s and the peak memory, which must not grow with the file. The file
lies in the folder for temporary files (``TMPDIR``), which must have room for it.
"""

import argparse
import resource
import tempfile
import time
from pathlib import Path

from sims.engine.front import Options, Simulation, read_plan
from sims.gpus import load_shipped
from tests.engine.kernel_texts import EXIT, cta, header

CONFIG = "SM86_RTX3070"
BASE = 0x7F4B00000000
WARPS, LOADS, ADDS_PER_LOAD = 4, 8, 4
DIFFERENT_CTAS = 2000
ADD = "0010 ffffffff 1 R5 FADD 2 R5 R6 0 0 "


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--gigabytes", type=float, default=20.0, metavar="N")
    parser.add_argument("--threads", type=int, default=2, metavar="N")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        size_bytes = write_kernel(Path(folder), options.gigabytes * 1e9)
        started = time.perf_counter()
        simulation = Simulation(
            read_plan(Path(folder)), load_shipped()[CONFIG], Options(threads=options.threads).exact()
        )
        (report,) = simulation.kernels()
        took_s = time.perf_counter() - started
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{size_bytes / 1e9:.1f} GB, {report.warp_instructions:,} warp instructions, {report.cycles:,} cycles: {took_s:.0f} s,"
        f" {report.warp_instructions / took_s / 1e6:.2f} M instructions/s, at most {peak_mib:.0f} MiB of memory"
    )


def write_kernel(folder: Path, wanted_bytes: float) -> int:
    """Write the trace; returns the size of its kernel file."""
    block = "".join(cta_text(number) for number in range(DIFFERENT_CTAS)).encode()
    repeats = max(1, round(wanted_bytes / len(block)))
    kernel = folder / "kernel-1.traceg"
    with kernel.open("wb") as file:
        file.write(header(ctas=repeats * DIFFERENT_CTAS, threads=32 * WARPS).encode())
        for _ in range(repeats):
            file.write(block)
    (folder / "kernelslist.g").write_text("kernel-1.traceg\n")
    return kernel.stat().st_size


def cta_text(number: int) -> str:
    """A CTA whose warps load what no other loads."""
    first = BASE + number * WARPS * LOADS * 128
    warps = (
        [line for k in range(LOADS) for line in load_and_add(first + 128 * (w * LOADS + k), k)] for w in range(WARPS)
    )
    return cta(*([*lines, EXIT] for lines in warps))


def load_and_add(address: int, register: int) -> list[str]:
    """A load of each lane's own word, and arithmetic that does not wait for it."""
    addresses = " ".join(f"{address + 4 * lane:#x}" for lane in range(32))
    return [f"0030 ffffffff 1 R{8 + register} LDG.E 1 R2 4 0 {addresses} 0 ", *[ADD] * ADDS_PER_LOAD]


if __name__ == "__main__":
    main()
