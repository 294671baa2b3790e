"""GPU configs, sims and what they leave behind. The sim's state machine is in ``sim.py``, as locked methods."""

from sims.models.gpu_config import GpuConfig
from sims.models.log import LogSegment, LogState
from sims.models.results import SimFile, SimKernel, StepTimeline, TimelineOrigin
from sims.models.sim import Sim
from sims.models.states import SimStatus

__all__ = [
    "GpuConfig",
    "LogSegment",
    "LogState",
    "Sim",
    "SimFile",
    "SimKernel",
    "SimStatus",
    "StepTimeline",
    "TimelineOrigin",
]
