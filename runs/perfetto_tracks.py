"""Where things go in a Chrome trace: lanes for overlapping kernels, running counters, the extent of steps."""

import heapq
import math
from collections.abc import Iterator, Mapping


class Lanes:
    """Threads for streams, with a further lane where kernels of one stream overlap.

    Slices of one thread must nest or they are dropped (google/perfetto#4280). A lane takes a slice only at or after its
    own end, so none overlap even when slices come out of order.
    """

    def __init__(self) -> None:
        self._next_tid = 1
        self._lanes: dict[str, list[tuple[int, float]]] = {}

    def place(self, track: str, start_ns: float, duration_ns: float) -> tuple[int, str | None]:
        """The thread id for a slice, and the thread's name if it is a new one."""
        lanes = self._lanes.setdefault(track, [])
        end_ns = start_ns + duration_ns
        for place, (tid, lane_end_ns) in enumerate(lanes):
            if lane_end_ns <= start_ns:
                lanes[place] = (tid, end_ns)
                return tid, None
        tid = self._next_tid
        self._next_tid += 1
        lanes.append((tid, end_ns))
        return tid, track if len(lanes) == 1 else f"{track} (lane {len(lanes)})"


class Counters:
    """Sums, over the kernels running at a time, of values that hold while a kernel runs."""

    def __init__(self) -> None:
        self._running: list[tuple[float, str, float]] = []
        self._counts: dict[str, int] = {}
        self._sums: dict[str, float] = {}

    def advance(
        self, start_ns: float, duration_ns: float, values: Mapping[str, float | None]
    ) -> Iterator[tuple[float, str, float]]:
        """Changes ``(time_ns, counter, value)`` up to and at the start of a kernel with these values."""
        yield from self._end_before(start_ns)
        for name, value in values.items():
            if value is None or not math.isfinite(value):
                continue
            self._sums[name] = self._sums.get(name, 0.0) + value
            self._counts[name] = self._counts.get(name, 0) + 1
            heapq.heappush(self._running, (start_ns + duration_ns, name, value))
            yield start_ns, name, self._sums[name]

    def finish(self) -> Iterator[tuple[float, str, float]]:
        """The changes after the last kernel's start."""
        return self._end_before(math.inf)

    def _end_before(self, time_ns: float) -> Iterator[tuple[float, str, float]]:
        while self._running and self._running[0][0] <= time_ns:
            end_ns, name, value = heapq.heappop(self._running)
            self._counts[name] -= 1
            # Sums of floats leave crumbs; a counter with nothing running is zero.
            self._sums[name] = self._sums[name] - value if self._counts[name] else 0.0
            yield end_ns, name, self._sums[name]


class Steps:
    """First start and last end of every step."""

    def __init__(self) -> None:
        self._steps: dict[int, tuple[str | None, float, float]] = {}

    def add(self, step: int | None, phase: str | None, start_ns: float, duration_ns: float) -> None:
        """Stretch a step over one kernel; a kernel outside of any step changes nothing."""
        if step is None:
            return
        end_ns = start_ns + duration_ns
        if step in self._steps:
            phase, first_ns, last_ns = self._steps[step]
            start_ns, end_ns = min(first_ns, start_ns), max(last_ns, end_ns)
        self._steps[step] = (phase, start_ns, end_ns)

    def in_order(self) -> Iterator[tuple[int, str | None, float, float]]:
        """``(step, phase, start_ns, end_ns)`` by start."""
        for step, (phase, start_ns, end_ns) in sorted(self._steps.items(), key=lambda item: item[1][1]):
            yield step, phase, start_ns, end_ns
