"""Shared decoded streams: warps that do exactly the same share one copy of their instructions.

Only warps whose operands are equal too can share, which leaves out those with sector lists of their own; in
compute-bound kernels it is nearly all of them, and the simulation's working set shrinks accordingly. The result is not
changed by it.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sims.engine.front.digest import mix
from sims.engine.jit import compiled
from sims.engine.program import CtaChunk


@compiled
def hash_warps(warp_start: Any, warp_length: Any, static_ids: Any, operands: Any, hashes: Any) -> None:
    """A 64-bit hash of each warp's instructions and operands."""
    for w in range(len(warp_start)):
        state = np.uint64(warp_length[w])
        for i in range(warp_start[w], warp_start[w] + warp_length[w]):
            state = mix(state, static_ids[i])
            state = mix(state, operands[i])
        hashes[w] = state


def share_streams(chunk: CtaChunk) -> CtaChunk:
    """The chunk with one copy of each stream; the chunk itself where hardly anything repeats."""
    hashes = np.zeros(len(chunk.warp_start), np.uint64)
    hash_warps(chunk.warp_start, chunk.warp_length, chunk.static_ids, chunk.operands, hashes)
    _, first, which = np.unique(hashes, return_index=True, return_inverse=True)
    kept = int(chunk.warp_length[first].sum())
    if 2 * kept > len(chunk.static_ids):
        return chunk
    starts = np.concatenate(([0], np.cumsum(chunk.warp_length[first].astype(np.int64))[:-1]))
    source = _positions(chunk, first)
    return replace(
        chunk,
        warp_start=starts[which],
        static_ids=chunk.static_ids[source],
        operands=chunk.operands[source],
    )


def _positions(chunk: CtaChunk, warps: NDArray[np.intp]) -> NDArray[np.int64]:
    """Indexes of the warps' instructions, one warp after the other."""
    ranges = [
        np.arange(start, start + length)
        for start, length in zip(chunk.warp_start[warps].tolist(), chunk.warp_length[warps].tolist(), strict=True)
    ]
    return np.concatenate(ranges) if ranges else np.zeros(0, np.int64)
