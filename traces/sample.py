"""The sample that ships with Cascade: a run directory of BabelStream, and where its recorded log lies.

The trace is written by our own generator and the times beside it are made up (``run.json`` says so): the sample shows
how Cascade works, not how fast a GPU is. The log is what Accel-Sim printed for exactly this trace.
"""

import json
from pathlib import Path
from typing import Any

from traces.babelstream import BINARY_VERSION, babelstream_commands
from traces.generator import GeneratedKernel, write_trace
from traces.rundir import ALIGNMENT_FILE, METADATA_FILE, TIMELINE_FILE, TRACE_FOLDER

SAMPLES = Path(__file__).parent / "samples"
SAMPLE_RUN_DIRECTORY = SAMPLES / "babelstream"
SAMPLE_LOG = SAMPLES / "babelstream.SM86_RTX3070.log.xz"

SYNTHETIC_DURATIONS_NS = (9_140, 12_830, 8_020, 19_650, 18_300, 14_960)
"""Made up: init, copy, mul, add, triad, dot."""
SYNTHETIC_GAP_NS = 1_250

METADATA = {
    "name": "babelstream-sample",
    "workload": "BabelStream, double precision, 2^18 elements an array",
    "gpu": "NVIDIA GeForce RTX 3070",
    "created_at": "2026-11-30T00:00:00Z",
    "synthetic": "The trace is generated and the kernel times are made up: no GPU was involved.",
}


def write_sample(folder: Path) -> None:
    """Writes the sample as a run directory into a new or empty folder. Raises ``FileExistsError`` for any other."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise FileExistsError(f"{folder} exists and is not empty: name a new folder.")
    commands = babelstream_commands()
    write_trace(folder / TRACE_FOLDER, commands, BINARY_VERSION)
    kernels = [command for command in commands if isinstance(command, GeneratedKernel)]
    _write_json(folder / METADATA_FILE, METADATA)
    _write_json(folder / TIMELINE_FILE, _timeline(kernels))
    _write_json(folder / ALIGNMENT_FILE, _alignment(len(kernels)))


def _timeline(kernels: list[GeneratedKernel]) -> dict[str, Any]:
    rows = []
    start_ns = 0
    for kernel, duration_ns in zip(kernels, SYNTHETIC_DURATIONS_NS, strict=True):
        rows.append(
            {
                "name": kernel.name,
                "start_ns": start_ns,
                "duration_ns": duration_ns,
                "stream": kernel.stream,
                "grid": list(kernel.grid),
                "block": list(kernel.block),
            }
        )
        start_ns += duration_ns + SYNTHETIC_GAP_NS
    return {"steps": [{"index": 0, "phase": "babelstream", "kernels": rows}]}


def _alignment(kernels_total: int) -> dict[str, Any]:
    return {"kernels": [{"trace_kernel": n + 1, "step": 0, "position": n} for n in range(kernels_total)]}


def _write_json(path: Path, document: dict[str, Any]) -> None:
    path.write_text(json.dumps(document, indent=2) + "\n")
