"""How far a simulation is, and what that lets one expect."""

from pathlib import Path

import pytest

from sims.engine.front.plan import Launch
from sims.engine.front.progress import ProgressMeter, SimulationProgress
from sims.engine.machine import Progress


class Simulated:
    """Two kernels of equal weight, and a clock."""

    def __init__(self) -> None:
        self.now = 50.0
        self.told: list[SimulationProgress] = []
        self.launches = [Launch(n, n, Path(f"kernel-{n}.traceg"), 100) for n in (1, 2)]
        self.meter = ProgressMeter(self.launches, self.told.append, lambda: self.now)

    def running(self, ctas_ended: int, instructions: int) -> SimulationProgress:
        """The first kernel's report, of ten CTAs."""
        self.meter.running(self.launches[0], "kernel", Progress(ctas_ended, 10, instructions, 0))
        return self.told[-1]


def test_speed_and_rest_count_from_when_compilation_is_over() -> None:
    simulated = Simulated()
    simulated.now += 60
    assert simulated.running(0, 0).seconds_left is None
    simulated.now += 2
    told = simulated.running(5, 1000)
    assert (told.seconds, told.instructions_per_s, told.share) == (62, 500, 0.25)
    assert told.seconds_left == pytest.approx(6)


def test_an_ended_kernel_counts_by_its_weight() -> None:
    simulated = Simulated()
    simulated.now += 3
    simulated.meter.ended(simulated.launches[0], "kernel", 600)
    told = simulated.told[-1]
    assert (told.kernels_done, told.share, told.instructions_per_s, told.seconds_left) == (1, 0.5, 200, 3)
