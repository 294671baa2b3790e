"""Decoding ahead of the simulation: the same programs, errors where they belong, and no file left open."""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sims.engine.decode import open_program
from sims.engine.front.ahead import Opener
from sims.engine.front.plan import Launch
from sims.engine.program import CtaChunk
from tests.engine.kernel_texts import EXIT, cta, header
from traces.accelsim import TraceError

ADD = "0010 ffffffff 1 R4 IADD3 2 R5 R6 0 0 "
CHUNK_INSTRUCTIONS = 4
"""Two CTAs a chunk."""


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as threads:
        yield threads


def launch(folder: Path, uid: int, ctas: int, *, declared_ctas: int | None = None) -> Launch:
    """A kernel of so many CTAs of two instructions."""
    file = folder / f"kernel-{uid}.traceg"
    file.write_text(header(ctas=declared_ctas or ctas) + cta([ADD, EXIT]) * ctas)
    return Launch(index=uid, uid=uid, file=file, weight=1)


def numbers(chunks: Iterator[CtaChunk]) -> list[tuple[int, int, int]]:
    """First CTA, CTAs and instructions of each chunk."""
    return [(chunk.first_cta, chunk.ctas, len(chunk.static_ids)) for chunk in chunks]


def open_files(folder: Path) -> list[str]:
    targets = [os.readlink(entry.path) for entry in os.scandir("/proc/self/fd") if os.path.lexists(entry.path)]
    return [target for target in targets if target.startswith(str(folder))]


def test_chunks_are_those_of_the_program(tmp_path: Path, pool: ThreadPoolExecutor) -> None:
    kernel = launch(tmp_path, 1, ctas=9)
    with open_program(kernel.file, chunk_instructions=CHUNK_INSTRUCTIONS) as program:
        plain = numbers(program.chunks())
    with Opener([], pool, CHUNK_INSTRUCTIONS) as opener, opener.open(kernel) as ahead:
        assert numbers(ahead.chunks()) == plain
        assert (len(plain) > 3, int(ahead.counts.sum(axis=0)[0])) == (True, 18)


def test_the_next_kernel_in_a_row_is_begun_when_this_one_is_decoded(tmp_path: Path, pool: ThreadPoolExecutor) -> None:
    first, second = launch(tmp_path, 1, ctas=2), launch(tmp_path, 2, ctas=2)
    with Opener([first, second], pool) as opener, opener.open(first) as program:
        chunks = program.chunks()
        next(chunks)
        pool.submit(int).result()  # after the look for another chunk
        pool.submit(int).result()  # after the next kernel's first
        assert open_files(tmp_path) == [str(first.file), str(second.file)]
        with opener.open(second) as following:
            assert numbers(following.chunks()) == [(0, 2, 4)]


def test_a_kernel_that_cannot_be_opened_is_told_of_in_its_turn(tmp_path: Path, pool: ThreadPoolExecutor) -> None:
    first, second = launch(tmp_path, 1, ctas=2), launch(tmp_path, 2, ctas=2)
    second.file.write_text("no kernel\n")
    with Opener([first, second], pool) as opener:
        with opener.open(first) as program:
            assert numbers(program.chunks()) == [(0, 2, 4)]
        with pytest.raises(TraceError, match=r"kernel-2\.traceg"), opener.open(second):
            pass


def test_a_bad_chunk_is_told_of_after_the_good_ones(tmp_path: Path, pool: ThreadPoolExecutor) -> None:
    kernel = launch(tmp_path, 1, ctas=6)
    kernel.file.write_text(kernel.file.read_text()[:-60])
    with Opener([], pool, CHUNK_INSTRUCTIONS) as opener, opener.open(kernel) as program:
        chunks = program.chunks()
        assert [next(chunks).first_cta, next(chunks).first_cta] == [0, 2]
        with pytest.raises(TraceError):
            numbers(chunks)


@pytest.mark.parametrize("chunks_read", [0, 1, 5])
def test_leaving_early_closes_all_files(tmp_path: Path, pool: ThreadPoolExecutor, chunks_read: int) -> None:
    kernels = [launch(tmp_path, uid, ctas=9) for uid in (1, 2)]
    with Opener(kernels, pool, CHUNK_INSTRUCTIONS) as opener, opener.open(kernels[0]) as program:
        chunks = program.chunks()
        for _ in range(chunks_read):
            next(chunks)
    pool.submit(int).result()
    assert open_files(tmp_path) == []
