"""Values of a configuration as people write them: sizes with a K, M or G behind them, ranges of a sweep.

The letters are powers of 1,024 and stand behind bytes only: 1K MHz would be 1,000.
"""

import math
import re

_NUMBER = re.compile(r"([+-]?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)(?:([KMG])(?:iB)?)?", re.ASCII)
_LONGEST = 40
"""Characters; no value of a GPU takes as many."""
_FACTORS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
MOST_VALUES = 1000
"""Of a range: more than a run may have sims."""

Value = int | float | str


def value_of_text(name: str, text: str) -> Value:
    """A number where the text is one for the value called ``name``, else the text.

    >>> [value_of_text("l2_bytes", text) for text in ("46", "4M", "1.5 GiB", "0.5", "gto")]
    [46, 4194304, 1610612736, 0.5, 'gto']
    >>> value_of_text("core_clock_mhz", "1K")
    '1K'
    """
    found = _NUMBER.fullmatch(text.replace(" ", ""))
    if not found or len(text) > _LONGEST or (found[2] and not name.endswith("_bytes")):
        return text
    number, factor = found[1], _FACTORS.get(found[2], 1)
    if number.lstrip("+-").isdigit():
        return int(number) * factor
    value = float(number) * factor
    if not math.isfinite(value):
        return text
    return int(value) if factor > 1 and value.is_integer() else value


def values_of_text(name: str, text: str) -> list[Value]:
    """The values of ``v1,v2,…``, where ``first:last:step`` stands for all of a range, its last value included.

    >>> values_of_text("sms", "20,40:80:20")
    [20, 40, 60, 80]
    >>> values_of_text("l2_bytes", "1M:2M:512K, 4M")
    [1048576, 1572864, 2097152, 4194304]
    """
    parts = (part.strip() for part in text.split(","))
    return [value for part in parts if part for value in _range(name, part) or [value_of_text(name, part)]]


def _range(name: str, text: str) -> list[Value]:
    """The values of a range; none where the text is no range."""
    parts = [value_of_text(name, part) for part in text.split(":")]
    if len(parts) != 3 or not all(isinstance(part, int | float) for part in parts):
        return []
    first, last, step = (part for part in parts if isinstance(part, int | float))
    if not step or not 0 <= (last - first) / step < MOST_VALUES:
        return []
    # A tenth has no exact binary form: 0.1:0.3:0.1 has three values all the same.
    count = int((last - first) / step + 1e-9) + 1
    return [round(first + i * step, 12) for i in range(count)]
