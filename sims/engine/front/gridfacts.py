"""How even a grid's work is: what has to be known of the CTAs that a shortcut would leave out."""

from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sims.engine.program import CtaChunk


class GridFacts:
    """Instructions of each CTA and the density of memory accesses, collected chunk by chunk (8 bytes a CTA)."""

    def __init__(self, warps_per_cta: int) -> None:
        self._warps_per_cta = warps_per_cta
        self._instructions: list[NDArray[np.int64]] = []
        self._density: list[float] = []
        self.sectors = 0
        """Sector accesses of all CTAs."""
        self.has_clusters = False
        """Whether CTAs work together in clusters."""

    @classmethod
    def of(cls, chunks: Iterable[CtaChunk], warps_per_cta: int) -> Self:
        """Those of decoded chunks."""
        facts = cls(warps_per_cta)
        for chunk in chunks:
            facts.add(chunk)
        return facts

    def add(self, chunk: CtaChunk) -> None:
        """The next chunk."""
        instructions = chunk.warp_length.reshape(-1, self._warps_per_cta).sum(axis=1, dtype=np.int64)
        sectors = len(chunk.sector_addresses)
        self._instructions.append(instructions)
        self._density.append(sectors / max(1, int(instructions.sum())))
        self.sectors += sectors
        self.has_clusters = self.has_clusters or bool((chunk.cluster_ranks > 0).any())

    def is_even(self, wave_ctas: int, tolerance: float) -> bool:
        """Whether every wave has the same number of instructions, and every chunk the same share of memory accesses."""
        instructions = np.concatenate(self._instructions)
        waves = len(instructions) // wave_ctas
        per_wave = instructions[: waves * wave_ctas].reshape(waves, -1).sum(axis=1)
        if _deviation(per_wave) > tolerance:
            return False
        # The last chunk may hold very little.
        return _deviation(np.array(self._density[:-1])) <= tolerance


def _deviation(values: NDArray[Any]) -> float:
    """Largest relative deviation from the mean; 0 for nothing and for zeros."""
    mean = float(values.mean()) if len(values) else 0.0
    return float(np.abs(values / mean - 1).max()) if mean > 0 else 0.0
