"""Reading ahead: every block once and in order, whoever read it, and errors where they belong."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sims.engine.front.readahead import ROOM_BLOCKS, ReadAhead, result_of

BLOCKS = [bytes([number]) for number in range(2 * ROOM_BLOCKS)]


def reading(blocks: Iterator[bytes]) -> tuple[ReadAhead, Iterator[bytes]]:
    ahead = ReadAhead()
    return ahead, ahead.of(blocks)


def cut_after(count: int) -> Iterator[bytes]:
    yield from BLOCKS[:count]
    raise OSError("cut")


@given(st.lists(st.booleans(), max_size=8 * ROOM_BLOCKS))
def test_blocks_come_in_order_whenever_they_were_read(reads_ahead: list[bool]) -> None:
    ahead, blocks = reading(iter(BLOCKS))
    found = []
    for reads in reads_ahead:
        if reads:
            ahead.read_one()
        else:
            found += [block for block in [next(blocks, None)] if block is not None]
    assert [*found, *blocks] == BLOCKS
    assert list(blocks) == []


def test_only_so_many_wait() -> None:
    ahead, blocks = reading(iter(BLOCKS))
    assert sum(ahead.read_one() for _ in BLOCKS) == ROOM_BLOCKS
    next(blocks)
    assert [ahead.read_one(), ahead.read_one()] == [True, False]


def test_nothing_is_read_before_there_are_blocks() -> None:
    assert not ReadAhead().read_one()


@pytest.mark.parametrize("read_before", [0, 2, 5])
def test_an_error_comes_after_the_blocks_before_it(read_before: int) -> None:
    ahead, blocks = reading(cut_after(3))
    for _ in range(read_before):
        ahead.read_one()
    assert [next(blocks) for _ in range(3)] == BLOCKS[:3]
    with pytest.raises(OSError, match="cut"):
        next(blocks)
    assert not ahead.read_one()


def test_who_waits_for_another_thread_reads_for_it() -> None:
    with ThreadPoolExecutor(1) as pool:
        for _ in range(50):
            ahead, blocks = reading(iter(BLOCKS * 8))
            assert result_of(pool.submit(list, blocks), ahead) == BLOCKS * 8
