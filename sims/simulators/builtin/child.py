"""The simulator's own process: reads a job, writes the log, tells its progress, and ends at once when told to."""

import json
import os
import signal
import sys
import threading
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sims.engine.errors import Cancelled, EngineError
from sims.engine.front import (
    OptionError,
    Options,
    Plan,
    Simulation,
    SimulationError,
    SimulationProgress,
    read_plan,
)
from sims.engine.front.logwriter import LogWriter
from sims.gpus import SpecError, spec_from_dict
from sims.gpus.spec import GpuSpec
from traces.accelsim import TraceError

TERMINATED = 128 + signal.SIGTERM
GRACE_SECONDS = 0.7
"""A slice of compiled code takes 0.2 s at most; only compilation itself can take longer, and is cut off."""
PROGRESS_SECONDS = 0.5


class Stop:
    """Set by SIGTERM. A thread of its own waits for the signal, because the main one may be deep in compiled code."""

    def __init__(self) -> None:
        self._asked = threading.Event()

    def asked(self) -> bool:
        """Whether the process has been told to end."""
        return self._asked.is_set()

    def listen(self) -> None:
        """Take over SIGTERM, which must be blocked in every thread."""
        threading.Thread(target=self._wait, daemon=True).start()

    def _wait(self) -> None:
        signal.sigwait({signal.SIGTERM})
        self._asked.set()
        time.sleep(GRACE_SECONDS)
        os._exit(TERMINATED)


class ProgressFile:
    """One JSON object a line, at most two a second."""

    def __init__(self, path: str | None) -> None:
        self._path = Path(path) if path else None
        self._next = 0.0

    def write(self, progress: SimulationProgress) -> None:
        """Note the progress if it is time, or a kernel has just ended."""
        now = time.monotonic()
        if self._path is None or (now < self._next and progress.kernel_share > 0):
            return
        self._next = now + PROGRESS_SECONDS
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(progress.to_dict()) + "\n")


def main(arguments: list[str]) -> int:
    """The whole process; returns its exit code."""
    if len(arguments) != 1:
        return _fail("usage: python -m sims.simulators.builtin JOB.json")
    stop = Stop()
    stop.listen()
    try:
        spec, plan, options, progress_file = _read_job(Path(arguments[0]))
    except (OSError, ValueError, TraceError) as error:
        return _fail(str(error))
    return _run(spec, plan, options, ProgressFile(progress_file), stop)


def _run(spec: GpuSpec, plan: Plan, options: Options, progress: ProgressFile, stop: Stop) -> int:
    log = LogWriter(sys.stdout, spec)
    try:
        simulation = Simulation(plan, spec, options, progress.write, stop.asked, log.step)
        unsupported = [f"not modelled: {feature}" for feature in simulation.unsupported]
        log.begin(asdict(options), [*plan.warnings, *unsupported])
        for report in simulation.kernels():
            log.kernel(report)
    except Cancelled:
        return TERMINATED
    except (SimulationError, EngineError) as error:
        log.failure(str(error))
        return _fail(str(error))
    except MemoryError as error:
        return _fail(f"MemoryError: {error}")
    log.end()
    return 0


def _read_job(path: Path) -> tuple[GpuSpec, Plan, Options, str | None]:
    """The job file's parts. Raises ``OSError``, ``TraceError`` or ``ValueError`` with one sentence."""
    try:
        job: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        spec = spec_from_dict(job["spec"])
        plan = read_plan(Path(job["trace_list"]), job.get("kernel_indices") or None)
        options = Options.from_dict(job.get("options", {}))
    except (KeyError, TypeError, json.JSONDecodeError) as error:
        raise ValueError(f"{path}: this is not a job file ({error!r})") from error
    except (SpecError, OptionError) as error:
        raise ValueError(f"{path}: {error}") from error
    if not plan.launches:
        raise ValueError(f"{job['trace_list']}: the list has no kernel to simulate")
    return spec, plan, options, job.get("progress_file")


def _fail(message: str) -> int:
    sys.stderr.write(message.replace("\n", " ") + "\n")
    return 1
