"""What a runner is told to do: one JSON file, written by the task that starts it. It holds no secret."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from sims.simulators.base import Places


@dataclass(frozen=True, slots=True)
class Limits:
    """How often, how long, how much; see the settings of the same names."""

    heartbeat_s: float = 5
    lease_s: float = 60
    stall_s: float = 3600
    patience_s: float = 900
    """How long the app may be away before the runner gives up."""
    grace_s: float = 10
    """Between SIGTERM and SIGKILL."""
    max_log_bytes: int = 4 * 1024**3
    max_file_bytes: int = 256 * 1024**2
    log_chunk_bytes: int = 512 * 1024
    sim_memory_bytes: int = 0
    """Of the simulator's process: its address space, any file it writes, its open files; 0 for no limit."""
    sim_file_bytes: int = 0
    sim_open_files: int = 0

    @property
    def of_process(self) -> dict[str, int]:
        """The limits that the kernel sets to the simulator's process, by their names there."""
        every = {"AS": self.sim_memory_bytes, "FSIZE": self.sim_file_bytes, "NOFILE": self.sim_open_files}
        return {name: most for name, most in every.items() if most}


@dataclass(frozen=True, slots=True)
class TracePlace:
    """Where the trace's files are: a folder on this machine, or a prefix in the object storage of the settings."""

    id: str
    list_name: str
    folder: str | None = None
    prefix: str | None = None
    cache_folder: str | None = None
    """Where files of a prefix are kept for the next runner."""


@dataclass(frozen=True, slots=True)
class Assignment:
    sim_id: str
    attempt: int
    url: str
    worker: str
    simulator: str
    spec: dict[str, Any]
    trace: TracePlace
    work_folder: str
    kernel_indices: list[int] = field(default_factory=list)
    kernels_total: int | None = None
    options: dict[str, Any] = field(default_factory=dict)
    real_launches: list[dict[str, Any]] = field(default_factory=list)
    """The real run's, as ``traces.real_run`` writes them; empty where it is not known when each began."""
    traced_spec: dict[str, Any] | None = None
    """The config of the GPU that the real run was on, where there is one: what is unlike anything simulated is scaled
    from its rates."""
    limits: Limits = field(default_factory=Limits)
    places: Places = field(default_factory=Places)

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self)), encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> "Assignment":
        data = json.loads(path.read_text(encoding="utf-8"))
        nested = {"trace": TracePlace, "limits": Limits, "places": Places}
        return cls(**data | {name: kind(**data[name]) for name, kind in nested.items()})
