"""A simulator's log, read as it grows: finished kernels with their statistics, and what the run said about itself."""

from sims.statlog.block import KernelBlock
from sims.statlog.facts import LogFacts
from sims.statlog.parser import StatLog

__all__ = ["KernelBlock", "LogFacts", "StatLog"]
