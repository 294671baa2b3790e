"""Values as people write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sims.gpus import value_of_text, values_of_text


@pytest.mark.parametrize(
    "text", ["4MB", "M", "", "nan", "1e999", "4 M B", "0x10", "20:80", "20:80:0", "80:20:20", "1:1000000:1", "9" * 50]
)
def test_what_is_no_value_stays_a_text_that_is_refused_by_its_name(text: str) -> None:
    assert value_of_text("l2_bytes", text) == text
    assert values_of_text("l2_bytes", text) == ([text] if text else [])


@given(st.integers(-(10**12), 10**12) | st.floats(-1e12, 1e12, allow_subnormal=False))
def test_a_number_is_itself(number: float) -> None:
    assert value_of_text("core_clock_mhz", str(number)) == number


@given(st.integers(0, 100), st.integers(1, 20), st.integers(0, 50))
def test_a_range_has_its_first_and_its_last_value(first: int, step: int, steps: int) -> None:
    last = first + step * steps
    assert values_of_text("sms", f"{first}:{last}:{step}") == list(range(first, last + 1, step))
