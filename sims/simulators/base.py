"""What a simulator is to the runner: a program started in a folder of its own, whose standard output is the log."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from sims.gpus.spec import GpuSpec


@dataclass(frozen=True, slots=True)
class Job:
    """One simulation to do. ``trace_folder`` is read-only; ``work_folder`` is empty and the simulator's own."""

    sim_id: str
    spec: GpuSpec
    trace_folder: Path
    list_name: str
    """The kernelslist inside ``trace_folder``."""
    kernel_indices: tuple[int, ...]
    """The trace's kernels to simulate, from 1 in launch order; empty for all."""
    work_folder: Path
    options: dict[str, Any] = field(default_factory=dict)
    """The run's switches: ``exact``, ``l2``, ``threads``, ..."""


@dataclass(frozen=True, slots=True)
class Places:
    """What simulators need on this machine, as paths; None where the operator has not set it."""

    accelsim: str | None = None
    accelsim_configs: str | None = None
    replay_log: str | None = None


@dataclass(frozen=True, slots=True)
class Command:
    """What to start. Never a shell line: a list, whatever the names in it are."""

    argv: list[str]
    environment: dict[str, str] = field(default_factory=dict)
    """Set on top of a minimal environment that holds no secrets."""
    outputs: tuple[str, ...] = ()
    """Glob patterns of files in the work folder that are uploaded at the end."""
    progress_file: str | None = None
    """A file in the work folder whose last line is a JSON object of live progress."""


class Simulator(Protocol):
    """One of ``builtin``, ``accelsim``, ``replay``."""

    name: str

    def why_not(self, spec: GpuSpec) -> str | None:
        """Why this simulator cannot run the config here; None if it can."""
        ...

    def software(self) -> dict[str, str]:
        """What it computes with on this machine, by name: versions and digests."""
        ...

    def prepare(self, job: Job) -> Command:
        """Lay out what the program reads. Raises ``ValueError`` with one sentence if the job cannot be done."""
        ...
