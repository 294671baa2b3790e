"""All that a GPU has counted up to a moment, each counter summed over the SMs, slices or channels that have it."""

import numpy as np

from sims.engine.accounts import ACCOUNT_NAMES
from sims.engine.counters import CACHE_COUNTERS, CHANNEL_COUNTERS, SM_COUNTERS
from sims.engine.jit import Record, Table, compiled
from sims.engine.memory import RECENT_CYCLES, Memory
from sims.engine.statics import PIPES

TOTALS = np.dtype(
    [
        ("sm", "i8", (SM_COUNTERS,)),
        ("stall", "i8", (len(ACCOUNT_NAMES),)),
        ("busy", "i8", (PIPES,)),
        ("slice", "i8", (CACHE_COUNTERS,)),
        ("channel", "i8", (CHANNEL_COUNTERS,)),
    ]
)
"""One record."""


@compiled
def add_up(gpu: Record, sms: Table, memory: Memory, cycle: int, totals: Record) -> None:
    """Add everything as it was when ``cycle`` began to ``totals``, which are zero. The memory side has run on."""
    for index in range(gpu.sms):
        sm = sms[index]
        for i in range(SM_COUNTERS):
            totals.sm[i] += sm.counter[i]
        for i in range(len(totals.stall)):
            totals.stall[i] += sm.stall[i]
        for i in range(PIPES):
            totals.busy[i] += sm.busy[i]
    for d in range(gpu.slices):
        for i in range(CACHE_COUNTERS):
            totals.slice[i] += memory.slices[d].counter[i]
    for c in range(gpu.channels):
        channel = memory.channels[c]
        for i in range(CHANNEL_COUNTERS):
            totals.channel[i] += channel.counter[i]
        for slot in range(RECENT_CYCLES):
            # A slot that was never used says 0.
            if channel.recent_cycle[slot] >= max(cycle, 1):
                for i in range(CHANNEL_COUNTERS):
                    totals.channel[i] -= channel.recent[slot, i]
