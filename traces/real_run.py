"""The launches of the real run that a step timeline is laid out from, of a file of any kind that tells their starts."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from traces.times import Launch

MOST_LAUNCHES = 50_000
"""About what the largest body of the step timeline's route holds."""

_FIELDS = ("name", "duration_ns", "grid", "block", "start_ns", "stream", "step", "phase", "trace_kernel")


class TooManyLaunchesError(ValueError):
    """The real run is too long for a step timeline; the message says so to the one who gave the times."""


def real_run(launches: Sequence[Launch], kernel_of: Sequence[int | None]) -> list[Launch]:
    """The launches that the real run is told by, each with the index of its trace kernel; none where a start is unknown.

    Steps that a file names are taken whole. A profiler that names none has often seen more than the trace: its launches
    count from the first to the last that the trace has, as one step on a clock that begins with it.

    :param kernel_of: for each launch the index of its trace kernel
    :raises TooManyLaunchesError: there are more of them than a step timeline can hold
    """
    known = [replace(launch, trace_kernel=index) for launch, index in zip(launches, kernel_of, strict=True)]
    taken = known if any(launch.step is not None for launch in known) else _between_matched(known)
    if any(launch.start_ns is None for launch in taken):
        return []
    if len(taken) > MOST_LAUNCHES:
        raise TooManyLaunchesError(
            f"The real run has {len(taken)} launches, a predicted step timeline at most {MOST_LAUNCHES}: "
            "there is none; profile fewer steps."
        )
    return taken


def _between_matched(launches: Sequence[Launch]) -> list[Launch]:
    if any(launch.start_ns is None for launch in launches):
        return []
    ordered = sorted(launches, key=_start_ns)
    matched = [place for place, launch in enumerate(ordered) if launch.trace_kernel is not None]
    taken = ordered[matched[0] : matched[-1] + 1] if matched else []
    return [replace(launch, start_ns=_start_ns(launch) - _start_ns(taken[0])) for launch in taken]


def _start_ns(launch: Launch) -> float:
    return launch.start_ns or 0


def to_rows(launches: Iterable[Launch]) -> list[dict[str, Any]]:
    """The launches as JSON has them, without what is unknown."""
    rows = ({name: getattr(launch, name) for name in _FIELDS} for launch in launches)
    return [{name: value for name, value in row.items() if value is not None} for row in rows]


def from_rows(rows: Iterable[Mapping[str, Any]]) -> list[Launch]:
    """What :func:`to_rows` was given.

    >>> from_rows([{"name": "gemm", "duration_ns": 5, "grid": [8, 1, 1]}])[0].grid
    (8, 1, 1)
    """
    return [Launch(**dict(row) | {side: tuple(row[side]) for side in ("grid", "block") if side in row}) for row in rows]
