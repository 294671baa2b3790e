"""A kernel decoded ahead of its simulation, so that its signature is known before it is run."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sims.engine.decode import open_program
from sims.engine.decode.statics import TableShelf
from sims.engine.front.digest import Digest
from sims.engine.front.gridfacts import GridFacts
from sims.engine.front.streams import share_streams
from sims.engine.program import CtaChunk, KernelShape

CHUNK_ARRAYS = (
    "warp_start", "warp_length", "static_ids", "operands", "sector_addresses", "sector_masks", "cluster_ids", "cluster_ranks",
)  # fmt: skip
KEPT_CHUNK_INSTRUCTIONS = 1 << 12
"""Small, because the moments at which chunks are asked for tell how fast waves pass."""
KEEP_BYTES = 256 << 20
"""Chunks of a kernel kept in memory; a larger kernel is decoded again when it is run."""


@dataclass(slots=True)
class KeptProgram:
    """A decoded kernel in memory, as a program."""

    shape: KernelShape
    statics: NDArray[np.void]
    opcodes: list[str]
    counts: NDArray[np.int64]
    unknown_opcodes: dict[str, int]
    kept: list[CtaChunk]

    def chunks(self) -> Iterator[CtaChunk]:
        """The chunks in order."""
        yield from self.kept


@dataclass(frozen=True, slots=True)
class Prepared:
    """What is known of a kernel before it runs."""

    signature: str
    shape: KernelShape
    statics: NDArray[np.void]
    counts: NDArray[np.int64]
    facts: GridFacts
    program: KeptProgram | None
    """None where it was too large to keep."""


def prepare(
    file: Path,
    shelf: TableShelf | None,
    on_chunk: Callable[[], None],
    *,
    share: bool = True,
    keep_bytes: int = KEEP_BYTES,
    chunk_instructions: int = KEPT_CHUNK_INSTRUCTIONS,
) -> Prepared:
    """Decode a kernel file whole. Raises ``TraceError``; ``on_chunk`` may raise to stop."""
    with open_program(file, shelf=shelf, chunk_instructions=chunk_instructions) as program:
        digest, facts = Digest(program.shape), GridFacts(program.shape.warps_per_cta)
        kept: list[CtaChunk] = []
        size = 0
        for chunk in program.chunks():
            on_chunk()
            digest.add(chunk, program.statics, program.opcodes)
            facts.add(chunk)
            chunk = share_streams(chunk) if share else chunk
            size += bytes_of(chunk)
            if size <= keep_bytes:
                kept.append(chunk)
            else:
                kept.clear()
        # A shared table goes on growing with the next kernels: what belongs to this one is copied.
        statics, counts = program.statics.copy(), program.counts.copy()
        keepsake = None
        if size <= keep_bytes:
            keepsake = KeptProgram(
                program.shape, statics, list(program.opcodes), counts, dict(program.unknown_opcodes), kept
            )
        return Prepared(digest.signature(), program.shape, statics, counts, facts, keepsake)


def bytes_of(chunk: CtaChunk) -> int:
    """Memory of a chunk's arrays."""
    return sum(value.nbytes for value in (getattr(chunk, name) for name in CHUNK_ARRAYS))
