"""Reading step timelines, which anyone may have posted: what is not as it should be counts as unknown."""

from collections.abc import Iterable, Mapping
from typing import Any, TypeGuard

_LARGEST = 1e18
"""Some thirty years in nanoseconds. JSON has whole numbers of any length, and no float is that large."""


def objects(value: Any) -> list[dict[str, Any]]:
    """The objects of a list; none of anything else."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def numbers(values: Mapping[str, Any], names: Iterable[str]) -> dict[str, float | None]:
    """Those of the values under these names that are numbers, None for the others.

    >>> numbers({"real_ns": 5, "error": "much"}, ["real_ns", "error", "mape"])
    {'real_ns': 5, 'error': None, 'mape': None}
    """
    return {name: value if _is_number(value := values.get(name)) else None for name in names}


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= _LARGEST


def predicted_starts_ns(timeline: Mapping[str, Any]) -> dict[int, float]:
    """Predicted start by trace kernel, where a timeline has some."""
    starts: dict[int, float] = {}
    for step in objects(timeline.get("steps")):
        for kernel in objects(step.get("kernels")):
            index, start_ns = kernel.get("trace_kernel"), kernel.get("predicted_start_ns")
            if type(index) is int and _is_number(start_ns):
                starts.setdefault(index, float(start_ns))
    return starts
