"""A decoded kernel, as the decoder hands it to the timing model.

A kernel is a table of **static** instructions (one record per distinct instruction text) and a stream of CTA
**chunks**. A chunk holds whole CTAs; for each dynamic warp instruction it has the index of its static record and one
``operand``:

=====================  ==========================================================================================
kind of instruction    operand
=====================  ==========================================================================================
shared memory          bank conflict degree: cycles it occupies the load/store unit (at least 1)
global or local        offset into ``sector_addresses`` / ``sector_masks``: first entry is the count n, then n sectors,
                       **highest address first** (the order in which Accel-Sim's load/store unit serves them)
DEPBAR and its kin     the immediate (groups that may stay pending)
BAR                    barrier id | participating threads << 4; 0 threads: the whole CTA; and ``BARRIER_WAITS`` where
                       also an arrival waits
GMMA                   1 if it closes a group of warpgroup MMAs, else 0
TMA                    offset: count n, n sectors (highest address first), mbarrier address, bytes it completes there,
                       mask of the CTAs that receive
mbarrier               offset of triples, their number in ``sector_masks`` there: address, then two values: init
                       (arrivals expected, initial phase), arrive (arrivals, bytes: positive are expected, negative
                       completed), wait (phase parity, 0)
everything else, or    -1
no active lane
=====================  ==========================================================================================

A generic access is resolved while it is decoded: its static record says global, shared or local, never generic. A local
"sector" is not yet an address but ``word << 7 | offset``: offset of the sector in the 128 bytes that word number
``word`` of a warp's 32 lanes takes up side by side. The SM that runs the warp adds base and slot (timing measurements,
section 9): ``base + word * bytes_of_that_word_over_all_threads + 128 * warp_slot + offset``.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

# Functional units (one per sub-core and class, except MEM: one load/store unit per SM).
UNIT_INT, UNIT_SP, UNIT_DP, UNIT_SFU, UNIT_BRANCH, UNIT_TEXTURE, UNIT_TENSOR, UNIT_UNIFORM, UNIT_GMMA, UNIT_MEM = range(
    10
)
UNIT_NAMES = ("int", "sp", "dp", "sfu", "branch", "texture", "tensor", "uniform", "gmma", "mem")

# What an instruction does beyond occupying its unit.
(
    KIND_ALU,
    KIND_LOAD,
    KIND_STORE,
    KIND_BARRIER,  # BAR.SYNC: waits; named barriers by id
    KIND_EXIT,
    KIND_MEMBAR,
    KIND_LDGSTS,
    KIND_LDGDEPBAR,  # closes a group of asynchronous copies (UTMACMDFLUSH too)
    KIND_DEPBAR,  # waits until at most `operand` groups are pending
    KIND_ATOMIC,
    KIND_BARRIER_ARRIVE,  # BAR.ARV: arrives without waiting
    KIND_GMMA,  # asynchronous warpgroup MMA
    KIND_GMMA_WAIT,  # WARPGROUP.DEPBAR
    KIND_TMA_LOAD,
    KIND_TMA_STORE,
    KIND_MBARRIER_COPY,  # arrives when the warp's LDGSTS are done
    KIND_MBARRIER_INIT,  # from here on: through the shared-memory pipe
    KIND_MBARRIER_ARRIVE,
    KIND_MBARRIER_WAIT,
    KIND_MBARRIER_TEST,  # a look at an mbarrier that waits for nothing
    KIND_ASYNC_FENCE,  # keeps shared memory, mbarriers and bulk loads back until it is through
    KIND_REPLAY_START,  # markers of the trace, no instructions
    KIND_REPLAY_END,
) = range(23)
FIRST_ASYNC_KIND = KIND_TMA_LOAD
"""This kind and those after it came with Hopper."""

BARRIER_WAITS = 1 << 20
"""In the operand of a BAR whose trace does not tell barriers apart."""

SPACE_NONE, SPACE_GLOBAL, SPACE_SHARED, SPACE_LOCAL, SPACE_GENERIC = range(5)

MAX_SOURCES = 8

STATIC_DTYPE = np.dtype(
    [
        ("unit", "i4"),
        ("kind", "i4"),
        ("destination", "i4"),  # register number, -1 for none
        ("sources", "i4"),  # how many of `source` are used, duplicates included
        ("distinct_sources", "i4"),  # how many of `distinct_source`: a duplicate is read from its bank once
        ("source", "i4", (MAX_SOURCES,)),
        ("distinct_source", "i4", (MAX_SOURCES,)),
        ("space", "i4"),
        ("bypasses_l1", "i4"),
        ("half_rate", "i4"),  # packed half: runs at half the SP initiation interval
        ("latency_cycles", "i4"),  # 0: the unit's own (from the config); else fixed by the instruction (GMMA by N)
        ("initiation_cycles", "i4"),
    ],
    align=True,
)


@dataclass(slots=True)
class CtaChunk:
    """Whole CTAs, ready to run. Warp w of the chunk's CTA c is entry ``c * warps_per_cta + w``."""

    first_cta: int
    ctas: int
    warp_start: NDArray[np.int64]
    warp_length: NDArray[np.int32]
    static_ids: NDArray[np.uint16]
    operands: NDArray[np.int32]
    sector_addresses: NDArray[np.int64]
    sector_masks: NDArray[np.uint32]
    """Bytes of the sector that are touched, bit i = byte i."""
    cluster_ids: NDArray[np.int64]
    """By CTA: a number for its thread block cluster, -1 where the trace names none."""
    cluster_ranks: NDArray[np.int64]
    """By CTA: its rank in the cluster."""


@dataclass(slots=True)
class KernelShape:
    """What the header says about a launch."""

    name: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_memory_bytes: int
    registers_per_thread: int
    stream: int = 0
    binary_version: int = 0

    @property
    def ctas(self) -> int:
        """CTAs of the grid."""
        return self.grid[0] * self.grid[1] * self.grid[2]

    @property
    def threads_per_cta(self) -> int:
        """Threads of a CTA."""
        return self.block[0] * self.block[1] * self.block[2]

    @property
    def warps_per_cta(self) -> int:
        """Warps of a CTA; the last may have fewer lanes."""
        return -(-self.threads_per_cta // 32)


class Program(Protocol):
    """A source of decoded CTAs. ``statics`` grows while chunks are read; an id never changes its meaning."""

    @property
    def shape(self) -> KernelShape:
        """The launch."""
        ...

    @property
    def statics(self) -> NDArray[np.void]:
        """Records of :data:`STATIC_DTYPE`."""
        ...

    @property
    def opcodes(self) -> Sequence[str]:
        """Full opcode of each static record."""
        ...

    @property
    def counts(self) -> NDArray[np.int64]:
        """Per static record, over what was decoded so far: warp instructions, and the lanes active in them."""
        ...

    @property
    def unknown_opcodes(self) -> dict[str, int]:
        """Warp instructions by mnemonic that no table knows; they were timed by their family."""
        ...

    def chunks(self) -> Iterator[CtaChunk]:
        """CTAs in file order. Raises ``TraceError`` where the file is cut or wrong; what came before stays valid."""
        ...


@dataclass(slots=True)
class ProgramView:
    """What another program is, for a subclass that has chunks of its own."""

    program: Program

    @property
    def shape(self) -> KernelShape:
        return self.program.shape

    @property
    def statics(self) -> NDArray[np.void]:
        return self.program.statics

    @property
    def opcodes(self) -> Sequence[str]:
        return self.program.opcodes

    @property
    def counts(self) -> NDArray[np.int64]:
        return self.program.counts

    @property
    def unknown_opcodes(self) -> dict[str, int]:
        return self.program.unknown_opcodes
