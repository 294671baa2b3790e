"""Two lists of the same events, each with gaps of its own, laid side by side."""

import itertools
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Sequence

_RUN = 8
"""Events that have to agree before the lists count as side by side again after a gap."""
_MOST_LEFT_OUT = 512
_MOST_TRIED = 10_000_000
_MOST_VOTES = 200_000

Pair = tuple[int, int]
_Places = dict[int, list[int]]


def align(first: Sequence[Hashable], second: Sequence[Hashable]) -> list[Pair]:
    """Pairs of places with equal events, in order on both sides.

    The second list is tried from its start, and shifted by what most equal events agree in: a list of repeated layers
    fits its own beginning as well as its end, and only the whole tells. Most pairs win, then fewest gaps.
    """
    walk = _Walk(first, second)
    pairs = list(walk.from_shift(0))
    if len(pairs) == min(len(first), len(second)) and _gaps(pairs) == 0:
        return pairs
    shifted = list(walk.from_shift(walk.likely_shift()))
    return max(pairs, shifted, key=lambda found: (len(found), -_gaps(found)))


def _gaps(pairs: Sequence[Pair]) -> int:
    """How often the pairs leave something out on either side."""
    return sum(after != (before[0] + 1, before[1] + 1) for before, after in itertools.pairwise(pairs))


class _Runs:
    """Both lists as numbers of their runs of ``length`` events (shorter at the end), and where each run is."""

    def __init__(self, first: Sequence[Hashable], second: Sequence[Hashable], length: int) -> None:
        numbers: dict[tuple[Hashable, ...], int] = {}
        self.first, self.second = (
            [numbers.setdefault(tuple(events[at : at + length]), len(numbers)) for at in range(len(events))]
            for events in (first, second)
        )
        self.in_first, self.in_second = _places_of(self.first), _places_of(self.second)


def _places_of(events: Sequence[int]) -> _Places:
    places: _Places = defaultdict(list)
    for place, event in enumerate(events):
        places[event].append(place)
    return places


class _Walk:
    """Walks both lists while they agree; where they do not, skips to the next run of a few agreeing events.

    The skip is the one that leaves out fewest on both sides. That is linear in the lists' length, where a shortest edit
    script would be quadratic for layers that repeat thousands of times.
    """

    def __init__(self, first: Sequence[Hashable], second: Sequence[Hashable]) -> None:
        self._events, self._runs = _Runs(first, second, 1), _Runs(first, second, _RUN)
        self._tries_left = _MOST_TRIED

    def from_shift(self, shift: int) -> Iterator[Pair]:
        """The pairs found when the first list's start is laid ``shift`` places behind the second's."""
        first, second = self._events.first, self._events.second
        here, there = max(-shift, 0), max(shift, 0)
        while here < len(first) and there < len(second):
            if first[here] == second[there]:
                yield here, there
                here, there = here + 1, there + 1
                continue
            # Near the ends, and in lists that have little in common, there is no whole run left.
            skip = self._skip(self._runs, here, there) or self._skip(self._events, here, there)
            if skip is None:
                return
            here, there = skip

    def _skip(self, runs: _Runs, here: int, there: int) -> Pair | None:
        forward = self._next_run(runs.first, here, there, runs.in_second)
        backward = self._next_run(runs.second, there, here, runs.in_first)
        if forward is not None and (backward is None or forward[0] <= backward[0]):
            return forward[1], forward[2]
        return None if backward is None else (backward[2], backward[1])

    def _next_run(
        self, runs: Sequence[int], place: int, other: int, places_in_other: _Places
    ) -> tuple[int, int, int] | None:
        """The cheapest way to agree again: (events left out on both sides, place here, place in the other list)."""
        best: tuple[int, int, int] | None = None
        # Lists without anything in common would try everything at every event.
        most = _MOST_LEFT_OUT if self._tries_left > 0 else 1
        for left_out in range(min(most, len(runs) - place)):
            self._tries_left -= 1
            if best is not None and left_out >= best[0]:
                break
            found = places_in_other.get(runs[place + left_out], ())
            at = bisect_left(found, other)
            if at < len(found) and (best is None or left_out + found[at] - other < best[0]):
                best = left_out + found[at] - other, place + left_out, found[at]
        return best

    def likely_shift(self) -> int:
        """How far the first list lies behind in the second: what most equal events agree in, the rarest asked first."""
        in_first, in_second = self._events.in_first, self._events.in_second
        shared = sorted(
            (len(places) * len(in_second[event]), event) for event, places in in_first.items() if event in in_second
        )
        votes: Counter[int] = Counter()
        asked = 0
        for product, event in shared:
            asked += product
            if asked > _MOST_VOTES and votes:
                break
            here, there = in_first[event][:_MOST_LEFT_OUT], in_second[event][:_MOST_LEFT_OUT]
            votes.update(after - before for before in here for after in there)
        most = max(votes.values(), default=0)
        return min((shift for shift, count in votes.items() if count == most), key=abs, default=0)
