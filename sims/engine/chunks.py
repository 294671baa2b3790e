"""Storage of the decoded CTAs in flight: loaded when the SMs need them, used again when they have ended.

Memory is bounded by what is in flight, not by the kernel: a chunk's place in the arrays is free again once all its CTAs have
finished, and arrays only grow when no hole is large enough.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sims.engine.codetable import code_table
from sims.engine.errors import KernelError
from sims.engine.memory import sparse_zeros
from sims.engine.program import KIND_ALU, KIND_BARRIER, KIND_BARRIER_ARRIVE, CtaChunk, Program
from sims.engine.statics import CODE
from sims.engine.trace import Trace
from sims.gpus.spec import GpuSpec

BARRIER_FREE_KERNELS = "nvjet"
"""cuBLAS's kernels for Hopper, in whose names this stands: Accel-Sim 2.0 passes over their BAR."""
FIRST_CAPACITY = 1 << 21
"""Enough for what most kernels have in flight. Growing copies, but room that is never used takes no memory."""
FIRST_CTA_TABLE = 1 << 10
KEPT_CODES = 64
CTA_TABLES = ("cta_warps", "cta_sectors", "cta_finished", "cta_place", "cta_peer", "cta_rank")


@dataclass
class Arena:
    """Parallel arrays with one allocator: first fit among the holes, growing when none is large enough."""

    arrays: dict[str, NDArray[np.generic]]
    holes: list[tuple[int, int]] = field(default_factory=list)
    """(start, size), ascending."""

    @classmethod
    def of(cls, **dtypes: str) -> "Arena":
        """Empty arrays by name and dtype."""
        arena = cls({name: sparse_zeros(FIRST_CAPACITY, np.dtype(dtype)) for name, dtype in dtypes.items()})
        arena.clear()
        return arena

    def clear(self) -> None:
        """All entries are free."""
        self.holes = [(0, len(next(iter(self.arrays.values()))))]

    def allocate(self, size: int) -> int:
        """Start of ``size`` free entries."""
        for i, (start, room) in enumerate(self.holes):
            if room >= size:
                self.holes[i : i + 1] = [(start + size, room - size)] if room > size else []
                return start
        self._grow(size)
        return self.allocate(size)

    def _grow(self, size: int) -> None:
        capacity = len(next(iter(self.arrays.values())))
        added = max(capacity, size)
        for name, array in self.arrays.items():
            self.arrays[name] = np.concatenate([array, np.zeros(added, array.dtype)])
        self.release(capacity, added)

    def release(self, start: int, size: int) -> None:
        """Give entries back; neighbouring holes become one."""
        merged: list[tuple[int, int]] = []
        for hole in sorted([*self.holes, (start, size)]):
            if merged and merged[-1][0] + merged[-1][1] == hole[0]:
                merged[-1] = (merged[-1][0], merged[-1][1] + hole[1])
            else:
                merged.append(hole)
        self.holes = merged


@dataclass
class Storage:
    """What kernels that follow each other on a GPU share: to write on fresh memory takes longer than most kernels' decoding."""

    spec: GpuSpec
    register_banks: int
    """Of a sub-core."""
    instructions: Arena = field(default_factory=lambda: Arena.of(static_ids="u2", operands="i4"))
    sectors: Arena = field(default_factory=lambda: Arena.of(sector_addresses="i8", sector_masks="u4"))
    warps: Arena = field(default_factory=lambda: Arena.of(warp_start="i8", warp_length="i4"))
    _codes: dict[bytes, NDArray[np.void]] = field(default_factory=dict)
    """Of static records that were asked for before: a workload launches the same code again and again."""

    def clear(self) -> None:
        """Free for the next kernel."""
        for arena in (self.instructions, self.sectors, self.warps):
            arena.clear()

    def code(self, statics: NDArray[np.void]) -> NDArray[np.void]:
        """Their :func:`code_table`, which is not to be changed."""
        key = statics.tobytes()
        if key not in self._codes:
            if len(self._codes) == KEPT_CODES:
                self._codes.pop(next(iter(self._codes)))
            self._codes[key] = code_table(statics, self.spec, self.register_banks)
        return self._codes[key]


@dataclass(frozen=True)
class _Loaded:
    """Where a chunk lies."""

    ctas: range
    instructions: tuple[int, int]
    sectors: tuple[int, int]
    warps: tuple[int, int]


class ChunkStore:
    """Feeds one kernel's CTAs to the compiled code, in a ``storage`` that no other kernel uses meanwhile."""

    def __init__(self, program: Program, storage: Storage) -> None:
        self.program = program
        self.loaded = 0
        """CTAs loaded so far; they are numbered in file order."""
        self.instructions_loaded = 0
        self._chunks: Iterator[CtaChunk] = iter(program.chunks())
        self._storage = storage
        storage.clear()
        self._tables = {name: np.zeros(FIRST_CTA_TABLE, "i8") for name in CTA_TABLES}
        self.has_clusters = False
        """Whether any CTA loaded so far works together with others in a cluster."""
        self._cluster_ends: dict[int, int] = {}
        """By number of a cluster: the CTA of it that was loaded last."""
        self._code = np.zeros(0, CODE)
        self._in_flight: list[_Loaded] = []

    def trace(self) -> Trace:
        """The arrays as they are now; to be asked for again after every :meth:`load`."""
        return Trace(
            code=self._code,
            **self._storage.instructions.arrays,
            **self._storage.sectors.arrays,
            **self._storage.warps.arrays,
            **self._tables,
            cta_rows=np.array([len(self._tables["cta_warps"])]),
        )

    def load(self, wanted: int) -> None:
        """Load chunks until ``wanted`` CTAs are there, or the program's last."""
        self._recycle()
        while self.loaded < min(wanted, self.program.shape.ctas):
            chunk = next(self._chunks, None)
            # A program may find at its end that it has fewer CTAs than the launch said, and then corrects its shape.
            if chunk is None and self.loaded < self.program.shape.ctas:
                total = self.program.shape.ctas
                raise KernelError(f"{self.program.shape.name}: the trace has {self.loaded} of {total} CTAs")
            if chunk is not None:
                self._add(chunk)
        self._extend_code()

    def _recycle(self) -> None:
        finished, still = self._tables["cta_finished"], []
        storage = self._storage
        for chunk in self._in_flight:
            if all(finished[cta % len(finished)] for cta in chunk.ctas):
                storage.instructions.release(*chunk.instructions)
                storage.sectors.release(*chunk.sectors)
                storage.warps.release(*chunk.warps)
            else:
                still.append(chunk)
        self._in_flight = still

    def _add(self, chunk: CtaChunk) -> None:
        warps, storage = len(chunk.warp_start), self._storage
        loaded = _Loaded(
            ctas=range(self.loaded, self.loaded + chunk.ctas),
            instructions=_put(storage.instructions, static_ids=chunk.static_ids, operands=chunk.operands),
            sectors=_put(storage.sectors, sector_addresses=chunk.sector_addresses, sector_masks=chunk.sector_masks),
            warps=(storage.warps.allocate(warps), warps),
        )
        first = loaded.warps[0]
        storage.warps.arrays["warp_start"][first : first + warps] = chunk.warp_start + loaded.instructions[0]
        storage.warps.arrays["warp_length"][first : first + warps] = chunk.warp_length
        self._in_flight.append(loaded)
        self._widen_tables()
        warps_per_cta = self.program.shape.warps_per_cta
        rows = np.arange(loaded.ctas.start, loaded.ctas.stop) % len(self._tables["cta_warps"])
        self._tables["cta_warps"][rows] = first + warps_per_cta * np.arange(chunk.ctas)
        self._tables["cta_sectors"][rows] = loaded.sectors[0]
        self._tables["cta_finished"][rows] = 0
        self._tables["cta_place"][rows] = 0
        self._tables["cta_rank"][rows] = chunk.cluster_ranks
        self._tables["cta_peer"][rows] = np.arange(loaded.ctas.start, loaded.ctas.stop)
        self.has_clusters = self.has_clusters or bool((chunk.cluster_ranks > 0).any())
        if (chunk.cluster_ids >= 0).any():
            self._link_peers(chunk, loaded.ctas.start)
        self.loaded += chunk.ctas
        self.instructions_loaded += len(chunk.static_ids)

    def _link_peers(self, chunk: CtaChunk, first: int) -> None:
        """Enter each CTA into the ring of its cluster."""
        peer, rank, finished = (self._tables[name] for name in ("cta_peer", "cta_rank", "cta_finished"))
        length = len(peer)
        for cta, identity in enumerate(chunk.cluster_ids.tolist(), first):
            last = self._cluster_ends.get(identity, -1)
            self._cluster_ends[identity] = cta
            # One that ended before this one was there has given its row away, or will. Tracers before Hopper gave all CTAs
            # of a grid the same number and rank 0.
            gone = last < 0 or cta - last >= length or finished[last % length]
            if not gone and rank[cta % length] != rank[last % length]:
                peer[cta % length] = peer[last % length]
                peer[last % length] = cta
        if len(self._cluster_ends) > 2 * length:
            self._cluster_ends = {i: cta for i, cta in self._cluster_ends.items() if self.loaded - cta < length}

    def _widen_tables(self) -> None:
        """A CTA's row is its number modulo the length, so the length must exceed the span of CTAs in flight."""
        span = self._in_flight[-1].ctas.stop - self._in_flight[0].ctas.start
        length = len(self._tables["cta_warps"])
        if span <= length:
            return
        wider = 1 << span.bit_length()
        numbers = np.arange(max(0, self.loaded - length), self.loaded)
        for name, table in self._tables.items():
            self._tables[name] = np.zeros(wider, "i8")
            self._tables[name][numbers % wider] = table[numbers % length]

    def _extend_code(self) -> None:
        known = len(self._code)
        if len(self.program.statics) > known:
            added = self._storage.code(self.program.statics[known:])
            if BARRIER_FREE_KERNELS in self.program.shape.name:
                added = added.copy()
                added["kind"][np.isin(added["kind"], (KIND_BARRIER, KIND_BARRIER_ARRIVE))] = KIND_ALU
            # To join arrays of records takes longer than all the rest, and mostly there is one.
            self._code = np.concatenate([self._code, added]) if known else added


def _put(arena: Arena, **parts: NDArray[np.generic]) -> tuple[int, int]:
    size = max(1, *(len(part) for part in parts.values()))
    start = arena.allocate(size)
    for name, part in parts.items():
        arena.arrays[name][start : start + len(part)] = part
    return start, size
