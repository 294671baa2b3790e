"""State of the memory side: L2 slices, DRAM channels, packets. Rules are in l2.py, dram.py and crossbar.py."""

import mmap
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sims.engine.clock import CLOCK, SCHEDULE, SCHEDULE_CYCLES
from sims.engine.counters import CACHE_COUNTERS, CHANNEL_COUNTERS
from sims.engine.jit import Table
from sims.engine.packets import PACKET, PACKETS_PER_CHANNEL, PACKETS_PER_SM, PORT, QUEUE
from sims.engine.parameters import MAX_DRAM_BANKS, MAX_DRAM_GROUPS, MAX_ENDS, MAX_L2_MSHRS, MAX_SLICES_PER_CHANNEL
from sims.gpus.spec import GpuSpec

RECENT_CYCLES = 1024
"""Cycles whose share of a channel's counters is kept: the memory side runs ahead, and a kernel ends in one of them."""
FULL_RING = 1024
"""Cycles for which a slice's full input queue is remembered; longer than the memory side runs ahead of the SMs."""

CACHE_LINE_BYTES = 64
"""Of the machine this runs on."""

L2_LINE = np.dtype(
    [
        ("ignore", "u1"),  # sectors written while pending: the fill leaves them dirty
        ("state", "u1", (4,)),
        ("mshr", "i2", (4,)),
        ("written", "u4", (4,)),
    ],
    align=True,
)

L2_MSHR = np.dtype(
    [("sector", "i8"), ("head", "i4"), ("tail", "i4"), ("count", "i2"), ("orphan", "u1"), ("atomic", "u1")], align=True
)

SLICE = np.dtype(
    [
        ("arrived", QUEUE),  # crossbar's output buffer
        ("delayed", QUEUE),  # in the ROP delay
        ("input", QUEUE),
        ("misses", QUEUE),
        ("to_dram", QUEUE),
        ("from_dram", QUEUE),
        ("replies", QUEUE),
        ("leaving", QUEUE),  # reply crossbar's input buffer
        ("port_free", "i8"),  # the data port is busy before this cycle
        ("last_full", "i8"),  # latest cycle in which no request could be taken
        ("copied", "i8"),  # sectors that memcpy lines wrote; Accel-Sim adds their number to every later time stamp
        ("live_mshrs", "i4"),
        ("orphans", "i4"),
        ("free_mshr", "i4"),
        ("filled_head", "i4"),
        ("filled_count", "i4"),
        ("evicted", "i4"),  # write-back of the line that the look-up replaced, or -1
        ("filled", "i2", (MAX_L2_MSHRS,)),
        ("counter", "i8", (CACHE_COUNTERS,)),
        ("mshr", L2_MSHR, (MAX_L2_MSHRS,)),
    ],
    align=True,
)

CHANNEL = np.dtype(
    [
        ("offered", "i4"),  # requests in its slices' queues to it
        ("work", "i4"),  # requests between leaving a slice's queue and returning to it
        ("queued", "i4"),  # of them in the scheduler's bank queues
        ("busy_banks", "u8"),  # banks with a request being served
        ("row_banks", "u8"),  # of them those whose request's row is not open
        ("write_banks", "u8"),  # and those that serve a write
        ("waiting_banks", "u8"),  # banks with requests in their queue
        ("command_from", "i8"),  # no command is possible before this tick
        ("priority", "i4"),
        ("credits", "i4"),
        ("last_slice", "i4"),
        ("free", "i4"),  # pool of write-back packets
        ("free_count", "i4"),
        ("asleep_until", "i8"),  # no tick before this one changes anything
        ("wake_cycle", "i8"),  # but from this core cycle on the delay line does
        ("delayed", QUEUE),  # fixed delay of ``dram_latency``
        ("entering", QUEUE),
        ("moving", QUEUE),  # data on the bus, in order
        ("returning", QUEUE),
        ("data_end", "i8"),
        ("column_ok", "i8"),
        ("activate_ok", "i8"),
        ("write_ok", "i8"),
        ("read_ok", "i8"),
        ("private", "i4", (MAX_SLICES_PER_CHANNEL,)),  # credits that slices hold of their own
        ("group_column_ok", "i8", (MAX_DRAM_GROUPS,)),
        ("group_precharge_ok", "i8", (MAX_DRAM_GROUPS,)),
        ("serving", "i4", (MAX_DRAM_BANKS,)),
        ("row", "i4", (MAX_DRAM_BANKS,)),
        ("open", "u1", (MAX_DRAM_BANKS,)),
        ("read_from", "i8", (MAX_DRAM_BANKS,)),
        ("write_from", "i8", (MAX_DRAM_BANKS,)),
        ("precharge_from", "i8", (MAX_DRAM_BANKS,)),
        ("activate_from", "i8", (MAX_DRAM_BANKS,)),
        ("cycle_from", "i8", (MAX_DRAM_BANKS,)),
        ("bank", QUEUE, (MAX_DRAM_BANKS,)),
        ("counter", "i8", (CHANNEL_COUNTERS,)),
        ("cycle", "i8"),  # core cycle of the tick that runs
        ("recent_cycle", "i8", (RECENT_CYCLES,)),
        ("recent", "i2", (RECENT_CYCLES, CHANNEL_COUNTERS)),
    ],
    align=True,
)


CALENDAR = 1024
"""Cycles the calendar spans; longer than any quantum."""
MASK_WORDS = MAX_ENDS // 64
"""Words of a mask of SMs or slices."""

CROSSBAR = np.dtype(
    [
        ("inputs", "i8"),
        ("outputs", "i8"),
        ("waiting", "i8"),  # inputs with a head, wanted now or in the calendar
        ("ran_dry", "i8"),  # a tight buffer holds too little to do without what its SM sends next
        ("backlog_count", "i8"),  # outputs with packets in their buffer
        ("wanted", "u8", (MASK_WORDS,)),
        ("backlog", "u8", (MASK_WORDS,)),
        ("wanters", "u8", (MAX_ENDS, MASK_WORDS)),
        ("pointer", "i4", (MAX_ENDS,)),
        ("joined", "u1", (MAX_ENDS,)),
        ("calendar", "u8", (CALENDAR, MASK_WORDS)),
    ]
)
"""A crossbar: who waits for what."""


class Memory(NamedTuple):
    """Arrays of the memory side, by index of the part; lines of set ``s`` of slice ``d`` begin at ``(d * sets + s) * ways``.

    ``pending`` counts the sectors of a line that wait for data.
    """

    packets: Table
    ports: Table
    slices: Table
    tags: Table
    stamps: Table
    pending: Table
    lines: Table
    full: Table
    channels: Table
    schedule: Table


class Networks(NamedTuple):
    """The two crossbars and the clock, one record each."""

    requests: Table
    replies: Table
    clock: Table


def sparse_zeros(length: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Zeros of which only the pages that are touched take memory, from a cache line on.

    NumPy asks the kernel for huge pages. Of what has room for the worst case they would clear all: tenths of a second.
    Raises ``MemoryError`` as NumPy does.
    """
    size_bytes = length * dtype.itemsize
    try:
        pages = mmap.mmap(-1, size_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError as error:
        raise MemoryError(f"Unable to allocate {size_bytes} bytes ({error.strerror})") from error
    if hasattr(mmap, "MADV_NOHUGEPAGE"):
        pages.madvise(mmap.MADV_NOHUGEPAGE)
    return np.frombuffer(pages, dtype)


def aligned_zeros(length: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Zeros that begin at a cache line, so that records of a line's size do not straddle two."""
    raw = np.zeros(length * dtype.itemsize + CACHE_LINE_BYTES, np.uint8)
    first = -raw.ctypes.data % CACHE_LINE_BYTES
    return raw[first : first + length * dtype.itemsize].view(dtype)


def _pools(memory: Memory) -> None:
    """Give each SM and each channel its packets."""
    for i, port in enumerate(memory.ports):
        port["free"], port["free_count"] = i * PACKETS_PER_SM, PACKETS_PER_SM
    base = len(memory.ports) * PACKETS_PER_SM
    for i, channel in enumerate(memory.channels):
        channel["free"], channel["free_count"] = base + i * PACKETS_PER_CHANNEL, PACKETS_PER_CHANNEL


def new_memory(spec: GpuSpec) -> Memory:
    """An empty memory side."""
    slices, lines = spec.l2_slices, spec.l2_sets * spec.l2_ways
    packets = spec.sms * PACKETS_PER_SM + spec.memory_channels * PACKETS_PER_CHANNEL
    memory = Memory(
        packets=sparse_zeros(packets, PACKET),
        ports=aligned_zeros(spec.sms, PORT),
        slices=np.zeros(slices, SLICE),
        tags=np.full(slices * lines, -1, np.int64),
        stamps=np.zeros(slices * lines, np.int64),
        pending=np.zeros(slices * lines, np.uint8),
        lines=aligned_zeros(slices * lines, L2_LINE),
        full=np.full(slices * FULL_RING, -1, np.int64),
        channels=np.zeros(spec.memory_channels, CHANNEL),
        schedule=np.zeros(SCHEDULE_CYCLES, SCHEDULE),
    )
    _pools(memory)
    memory.slices["last_full"] = -1
    memory.slices["evicted"] = -1
    # Slices are tried from the one after the last served; slice 0 comes first.
    memory.channels["last_slice"] = spec.l2_slices_per_channel - 1
    return memory


def new_networks(spec: GpuSpec) -> Networks:
    """Crossbars without packets and a clock at zero."""
    requests, replies, clock = np.zeros(1, CROSSBAR), np.zeros(1, CROSSBAR), np.zeros(1, CLOCK)
    requests["inputs"], requests["outputs"] = spec.sms, spec.l2_slices
    replies["inputs"], replies["outputs"] = spec.l2_slices, spec.sms
    clock["core_period"] = 1.0 / (spec.core_clock_mhz * 1e6)
    clock["dram_period"] = 1.0 / (spec.memory_clock_mhz * 1e6)
    return Networks(requests, replies, clock)
