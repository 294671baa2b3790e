"""The switches of a run that are the simulator's and not the GPU's."""

from collections.abc import Callable, Mapping
from typing import Any

from sims.engine.threads import MAX_THREADS

_Rule = tuple[Callable[[Any], bool], str]


def _one_of(*names: str) -> _Rule:
    return lambda value: value in names, f"must be one of {', '.join(names)}"


def _number(low: float, high: float) -> _Rule:
    def fits(value: Any) -> bool:
        return isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high

    return fits, f"must be a number from {low:g} to {high:g}"


def _whole(low: int, high: int) -> _Rule:
    def fits(value: Any) -> bool:
        return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high

    return fits, f"must be a whole number from {low} to {high}"


_FLAG: _Rule = (lambda value: isinstance(value, bool), "must be true or false")

OPTIONS: dict[str, _Rule] = {
    "exact": _FLAG,  # no shortcuts: every kernel, every wave
    "l2": _one_of("chain", "cold", "warm"),  # what the L2 holds when a kernel starts
    "threads": _whole(1, MAX_THREADS),
    "representatives": _FLAG,  # simulate one warm instance per class of repeating kernels
    "shards": _whole(1, 1000),  # parts of the kernel list that workers take independently
    "gaps": _one_of("kept", "closed"),  # real gaps between kernels in the predicted step timeline
    "replay_seconds": _number(0, 86_400),  # spread a replayed log over this time
}


def problem_with(options: Mapping[str, Any]) -> tuple[str, str] | None:
    """The first option that is unknown or has a wrong value, and what is wrong with it."""
    for name, value in options.items():
        if name not in OPTIONS:
            return name, f"is no option; the options are {', '.join(OPTIONS)}"
        fits, allowed = OPTIONS[name]
        if not fits(value):
            return name, allowed
    return None
