"""How far a simulation is, for a terminal's bar and for heartbeats."""

import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from sims.engine.front.plan import Launch
from sims.engine.machine import Progress


@dataclass(frozen=True, slots=True)
class SimulationProgress:
    """One moment of a simulation."""

    kernel: int
    """Index of the kernel under way."""
    name: str
    kernels_done: int
    kernels_total: int
    kernel_share: float
    """Of the kernel's CTAs, 0..1."""
    share: float
    """Of all the work, 0..1: kernels weigh what their files do."""
    instructions: int
    """Warp instructions simulated so far."""
    instructions_per_s: float
    seconds: float
    seconds_left: float | None

    def to_dict(self) -> dict[str, Any]:
        """As a line of a progress file."""
        return asdict(self)


class ProgressMeter:
    """Turns the engine's reports on one kernel into progress of the whole."""

    def __init__(
        self,
        launches: list[Launch],
        on_progress: Callable[[SimulationProgress], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._on_progress = on_progress
        self._clock = clock
        self._started = self._working_since = clock()
        self._total_weight = max(1, sum(launch.weight for launch in launches))
        self._kernels_total = len(launches)
        self._done_weight = 0
        self._done_kernels = 0
        self._instructions = 0
        self._lock = threading.Lock()

    def running(self, launch: Launch, name: str, progress: Progress) -> None:
        """The engine's report from inside a kernel."""
        share = progress.ctas_ended / max(1, progress.ctas)
        self._tell(launch, name, share, self._instructions + progress.instructions)

    def ended(self, launch: Launch, name: str, instructions: int) -> None:
        """A kernel has ended; ``instructions`` are those that were really simulated."""
        with self._lock:  # kernels may end in several threads
            self._done_weight += launch.weight
            self._done_kernels += 1
            self._instructions += instructions
        self._tell(launch, name, 0.0, self._instructions)

    def _tell(self, launch: Launch, name: str, kernel_share: float, instructions: int) -> None:
        now = self._clock()
        share = min(1.0, (self._done_weight + kernel_share * launch.weight) / self._total_weight)
        if share == 0 and instructions == 0:
            # So far it has compiled: what that takes says nothing of the speed, nor of the rest.
            self._working_since = now
        working_s = now - self._working_since
        self._on_progress(
            SimulationProgress(
                kernel=launch.index,
                name=name,
                kernels_done=self._done_kernels,
                kernels_total=self._kernels_total,
                kernel_share=kernel_share,
                share=share,
                instructions=instructions,
                instructions_per_s=instructions / working_s if working_s > 0 else 0.0,
                seconds=now - self._started,
                seconds_left=working_s * (1 - share) / share if share > 0 else None,
            )
        )
