"""Memory is bounded by what is in flight, not by the trace."""

import subprocess
import sys
from pathlib import Path

from tests.conftest import PROJECT
from tests.engine.kernel_texts import EXIT, cta, header

BASE = 0x7F4B00000000
CTAS = 1500
TIMES_LARGER = 4
MEASURE = """
import resource, sys
from pathlib import Path
from sims.engine.front import Options, Simulation, read_plan
from sims.gpus import load_shipped
spec = load_shipped()["SM86_RTX3070"]
reports = list(Simulation(read_plan(Path(sys.argv[1])), spec, Options(threads=2).exact()).kernels())
print(int(reports[0].stats["gpgpu_n_tot_w_icount"]), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def peak_kib(folder: Path, ctas: int) -> int:
    """Peak memory of a process that simulates a kernel of so many CTAs, one after the other as large as the next."""
    lines = [f"{16 * i:04x} ffffffff 1 R2 IADD3 2 R2 R4 0 0" for i in range(300)]
    lines += [f"2000 ffffffff 1 R6 LDG.E 1 R8 4 1 {BASE + 4096 * k:#x} 4 0" for k in range(20)]
    folder.mkdir()
    with (folder / "kernel-1.traceg").open("w") as file:
        file.write(header(ctas=ctas, threads=32))
        block = cta([*lines, EXIT])
        for _ in range(ctas):
            file.write(block)
    (folder / "kernelslist.g").write_text("kernel-1.traceg\n")
    command = [sys.executable, "-c", MEASURE, str(folder)]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=True)
    instructions, kib = (int(word) for word in done.stdout.split())
    assert instructions == ctas * (len(lines) + 1)
    return kib


def test_a_file_four_times_as_large_takes_no_more_memory(tmp_path: Path) -> None:
    small = peak_kib(tmp_path / "small", CTAS)
    large = peak_kib(tmp_path / "large", TIMES_LARGER * CTAS)
    size_kib = (tmp_path / "large" / "kernel-1.traceg").stat().st_size // 1024
    assert large - small < size_kib // 4
