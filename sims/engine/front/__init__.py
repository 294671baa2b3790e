"""The front of the built-in simulator: a trace and a GPU in, a report per kernel and a log out."""

from sims.engine.front.options import OptionError, Options
from sims.engine.front.plan import Launch, Plan, find_list, kernels_in, read_plan
from sims.engine.front.progress import SimulationProgress
from sims.engine.front.report import KernelReport
from sims.engine.front.simulate import Simulation, SimulationError, simulate

__all__ = [
    "KernelReport",
    "Launch",
    "OptionError",
    "Options",
    "Plan",
    "Simulation",
    "SimulationError",
    "SimulationProgress",
    "find_list",
    "kernels_in",
    "read_plan",
    "simulate",
]
