"""Leaving out steady waves: when it is done, and that the rest of the program stays whole."""

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest

from sims.engine.front.prepared import prepare
from sims.engine.front.waves import SteadyWaves
from tests.engine.kernel_texts import EXIT, cta, header

ADD = "0010 ffffffff 1 R4 IADD3 2 R5 R6 0 0 "
WAVE = 10
L2_BYTES = 0  # in its steady state from the start


def steady_waves(tmp_path: Path, ctas: int, length: Callable[[int], int] = lambda i: 3) -> SteadyWaves:
    text = header(ctas=ctas) + "".join(cta([ADD] * length(i) + [EXIT]) for i in range(ctas))
    (tmp_path / "kernel-1.traceg").write_text(text)
    prepared = prepare(tmp_path / "kernel-1.traceg", None, lambda: None, share=False, chunk_instructions=12)
    assert prepared.program is not None
    return SteadyWaves(prepared.program, prepared.facts, WAVE, L2_BYTES)


def delivered(waves: SteadyWaves, cycle_of: Callable[[int], int]) -> list[int]:
    """CTAs in the order in which an engine would get them, asking before each chunk."""
    numbers: list[int] = []
    chunks = waves.chunks()
    while len(numbers) < waves.shape.ctas:
        waves.ctas_needed(len(numbers), cycle_of(len(numbers)))
        if len(numbers) >= waves.shape.ctas:
            break
        chunk = next(chunks)
        numbers += range(chunk.first_cta, chunk.first_cta + chunk.ctas)
    return numbers


def steady(ctas: int) -> int:
    """A CTA every 7 cycles."""
    return 7 * ctas


def test_the_middle_of_a_steady_grid_is_left_out(tmp_path: Path) -> None:
    waves = steady_waves(tmp_path, 405)
    numbers = delivered(waves, steady)
    assert (waves.skipped_ctas % WAVE, waves.skipped_cycles) == (0, 7 * waves.skipped_ctas)
    assert waves.skipped_ctas > 100
    assert len(numbers) + waves.skipped_ctas == 405


def test_the_rate_is_measured_again_before_more_is_left_out(tmp_path: Path) -> None:
    waves = steady_waves(tmp_path, 605)
    numbers = delivered(waves, steady)
    gaps = [after - before - 1 for before, after in itertools.pairwise(numbers) if after > before + 1]
    assert gaps[:2] == [80, 160]


def test_the_tail_is_the_kernels_own(tmp_path: Path) -> None:
    waves = steady_waves(tmp_path, 405)
    assert delivered(waves, steady)[-WAVE:] == list(range(395, 405))


@pytest.mark.parametrize("ctas", [10, 40, 95])
def test_a_small_grid_is_simulated_whole(tmp_path: Path, ctas: int) -> None:
    waves = steady_waves(tmp_path, ctas)
    assert delivered(waves, steady) == list(range(ctas))


def test_a_kernel_that_hardly_touches_memory_is_simulated_whole(tmp_path: Path) -> None:
    waves = steady_waves(tmp_path, 405)
    waves.l2_bytes = 1 << 20
    assert delivered(waves, steady) == list(range(405))


def test_an_engine_that_asks_too_seldom_tells_nothing(tmp_path: Path) -> None:
    waves = steady_waves(tmp_path, 405)
    for ctas in range(0, 400, 2 * WAVE):
        waves.ctas_needed(ctas, steady(ctas))
    assert waves.skipped_ctas == 0


def test_waves_that_grow_slower_are_not_steady(tmp_path: Path) -> None:
    waves = steady_waves(tmp_path, 405)
    assert delivered(waves, lambda ctas: ctas * ctas) == list(range(405))


def test_an_uneven_grid_is_simulated_whole(tmp_path: Path) -> None:
    waves = steady_waves(tmp_path, 405, lambda i: 3 if i < 350 else 6)
    assert delivered(waves, steady) == list(range(405))
