"""Numbers as people read them."""

import pytest

from cascade_site import formats


@pytest.mark.parametrize(
    ("value_ns", "text"),
    [(None, "–"), (0, "0 ns"), (950, "950 ns"), (1843, "1.84 µs"), (1_843_200, "1.84 ms"), (2.5e9, "2.50 s")],
)
def test_durations_are_scaled_to_three_digits(value_ns: float | None, text: str) -> None:
    assert formats.duration(value_ns) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "–"), (512, "512 B"), (4 * 1024**2, "4 MiB"), (1536, "1.5 KiB"), (1023 * 1024, "1,023 KiB")],
)
def test_sizes_are_binary(value: int | None, text: str) -> None:
    assert formats.size(value) == text


@pytest.mark.parametrize(("value", "text"), [(None, "–"), (0.34312, "0.343×"), (2, "2.00×"), (12345.6, "12,346×")])
def test_ratios_have_three_digits_and_no_exponent(value: float | None, text: str) -> None:
    assert formats.ratio(value) == text


@pytest.mark.parametrize(("value_s", "text"), [(0.5, "0.50 s"), (200, "3 min 20 s"), (7500, "2 h 5 min")])
def test_wall_time_is_in_its_own_words(value_s: float, text: str) -> None:
    assert formats.seconds(value_s) == text


def test_signed_errors_have_their_sign() -> None:
    assert [formats.signed_percent(x) for x in (0.0624, -0.1, None)] == ["+6.2 %", "-10.0 %", "–"]


def test_counts_have_prefixes() -> None:
    assert [formats.si(x) for x in (12_345_678, 999, None)] == ["12.3 M", "999", "–"]
