"""The decoder's static records as the units of one GPU see them.

Register bank of register r of warp w inside its sub-core: (r + 1 + w) mod banks (timing measurements, section 2, "Register
banks").
"""

import numpy as np
from numpy.typing import NDArray

from sims.engine.errors import ConfigurationError
from sims.engine.program import (
    KIND_BARRIER,
    KIND_BARRIER_ARRIVE,
    KIND_EXIT,
    KIND_MEMBAR,
    MAX_SOURCES,
    UNIT_INT,
    UNIT_MEM,
    UNIT_NAMES,
)
from sims.engine.statics import CODE, PIPE_OF_UNIT
from sims.gpus.spec import GpuSpec, UnitTiming

# Units that a configuration may leave out (section 0); a warpgroup MMA has times of its own by its N, this is the last resort.
_UNIT_DEFAULT = {"gmma": UnitTiming(128, 32), "uniform": UnitTiming(4, 1), "branch": UnitTiming(4, 4)}
# BAR, EXIT, MEMBAR and all memory instructions have no latency line in Accel-Sim's trace.config: 1, 1 (section 0).
_ONE_CYCLE_KINDS = (KIND_BARRIER, KIND_BARRIER_ARRIVE, KIND_EXIT, KIND_MEMBAR)
_PIPES = np.array([PIPE_OF_UNIT[unit] for unit in range(len(UNIT_NAMES))], np.uint8)


def code_table(statics: NDArray[np.void], spec: GpuSpec, banks: int) -> NDArray[np.void]:
    """:data:`CODE` of each static record, with ``banks`` register banks a sub-core.

    Raises :class:`ConfigurationError` where the GPU has no timing for a unit.
    """
    table = np.zeros(len(statics), CODE)
    table["pipe"] = _PIPES[statics["unit"]]
    for name in ("kind", "space", "bypasses_l1", "sources", "destination", "source"):
        table[name] = statics[name]
    table["latency"], table["interval"] = _timing(statics, spec)
    reads = np.arange(MAX_SOURCES) < statics["distinct_sources"][:, None]
    words = np.where(reads[:, :, None], _bank_words(statics["distinct_source"], banks), np.uint64(0))
    table["reads"][:, :banks] = words.sum(axis=1)
    writes = statics["destination"] >= 0
    table["writes"][:, :banks] = np.where(writes[:, None], _bank_words(statics["destination"], banks), np.uint64(0))
    return table


def _bank_words(registers: NDArray[np.int32], banks: int) -> NDArray[np.uint64]:
    """By register and warp phase (a further dimension): one access of the register's bank."""
    bank = (registers[..., None] + 1 + np.arange(banks)) % banks
    return np.uint64(1) << (4 * bank).astype(np.uint64)


def _timing(statics: NDArray[np.void], spec: GpuSpec) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Latencies and initiation intervals in cycles."""
    latency, interval = statics["latency_cycles"].copy(), statics["initiation_cycles"].copy()
    by_unit = latency <= 0
    one_cycle = by_unit & ((statics["unit"] == UNIT_MEM) | np.isin(statics["kind"], _ONE_CYCLE_KINDS))
    latency[one_cycle] = interval[one_cycle] = 1
    by_unit &= ~one_cycle
    for unit in np.unique(statics["unit"][by_unit]):
        timing = unit_timing(spec, int(unit))
        here = by_unit & (statics["unit"] == unit)
        latency[here], interval[here] = timing.latency_cycles, timing.initiation_cycles
    # Packed half runs at the SP latency and half its interval (section 0).
    interval[by_unit & (statics["half_rate"] != 0)] //= 2
    return latency, np.maximum(interval, 1)


def unit_timing(spec: GpuSpec, unit: int) -> UnitTiming:
    """Latency and interval of a unit, from the configuration; a unit it does not have behaves like the integer unit."""
    name = UNIT_NAMES[unit]
    timing = spec.units.get(name) or _UNIT_DEFAULT.get(name) or spec.units.get(UNIT_NAMES[UNIT_INT])
    if timing is None:
        raise ConfigurationError(f"{spec.id}: no latency is given for the {name} unit (`units.{name}`)")
    return timing
