"""Which statistics count from the run's start, so that a kernel's own is a difference, and which stand as printed."""

import re

_OF_ONE_KERNEL = frozenset(
    [
        "gpu_sim_cycle",
        "gpu_sim_insn",
        "gpu_ipc",
        "gpu_occupancy",
        "partiton_level_parallism",
        "partiton_level_parallism_util",
        "L2_BW",
        "tol_mem_access_num",
    ]
)
_AS_PRINTED = re.compile(
    r"""
    cascade_ | kernel_ | gpu_(?:avg|max|min)_          # one kernel's, and power reports
    | gpu_tot_                                         # totals by name
    | gpu_sim_ | gpgpu_sim::                           # forks' additions
    | max | min_ | .*\.max$                            # running extremes
    | avg | average | .*\.avg$ | .*\bbw_?util$ | .*\bdram_eff$ | .*(?:_rate|Miss_rate)$  # ratios, also as integers
    | gpgpu_simulation_ | gpu_total_sim_rate | gpgpu_silicon_slowdown                    # host time
    """,
    re.VERBOSE,
)
_CELL = re.compile(r"\[\d+\]$")


COUNTER = 1
"""A count since the run's start: differenced. A value with a decimal point is no counter, whatever its name."""
CELL = 2
"""Of a table: its name ends in a column number, and a zero is left out."""
PER_STREAM = 4
"""Accel-Sim counts cache outcomes per stream and prints those of the ended kernel's stream alone."""
INDEXED = 8
"""One of many like it (a core's, a channel's, a cell)."""

MAX_RULES = 200_000

RULES: dict[str, int] = {}
"""Flags by name, shared by all logs of the process: a block has thousands of names, the same in each."""


def learn_rule(name: str) -> int:
    """The flags of a name that is not among :data:`RULES` yet; they are kept there."""
    if len(RULES) >= MAX_RULES:
        RULES.clear()
    flags = COUNTER if name not in _OF_ONE_KERNEL and not _AS_PRINTED.match(name) else 0
    flags |= CELL if _CELL.search(name) else 0
    flags |= PER_STREAM if "_stats_breakdown[" in name else 0
    flags |= INDEXED if "[" in name or "{" in name else 0
    RULES[name] = flags
    return flags


def is_counter(name: str) -> bool:
    """Whether a statistic counts from the run's start."""
    return bool((RULES.get(name) or learn_rule(name)) & COUNTER)
