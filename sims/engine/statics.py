"""Static instructions as the units see them: pipe, latency, interval, operands and their register banks.

Register bank of register r of warp w inside its sub-core: (r + 1 + w) mod banks (timing measurements, section 2, "Register
banks"). Banks are packed four bits each into a word, once per warp phase w mod banks, so that the collector needs no division.
"""

import numpy as np
from numpy.typing import NDArray

from sims.engine.errors import ConfigurationError
from sims.engine.parameters import MAX_BANKS
from sims.engine.program import (
    KIND_BARRIER,
    KIND_BARRIER_ARRIVE,
    KIND_EXIT,
    KIND_MEMBAR,
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
from sims.gpus.spec import GpuSpec, UnitTiming

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

# Units that a configuration may leave out (section 0); a warpgroup MMA has times of its own by its N, this is the last resort.
_UNIT_DEFAULT = {"gmma": UnitTiming(128, 32), "uniform": UnitTiming(4, 1), "branch": UnitTiming(4, 4)}
# BAR, EXIT, MEMBAR and all memory instructions have no latency line in Accel-Sim's trace.config: 1, 1 (section 0).
_ONE_CYCLE_KINDS = (KIND_BARRIER, KIND_BARRIER_ARRIVE, KIND_EXIT, KIND_MEMBAR)


def code_table(statics: NDArray[np.void], spec: GpuSpec, banks: int) -> NDArray[np.void]:
    """The decoder's static records as :data:`CODE` for one GPU, with ``banks`` register banks a sub-core."""
    table = np.zeros(len(statics), CODE)
    for code, static in zip(table, statics, strict=True):
        _fill(code, static, spec, banks)
    return table


def _fill(code: np.void, static: np.void, spec: GpuSpec, banks: int) -> None:
    unit = int(static["unit"])
    code["pipe"] = PIPE_OF_UNIT[unit]
    for name in ("kind", "space", "bypasses_l1", "sources", "destination"):
        code[name] = static[name]
    code["source"] = static["source"]
    code["latency"], code["interval"] = _timing(static, unit, spec)
    distinct = static["distinct_source"][: static["distinct_sources"]]
    for phase in range(banks):
        for register in distinct:
            code["reads"][phase] += np.uint64(1 << 4 * ((int(register) + 1 + phase) % banks))
        if static["destination"] >= 0:
            code["writes"][phase] = np.uint64(1 << 4 * ((int(static["destination"]) + 1 + phase) % banks))


def _timing(static: np.void, unit: int, spec: GpuSpec) -> tuple[int, int]:
    if static["latency_cycles"] > 0:
        return int(static["latency_cycles"]), max(1, int(static["initiation_cycles"]))
    if unit == UNIT_MEM or int(static["kind"]) in _ONE_CYCLE_KINDS:
        return 1, 1
    timing = unit_timing(spec, unit)
    interval = timing.initiation_cycles
    # Packed half runs at the SP latency and half its interval (section 0).
    return timing.latency_cycles, max(1, interval // 2) if static["half_rate"] else max(1, interval)


def unit_timing(spec: GpuSpec, unit: int) -> UnitTiming:
    """Latency and interval of a unit, from the configuration; a unit it does not have behaves like the integer unit."""
    name = UNIT_NAMES[unit]
    timing = spec.units.get(name) or _UNIT_DEFAULT.get(name) or spec.units.get(UNIT_NAMES[UNIT_INT])
    if timing is None:
        raise ConfigurationError(f"{spec.id}: no latency is given for the {name} unit (`units.{name}`)")
    return timing
