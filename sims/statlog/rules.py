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


class Rules(dict[str, int]):
    """Flags by a statistic's name, worked out at its first use: a block has thousands of names, the same in each."""

    def __missing__(self, name: str) -> int:
        if len(self) >= MAX_RULES:
            self.clear()
        self[name] = flags = rule_of(name)
        return flags


def rule_of(name: str) -> int:
    """The flags of one name."""
    flags = COUNTER if name not in _OF_ONE_KERNEL and not _AS_PRINTED.match(name) else 0
    flags |= CELL if _CELL.search(name) else 0
    flags |= PER_STREAM if "_stats_breakdown[" in name else 0
    return flags | (INDEXED if "[" in name or "{" in name else 0)


RULES = Rules()
"""Shared by all logs of the process."""
