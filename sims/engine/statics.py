"""Static instructions as the units see them: pipe, latency, interval, operands and their register banks.

Banks are packed four bits each into a word, once per warp phase w mod banks, so that the collector needs no division.
"""

import numpy as np

from sims.engine.parameters import MAX_BANKS
from sims.engine.program import (
    MAX_SOURCES,
    UNIT_BRANCH,
    UNIT_DP,
    UNIT_GMMA,
    UNIT_INT,
    UNIT_MEM,
    UNIT_NAMES,
    UNIT_SFU,
    UNIT_SP,
    UNIT_TENSOR,
    UNIT_TEXTURE,
    UNIT_UNIFORM,
)

# Pipes, numbered in the order in which the collector offers them units (section 2: the order closed the last differences).
PIPE_UNITS = (
    UNIT_SP, UNIT_SFU, UNIT_MEM, UNIT_DP, UNIT_INT, UNIT_BRANCH, UNIT_TEXTURE, UNIT_TENSOR, UNIT_UNIFORM, UNIT_GMMA,
)  # fmt: skip
PIPES = len(PIPE_UNITS)
PIPE_OF_UNIT = {unit: pipe for pipe, unit in enumerate(PIPE_UNITS)}
PIPE_NAMES = tuple(UNIT_NAMES[unit] for unit in PIPE_UNITS)
MEMORY_PIPE = PIPE_OF_UNIT[UNIT_MEM]
TENSOR_PIPE = PIPE_OF_UNIT[UNIT_TENSOR]
GMMA_PIPE = PIPE_OF_UNIT[UNIT_GMMA]
SP_PIPE = PIPE_OF_UNIT[UNIT_SP]
SFU_PIPE = PIPE_OF_UNIT[UNIT_SFU]
INT_PIPE = PIPE_OF_UNIT[UNIT_INT]
DP_PIPE = PIPE_OF_UNIT[UNIT_DP]

CODE = np.dtype(
    [
        ("pipe", "u1"),
        ("kind", "u1"),
        ("space", "u1"),
        ("bypasses_l1", "u1"),
        ("sources", "u1"),
        ("destination", "i2"),
        ("source", "i2", (MAX_SOURCES,)),
        ("latency", "i4"),
        ("interval", "i4"),
        ("reads", "u8", (MAX_BANKS,)),  # by warp phase: reads per bank, four bits each
        ("writes", "u8", (MAX_BANKS,)),  # by warp phase: the destination's bank
    ],
    align=True,
)
