"""Which kernels of a long list to simulate so that the rest is known.

A model's step is a layer repeated: 80 times the same dozen kernels, with other weights. One instance is simulated and
stands in for all. It is not the first one, which finds the caches as the start of the trace left them, but a later,
warm one; the kernels just before it are simulated too, only to leave the caches as they would. Inside of it each class
of kernels is simulated once. What repeats nowhere is simulated itself.

Nothing here knows of models: a repetition is found in the sequence of kernels' classes (name, grid, block, instruction
count to 2 %), at every level, so that layers inside of steps that repeat are found as well.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Dim3 = tuple[int, int, int]

_SAME_WORK = 1.02
_WARM_UP_SHARE = 0.2
"""Instructions spent at most on warming up, as a share of the stretch that is simulated for its result."""
_MOST_PERIODS = 64


@dataclass(frozen=True, slots=True)
class ListedKernel:
    """A kernel of the list, in launch order."""

    index: int
    name: str
    grid: Dim3
    block: Dim3
    instructions: int


@dataclass(frozen=True, slots=True)
class Repetition:
    """A stretch of the list that repeats; positions count from 0."""

    start: int
    period: int
    times: int


@dataclass(frozen=True, slots=True)
class Plan:
    """What to simulate, in launch order, and whose result stands for whom. Everything is by kernel index."""

    simulate: list[int]
    warm_up: list[int]
    """Simulated for the caches' sake; their own results are a stand-in's too."""
    stands_in: dict[int, int]
    """For each kernel that is not simulated (or only for warm-up) the kernel whose result it takes."""
    repetitions: list[Repetition]
    instructions: int
    simulated_instructions: int

    @property
    def reduction(self) -> float:
        """How many times fewer instructions are simulated."""
        return self.instructions / self.simulated_instructions if self.simulated_instructions else 1.0

    @property
    def coverage(self) -> float:
        """The share of all instructions whose kernels are simulated themselves."""
        return self.simulated_instructions / self.instructions if self.instructions else 1.0

    def launches(self) -> list[int]:
        """All kernels that a simulator has to run, in order."""
        return sorted([*self.simulate, *self.warm_up])


def plan(kernels: Sequence[ListedKernel], *, fewest_repetitions: int = 3, once_per_class: bool = True) -> Plan:
    """Choose the kernels of a list to simulate.

    :param fewest_repetitions: what repeats less often is no repetition: it has no instance with one on either side
    :param once_per_class: simulate kernels of one class only once within what was chosen, too
    """
    tokens = _tokens(kernels)
    work = np.array([kernel.instructions for kernel in kernels], dtype=np.float64)
    search = _Search(tokens, work, fewest_repetitions)
    search.divide(0, len(kernels))
    stretches = _stretches(search.chosen)
    if once_per_class:
        search.merge_classes()
    chosen = search.chosen
    warm_up = _warm_up(stretches, chosen, work)
    index = [kernel.index for kernel in kernels]
    stands_in = {index[place]: index[search.resolve(place)] for place in range(len(kernels)) if not chosen[place]}
    return Plan(
        simulate=[index[place] for place in np.flatnonzero(chosen)],
        warm_up=[index[place] for place in warm_up],
        stands_in=stands_in,
        repetitions=search.repetitions,
        instructions=int(work.sum()),
        simulated_instructions=int(work[chosen].sum() + work[warm_up].sum()),
    )


def _tokens(kernels: Sequence[ListedKernel]) -> NDArray[np.int64]:
    """A number per kernel, the same for kernels of one class."""
    shapes: dict[tuple[str, Dim3, Dim3], list[int]] = defaultdict(list)
    for place, kernel in enumerate(kernels):
        shapes[kernel.name, kernel.grid, kernel.block].append(place)
    tokens = np.zeros(len(kernels), dtype=np.int64)
    token = 0
    for places in shapes.values():
        least = 0.0
        for place in sorted(places, key=lambda place: kernels[place].instructions):
            # Counts are chained from the smallest of a class, so that none falls apart at a rounding boundary.
            if kernels[place].instructions > least * _SAME_WORK:
                token += 1
                least = float(kernels[place].instructions)
            tokens[place] = token
    return tokens


class _Search:
    """Divides a list at its repetitions; fills ``chosen`` and ``repetitions``."""

    def __init__(self, tokens: NDArray[np.int64], work: NDArray[np.float64], fewest: int) -> None:
        self._tokens = tokens
        self._sums = np.concatenate(([0.0], np.cumsum(work)))
        self._fewest = fewest
        self._stand_in = np.arange(len(tokens))
        self.chosen = np.ones(len(tokens), dtype=bool)
        self.repetitions: list[Repetition] = []

    def divide(self, start: int, stop: int) -> None:
        """Find the repetition that saves most in a stretch, keep its second instance, and look into what is left."""
        pending = [(start, stop)]
        while pending:
            start, stop = pending.pop()
            found = self._best(start, stop)
            if found is None:
                continue
            self.repetitions.append(found)
            end = found.start + found.period * found.times
            kept = found.start + found.period
            places = np.arange(found.start, end)
            stand_ins = kept + (places - found.start) % found.period
            self._stand_in[places] = stand_ins
            self.chosen[places] = places == stand_ins
            pending += [(start, found.start), (kept, kept + found.period), (end, stop)]

    def merge_classes(self) -> None:
        """Let one kernel stand in for all chosen ones of its class: the second, since the first may be a cold one."""
        classes: dict[int, list[int]] = defaultdict(list)
        for place in np.flatnonzero(self.chosen).tolist():
            classes[int(self._tokens[place])].append(place)
        for places in classes.values():
            kept = places[min(1, len(places) - 1)]
            self._stand_in[places] = kept
            self.chosen[places] = False
            self.chosen[kept] = True

    def resolve(self, place: int) -> int:
        """The simulated place that stands in for one; repetitions inside of repetitions lead there in steps."""
        while self._stand_in[place] != place:
            place = int(self._stand_in[place])
        return place

    def _best(self, start: int, stop: int) -> Repetition | None:
        tokens = self._tokens[start:stop]
        best, best_saved = None, 0.0
        for period in _likely_periods(tokens):
            first, length = _longest_run(tokens[period:] == tokens[:-period])
            times = length // period + 1
            if times < self._fewest:
                continue
            begin = start + first
            whole = self._sums[begin + period * times] - self._sums[begin]
            saved = whole * (times - 1) / times
            # Twice a period saves nearly as much; only clearly more is worth a longer one.
            if saved > best_saved * 1.0001:
                best, best_saved = Repetition(begin, period, times), saved
        return best


def _likely_periods(tokens: NDArray[np.int64]) -> list[int]:
    """Distances between neighbours of one class, the most frequent ones, shortest first."""
    last: dict[int, int] = {}
    distances: Counter[int] = Counter()
    for place, token in enumerate(tokens.tolist()):
        if token in last:
            distances[place - last[token]] += 1
        last[token] = place
    # A kernel that comes several times in a layer shows parts of the period only; its sums are tried as well.
    frequent = [distance for distance, _ in distances.most_common(_MOST_PERIODS)]
    return sorted({*frequent, *_distances_of_rarest(tokens)})


def _distances_of_rarest(tokens: NDArray[np.int64]) -> list[int]:
    """Distances of the classes that repeat least: they come once per repetition of the longest period."""
    counts = Counter(tokens.tolist())
    repeated = sorted((count, token) for token, count in counts.items() if count > 1)[:_MOST_PERIODS]
    distances: set[int] = set()
    for _, token in repeated:
        distances.update(np.diff(np.flatnonzero(tokens == token))[:_MOST_PERIODS].tolist())
    return sorted(distances)[:_MOST_PERIODS]


def _longest_run(equal: NDArray[np.bool_]) -> tuple[int, int]:
    """Start and length of the longest stretch of True, the first one if several."""
    longest = max(_stretches(equal), key=lambda stretch: stretch[1] - stretch[0], default=(0, 0))
    return longest[0], longest[1] - longest[0]


def _stretches(flags: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Start and end of every run of True."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], flags, [False])).astype(np.int8))).tolist()
    return list(zip(edges[::2], edges[1::2], strict=True))


def _warm_up(stretches: Sequence[tuple[int, int]], chosen: NDArray[np.bool_], work: NDArray[np.float64]) -> list[int]:
    """Kernels just before each stretch, as many as a small share of what is simulated of it allows."""
    before: list[int] = []
    for start, stop in stretches:
        budget = work[start:stop][chosen[start:stop]].sum() * _WARM_UP_SHARE
        place = start - 1
        while place >= 0 and not chosen[place] and work[place] <= budget:
            budget -= work[place]
            before.append(place)
            place -= 1
    return sorted(set(before))
