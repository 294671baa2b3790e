"""The built-in timing model as a simulator: its own process, so that no lease waits for compiled code."""

import importlib.util
import json
import os
import sys

from sims.gpus import GpuSpec, spec_to_dict
from sims.simulators.base import Command, Job, Places
from sims.simulators.software import engine_digest, libraries

JOB_FILE = "job.json"
PROGRESS_FILE = "progress.jsonl"
SWITCHES = frozenset({"exact", "l2", "threads"})
"""The run's options that are the model's own; the others speak to the runner or to another simulator."""


class Builtin:
    """``python -m sims.simulators.builtin job.json`` in the work folder.

    The job file has ``trace_list`` (path of the kernelslist), ``spec``, ``kernel_indices`` (from 1; empty for all),
    ``options`` and ``progress_file``. The log goes to stdout, progress as a JSON object a line to that file.
    """

    name = "builtin"

    def __init__(self, places: Places) -> None:
        pass

    def why_not(self, spec: GpuSpec) -> str | None:
        if importlib.util.find_spec("sims.simulators.builtin.__main__") is None:
            return "The built-in simulator is not part of this installation."
        return None

    def software(self) -> dict[str, str]:
        """The engine's sources have no version of their own: their digest tells one from another."""
        return {"engine": engine_digest(), **libraries("numba", "llvmlite", "numpy")}

    def prepare(self, job: Job) -> Command:
        description = {
            "trace_list": str(job.trace_folder / job.list_name),
            "spec": spec_to_dict(job.spec),
            "kernel_indices": list(job.kernel_indices),
            "options": {name: value for name, value in job.options.items() if name in SWITCHES},
            "progress_file": PROGRESS_FILE,
        }
        (job.work_folder / JOB_FILE).write_text(json.dumps(description), encoding="utf-8")
        # The compiled model and decoded traces are kept from one simulation to the next.
        kept = {name: os.environ[name] for name in ("CASCADE_DATA", "NUMBA_CACHE_DIR") if name in os.environ}
        argv = [sys.executable, "-m", "sims.simulators.builtin", JOB_FILE]
        return Command(argv, kept, progress_file=PROGRESS_FILE)
