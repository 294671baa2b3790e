"""Which kernels of a trace to simulate, as people write it: ``"1-20,25"``."""

import re
from collections.abc import Iterable

MAX_TEXT_LENGTH = 10_000

_PART = re.compile(r"\s*(\d{1,9})\s*(?:-\s*(\d{1,9})\s*)?", re.ASCII)


def parse_selection(text: str, kernels_total: int) -> list[int]:
    """Kernel indexes (from 1, in launch order) that ``text`` selects, ascending; all of them for an empty text.

    Raises ``ValueError`` with a sentence for the person who wrote it.
    """
    if not text.strip():
        return list(range(1, kernels_total + 1))
    if len(text) > MAX_TEXT_LENGTH:
        raise ValueError(f"A kernel selection may have at most {MAX_TEXT_LENGTH} characters.")
    selected: set[int] = set()
    for part in text.split(","):
        match = _PART.fullmatch(part)
        if not match:
            raise ValueError(f"{part.strip()[:40]!r} is not a kernel or a range of kernels: write for example 1-20,25.")
        first = int(match[1])
        last = int(match[2]) if match[2] else first
        if first > last:
            raise ValueError(f"The range {first}-{last} runs backwards: write {last}-{first}.")
        if first < 1 or last > kernels_total:
            raise ValueError(f"{part.strip()} is outside the trace, whose kernels are 1 to {kernels_total}.")
        selected.update(range(first, last + 1))
    return sorted(selected)


def format_selection(indexes: Iterable[int]) -> str:
    """The shortest text for a set of kernel indexes: ``[1, 2, 3, 7]`` -> ``"1-3,7"``."""
    parts: list[list[int]] = []
    for index in sorted(set(indexes)):
        if parts and index == parts[-1][1] + 1:
            parts[-1][1] = index
        else:
            parts.append([index, index])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in parts)
