"""A running kernel: its launch, the SMs it runs on, and the threads that work on it."""

from typing import NamedTuple

import numpy as np

from sims.engine.jit import Record, Table

LAUNCH = np.dtype(
    [
        ("ctas", "i8"),
        ("loaded", "i8"),  # CTAs in the chunk store so far
        ("next_cta", "i8"),
        ("warps_per_cta", "i8"),
        ("ctas_per_sm", "i8"),
        ("l1_ways", "i8"),
        ("last_sm", "i8"),
        ("cycle", "i8"),  # SM time, from the kernel's start
        ("limit", "i8"),  # end of the quantum
        ("start", "i8"),  # global cycle of the kernel's start
        ("end", "i8"),  # cycle in which the last CTA ended
        ("phase", "i8"),
        ("tight", "i8"),  # SMs whose request buffer might fill in this quantum
        ("horizon", "i8"),  # those SMs run up to this cycle next
        ("crossed", "i8"),  # cycle up to which the request crossbar has been run
        ("followed", "i8"),  # and cycle up to which memory has followed
        ("packets_per_cycle", "i8"),  # most that an SM can send
        ("has_clusters", "i8"),
    ]
)
"""A kernel's shape and how far it is."""

RUNS_ON = -1
"""In ``stopped``: the SM has not stopped."""
RESUMED = -2
"""It stopped, has what it waited for, and has not run on yet."""


class Running(NamedTuple):
    """What the loop works on, besides memory and the trace."""

    gpu: Record
    sms: Table
    launch: Record
    stopped: Table
    """By SM: the cycle after which it stopped because it has room for a CTA and one waits; or one of the numbers above."""
    team: Record
