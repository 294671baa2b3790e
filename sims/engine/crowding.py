"""Whether other programs want the cores that helpers run on.

Threads that work on one kernel wait for each other thousands of times a second (see team.py). Beside other programs on the same
cores, the one that is waited for has often lost its core for milliseconds, and several threads take longer than one: beside one
busy process on two cores 1.6 to 2.5 times as long. How often a core was taken from this process is known to the operating
system (getrusage(2), ``ru_nivcsw``). With two threads on two cores it was 50 to 150 times a second when nobody else was there,
and 560 to 1,900 times beside a busy process, even one that only asks for idle cores.
"""

import math
import resource
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

CROWDED_SWITCHES_PER_S = 300
WATCH_S = 0.05
"""How long helpers have to be there before the rate says anything."""
ALONE_S = 1.0
"""How long to do without them before they are tried again."""


def switches() -> int:
    """How often a core was taken from a thread of this process that could have run on."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw


class Crowding:
    """Watches the stretches in which helpers are called."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, switches: Callable[[], int] = switches) -> None:
        self._clock, self._count_switches = clock, switches
        self._alone_until = -math.inf
        self._seconds = 0.0
        self._switches = 0

    def is_crowded(self) -> bool:
        """Whether to do without helpers now."""
        return self._clock() < self._alone_until

    @contextmanager
    def watch(self) -> Iterator[None]:
        """Around a stretch with helpers."""
        began, switches_before = self._clock(), self._count_switches()
        yield
        ended = self._clock()
        self._seconds += ended - began
        self._switches += self._count_switches() - switches_before
        if self._seconds >= WATCH_S:
            if self._switches > CROWDED_SWITCHES_PER_S * self._seconds:
                self._alone_until = ended + ALONE_S
            self._seconds, self._switches = 0.0, 0
