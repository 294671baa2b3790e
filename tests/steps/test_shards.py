"""A sim in shards: evenly divided, warmed as chosen."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sims.shards import L2Choice, split


def test_equal_kernels_are_divided_evenly() -> None:
    assert [(shard.start, shard.stop) for shard in split([1.0] * 12, 4)] == [(0, 3), (3, 6), (6, 9), (9, 12)]


def test_a_long_kernel_is_alone_and_bounds_the_rest() -> None:
    assert max(shard.cost for shard in split([1.0, 1.0, 10.0, 1.0, 1.0], 4)) == pytest.approx(10)


def test_there_are_no_more_shards_than_kernels() -> None:
    assert len(split([1.0, 1.0], 8)) == 2
    assert split([], 8) == []


def test_a_shard_runs_its_own_kernels_alone() -> None:
    assert all(shard.warm_from == shard.start for shard in split([1.0] * 40, 4))


def test_a_shard_is_warmed_up_by_a_few_kernels_before_its_own() -> None:
    first, second = split([1.0] * 40, 2, "warm")
    assert (first.warm_from, second.start, second.warm_from, second.cost) == (0, 20, 15, 25)


def test_no_shards_at_all_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one shard"):
        split([1.0], 0)


@given(st.lists(st.floats(0, 1e9), max_size=40), st.integers(1, 10), st.sampled_from(["cold", "warm", "flushed"]))
def test_every_kernel_is_in_one_shard(costs: list[float], count: int, l2: L2Choice) -> None:
    shards = split(costs, count, l2)
    assert len(shards) <= count
    assert [place for shard in shards for place in range(shard.start, shard.stop)] == list(range(len(costs)))


@given(st.lists(st.integers(1, 20), min_size=1, max_size=9), st.integers(1, 4))
def test_no_other_division_has_a_cheaper_costliest_shard(costs: list[int], count: int) -> None:
    def best(start: int, left: int) -> int:
        if left == 1:
            return sum(costs[start:])
        return min(max(sum(costs[start:stop]), best(stop, left - 1)) for stop in range(start, len(costs) + 1))

    assert max(shard.cost for shard in split([float(cost) for cost in costs], count)) == pytest.approx(best(0, count))
