"""The two kinds of row that comparisons, exports and Chrome traces are made of.

They are plain so that the functions over them need no database: a view fills them from a query, a command from a log.
"""

from collections.abc import Sequence
from dataclasses import dataclass

Dim3 = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class RealKernel:
    """One launch of the trace, with its measured time where one is known."""

    index: int
    """From 1, in launch order."""
    name: str
    grid: Dim3 = (1, 1, 1)
    block: Dim3 = (1, 1, 1)
    stream: int | str = 0
    real_ns: float | None = None
    start_ns: int | None = None
    step: int | None = None
    phase: str | None = None


@dataclass(frozen=True, slots=True)
class SimulatedKernel:
    """One launch as a simulator reports it."""

    index: int
    """The trace kernel's index; a number the trace does not have for a kernel that only the log knows."""
    name: str
    cycles: int | None
    simulated_ns: float | None
    """Without the launch latency: (``cycles`` - ``launch_cycles``) / core clock."""
    launch_cycles: int = 0
    launch_uid: int | None = None
    instructions: int | None = None
    occupancy: float | None = None
    """Resident warps, as a fraction of the SMs' slots."""
    dram_bytes: int | None = None
    stream: int | str = 0
    source: str = "simulated"


@dataclass(frozen=True, slots=True)
class SimulatedRun:
    """All kernels of one sim: a GPU config's answer."""

    gpu_config: str
    sim_id: str
    core_clock_mhz: float
    kernels: Sequence[SimulatedKernel]
