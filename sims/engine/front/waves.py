"""Steady-state waves: the middle of a large, even grid is not simulated but goes at the rate of the waves before it.

A wave is as many CTAs as the GPU holds at once. The engine says when it hands out which CTA. Once the last waves took
the same time in both their halves, and what follows is the same work, some waves are left out; then the rate is measured
again, and twice as many may be left out, since rates drift slowly. The last one to two waves are simulated: the tail is the
kernel's own.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from sims.engine.front.gridfacts import GridFacts
from sims.engine.program import CtaChunk, KernelShape, ProgramView
from sims.engine.results import KernelResult
from sims.gpus.spec import SECTOR_BYTES

MEASURED_WAVES = 8
"""Waves whose two halves must agree. The schedulers' order can make waves fluctuate with a period of four: fewer would be
deceived, or never agree."""
AGREEMENT = 0.02
"""Largest difference between the two halves that counts as steady."""
EVENNESS = 0.01
"""Largest deviation of a wave's instructions, or a chunk's sectors per instruction, from the mean."""
WARM_UP_WAVES = 1
"""The first wave starts on an empty GPU, or behind a gap, and says nothing about the others."""
MIN_WAVES = 16
"""Of a grid: with fewer there is hardly anything to leave out."""
L2_TURNOVER = 1.5
"""Traffic, in L2 capacities, before the L2 is in its steady state (evictions and write-backs have begun). Kernels that never
get there are simulated whole: the waves of compute-bound ones drift with the schedulers' order, by 1 to 3 % where measured."""


@dataclass(slots=True)
class SteadyWaves(ProgramView):
    """A program that leaves waves out. Give :meth:`ctas_needed` to the machine; :attr:`skipped_cycles` is to be added."""

    facts: GridFacts
    wave_ctas: int
    l2_bytes: int
    shape: KernelShape = field(init=False)
    skipped_ctas: int = 0
    skipped_cycles: int = 0
    _delivered: int = 0
    _waves_at_once: int = MEASURED_WAVES
    _measured_from: int = 0
    """CTAs handed out when waves were last left out."""
    _handed_out: list[tuple[int, int]] = field(default_factory=list)
    """(CTAs handed out, cycle), ascending."""

    def __post_init__(self) -> None:
        self.shape = replace(self.program.shape)

    def chunks(self) -> Iterator[CtaChunk]:
        """The chunks, without the CTAs that were left out while they were being asked for."""
        for chunk in self.program.chunks():
            # `skipped_ctas` may be set between two chunks; then the CTAs right behind the delivered ones are dropped.
            first = max(chunk.first_cta, self._next_cta())
            if first >= chunk.first_cta + chunk.ctas:
                continue
            part = cut(chunk, first - chunk.first_cta, self.shape.warps_per_cta)
            self._delivered += part.ctas
            yield part

    def _next_cta(self) -> int:
        """Number, in the whole grid, of the next CTA to deliver."""
        return self._delivered + self.skipped_ctas

    def ctas_needed(self, handed_out: int, cycle: int) -> None:
        """The engine has handed out so many CTAs by this cycle and wants more: decide whether waves can be left out."""
        self._handed_out.append((handed_out, cycle))
        waves_left = (self.program.shape.ctas - self._next_cta()) // self.wave_ctas - 1
        wave_cycles = self._steady_wave_cycles()
        if waves_left < 1 or wave_cycles is None or not self._is_representative():
            return
        waves = min(waves_left, self._waves_at_once)
        self.skipped_ctas += waves * self.wave_ctas
        self.skipped_cycles += round(waves * wave_cycles)
        self.shape = replace(self.shape, grid=(self.program.shape.ctas - self.skipped_ctas, 1, 1))
        self._waves_at_once *= 2
        self._measured_from = handed_out

    def _steady_wave_cycles(self) -> float | None:
        """Cycles of a wave, if the last ones took the same time in both their halves; None otherwise."""
        handed_out, _ = self._handed_out[-1]
        ends = handed_out - self.wave_ctas * np.arange(MEASURED_WAVES, -1, -1)
        if ends[0] < self._measured_from + WARM_UP_WAVES * self.wave_ctas or not self._every_wave_was_seen(ends[0]):
            return None
        told = np.array(self._handed_out, np.float64)
        times = np.diff(np.interp(ends, told[:, 0], told[:, 1]))
        mean = float(times.mean())
        first_half, second_half = times.reshape(2, -1).mean(axis=1)
        return mean if mean > 0 and abs(second_half - first_half) <= AGREEMENT * mean else None

    def _every_wave_was_seen(self, first: int) -> bool:
        """Whether the engine asked often enough for the times of the waves to be measured and not interpolated."""
        told = np.array([handed_out for handed_out, _ in self._handed_out])
        gaps = np.diff(told)[told[1:] > first]
        return len(gaps) > 0 and int(gaps.max()) <= self.wave_ctas

    def _is_representative(self) -> bool:
        """Whether what would be left out is the same work as what was measured, with the L2 in its steady state."""
        if self.facts.has_clusters:
            return False  # a cluster that loses a CTA waits for it
        moved = self.facts.sectors * SECTOR_BYTES * self._delivered / self.program.shape.ctas
        return moved >= L2_TURNOVER * self.l2_bytes and self.facts.is_even(self.wave_ctas, EVENNESS)


def cut(chunk: CtaChunk, leave_out: int, warps_per_cta: int) -> CtaChunk:
    """The chunk without its first ``leave_out`` CTAs."""
    if leave_out == 0:
        return chunk
    warps = leave_out * warps_per_cta
    return replace(
        chunk,
        first_cta=chunk.first_cta + leave_out,
        ctas=chunk.ctas - leave_out,
        warp_start=chunk.warp_start[warps:],
        warp_length=chunk.warp_length[warps:],
        cluster_ids=chunk.cluster_ids[leave_out:],
        cluster_ranks=chunk.cluster_ranks[leave_out:],
    )


_RATIOS = ("_rate", "average ", "gpu_sim_cycle", "gpu_tot_issued_cta")


def completed(result: KernelResult, waves: SteadyWaves) -> KernelResult:
    """The result of the whole grid: left-out waves at the steady rate, counters in proportion to the CTAs."""
    if not waves.skipped_ctas:
        return result
    ctas = waves.program.shape.ctas
    factor = ctas / (ctas - waves.skipped_ctas)
    cycles = result.cycles + waves.skipped_cycles
    counters = {
        name: value if any(part in name for part in _RATIOS) else round(value * factor)
        for name, value in result.counters.items()
    }
    counters |= {"gpu_sim_cycle": cycles + result.launch_cycles, "gpu_tot_issued_cta": ctas}
    slower = result.cycles * factor / cycles
    return replace(
        result,
        cycles=cycles,
        counters=counters,
        dram_bandwidth_gbs=result.dram_bandwidth_gbs * slower,
        l2_bandwidth_gbs=result.l2_bandwidth_gbs * slower,
    )
