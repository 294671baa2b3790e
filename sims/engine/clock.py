"""The memory side's clock: core cycles and the DRAM command ticks that fall between and on them.

Times add up in floating point, as in the simulator, because the phase decides in which core cycle a tick falls, and one tick of
phase moves saturated kernels by up to 2.6 % (section 13). A tick at exactly a core cycle's time runs inside that cycle, after
replies have left the slices.
"""

import numpy as np

from sims.engine.jit import Record, Table, compiled

CLOCK = np.dtype(
    [
        ("cycle", "i8"),  # next cycle the memory side has to simulate, since the machine was made
        ("core_time", "f8"),
        ("dram_time", "f8"),
        ("core_period", "f8"),
        ("dram_period", "f8"),
        ("tick", "i8"),  # next DRAM tick
    ]
)

SCHEDULE_CYCLES = 1024
SCHEDULE = np.dtype([("first_tick", "i8"), ("ticks_before", "i4"), ("ticks_inside", "i4")])
"""DRAM ticks of one core cycle: ``ticks_before`` it begins, then ``ticks_inside`` at its very time."""


@compiled
def schedule_ticks(clock: Record, schedule: Table, cycles: int) -> None:
    """Advance the clock by ``cycles`` and note which ticks belong to each."""
    for i in range(cycles):
        entry = schedule[i]
        entry.first_tick = clock.tick
        before = 0
        while clock.dram_time < clock.core_time:
            clock.dram_time += clock.dram_period
            before += 1
        entry.ticks_before = before
        entry.ticks_inside = 0
        if clock.dram_time == clock.core_time:
            clock.dram_time += clock.dram_period
            entry.ticks_inside = 1
        clock.tick += before + entry.ticks_inside
        clock.core_time += clock.core_period
        clock.cycle += 1
