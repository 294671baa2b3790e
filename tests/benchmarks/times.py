"""How long 100,000 launches take to be read and matched, and the memory at the peak.

python -m tests.benchmarks.times
"""

import json
import random
import resource
import sqlite3
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from traces.matching import TraceKernel, match
from traces.times import read_times

LAUNCHES = 100_000
HEADER = (
    "Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,StcSMem (MB),DymSMem (MB),Bytes (MB),"
    "Throughput (MB/s),SrcMemKd,DstMemKd,Device,Ctx,GreenCtx,Strm,Name"
)


def main() -> None:
    """Write each kind of file, read it, match it to a trace that lacks some kernels, and print the CPU time it took."""
    chance = random.Random(7)
    kinds = [f"_Z{len(name)}{name}IfLi{width}EEvPT_i" for name in ("gemm", "norm", "rope") for width in range(100)]
    kernels = [
        TraceKernel(index, chance.choice(kinds), (chance.randint(1, 64), 1, 1), (128, 1, 1))
        for index in range(1, LAUNCHES + 1)
    ]
    kept = [kernel for kernel in kernels if chance.random() > 0.01]
    with tempfile.TemporaryDirectory() as folder:
        for name, write in (("t.csv", _csv), ("t.json", _json), ("t.sqlite", _sqlite), ("ncu.csv", _ncu)):
            path = Path(folder) / name
            write(path, kernels)
            _measure(path, kept)


def _measure(path: Path, kernels: list[TraceKernel]) -> None:
    start = time.process_time()
    report = read_times(path)
    read = time.process_time()
    found = match(kernels, report)
    end = time.process_time()
    megabytes = path.stat().st_size / 1e6
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{report.source:12s} {megabytes:6.1f} MB read {read - start:5.2f} s, match {end - read:5.2f} s, "
        f"unmatched {len(found.unmatched_kernels)} / {len(found.unmatched_launches)}, peak {peak_mb:.0f} MB"
    )


def _demangled(kernel: TraceKernel) -> str:
    name, _, width = kernel.name.removesuffix("EEvPT_i").partition("IfLi")
    return f"void {name.lstrip('_Z0123456789')}<float, (int){width}>(T1 *, int)"


def _csv(path: Path, kernels: list[TraceKernel]) -> None:
    with path.open("w") as file:
        file.write(HEADER + "\n")
        for kernel in kernels:
            x = kernel.grid[0]
            row = f"{kernel.index * 2000},1500,{kernel.index},{x},1,1,128,1,1,40,0.0,0.1,,,,,NVIDIA A100 (0),1,,7"
            file.write(f'{row},"{_demangled(kernel)}"\n')


def _json(path: Path, kernels: list[TraceKernel]) -> None:
    row = {"GrdY": 1, "GrdZ": 1, "BlkX": 128, "BlkY": 1, "BlkZ": 1, "Device": "NVIDIA A100 (0)", "Strm": 7}
    rows = [
        {
            "Start (ns)": kernel.index * 2000,
            "Duration (ns)": 1500,
            "GrdX": kernel.grid[0],
            "Name": _demangled(kernel),
            **row,
        }
        for kernel in kernels
    ]
    path.write_text(json.dumps(rows))


def _sqlite(path: Path, kernels: list[TraceKernel]) -> None:
    names = {name: place for place, name in enumerate(dict.fromkeys(map(_demangled, kernels)))}
    sides = ", ".join(f"{what}{axis} INTEGER" for what in ("grid", "block") for axis in "XYZ")
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT)")
        database.executemany("INSERT INTO StringIds VALUES (?, ?)", ((place, name) for name, place in names.items()))
        database.execute(
            "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER,"
            f"demangledName INTEGER, shortName INTEGER, {sides})"
        )
        rows = (
            (k.index * 2000, k.index * 2000 + 1500, 0, 7, names[_demangled(k)], names[_demangled(k)], *k.grid, *k.block)
            for k in kernels
        )
        database.executemany(f"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ({','.join('?' * 12)})", rows)
    database.close()


def _ncu(path: Path, kernels: list[TraceKernel]) -> None:
    metrics: list[Callable[[TraceKernel], str]] = [
        lambda kernel: f'"Duration","us","{1 + kernel.index % 97 / 100}"',
        lambda kernel: '"SM Frequency","Ghz","1.10"',
        lambda kernel: '"Elapsed Cycles","cycle","25,591"',
    ]
    with path.open("w") as file:
        file.write('"ID","Kernel Name","Stream","Block Size","Grid Size","Metric Name","Metric Unit","Metric Value"\n')
        for kernel in kernels:
            head = f'"{kernel.index}","{_demangled(kernel)}","7","(128, 1, 1)","({kernel.grid[0]}, 1, 1)"'
            file.writelines(f"{head},{metric(kernel)}\n" for metric in metrics)


if __name__ == "__main__":
    main()
