"""Kernel selections such as 1-20,25."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traces.selection import format_selection, parse_selection


@pytest.mark.parametrize(
    ("text", "selected"),
    [
        ("1-3,7", [1, 2, 3, 7]),
        ("7,1-3", [1, 2, 3, 7]),
        (" 2 - 4 , 3 ", [2, 3, 4]),
        ("5-5", [5]),
        ("", [1, 2, 3, 4, 5, 6, 7, 8]),
    ],
)
def test_it_selects_kernels_and_ranges(text: str, selected: list[int]) -> None:
    assert parse_selection(text, 8) == selected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("9", "9 is outside the trace, whose kernels are 1 to 8"),
        ("0", "0 is outside the trace"),
        ("1-99999999", "outside the trace"),
        ("5-3", "The range 5-3 runs backwards"),
        ("1,,2", "'' is not a kernel or a range"),
        ("all", "'all' is not a kernel or a range"),
        ("-1", "'-1' is not a kernel or a range"),
        ("1-", "'1-' is not a kernel or a range"),
        ("٣", "is not a kernel or a range"),
        ("9" * 20, "is not a kernel or a range"),
        ("1," * 6000, "at most 10000 characters"),
    ],
)
def test_it_says_what_is_wrong(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_selection(text, 8)


def test_it_writes_the_shortest_text() -> None:
    assert format_selection([7, 1, 2, 3, 9, 10]) == "1-3,7,9-10"


@given(st.sets(st.integers(1, 200), min_size=1))
def test_what_it_writes_it_reads_back(indexes: set[int]) -> None:
    assert parse_selection(format_selection(indexes), 200) == sorted(indexes)
