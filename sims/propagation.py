"""Times for kernels that no simulator ran, from those that it did.

A timeline has kernels that were never traced, and a trace has kernels left out to save time. Their times come, best
first:

1. ``class``: the same name, grid, block and instruction profile was simulated: its ratio of simulated to real time (or
   its simulated time, where the kernel has no real one).
2. ``size``: the same name and block at other sizes: the ratio (or time) is interpolated over the logarithm of the size.
3. ``roofline``: nothing alike: the real time scaled by what the two GPUs' compute rate and bandwidth allow.
4. ``overall``: no GPU figures either: the geometric mean ratio of all that was simulated.

Every answer has an interval, and :func:`leave_one_out` tells how wrong the answers are where the truth is known.
"""

import itertools
import math
from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

Dim3 = tuple[int, int, int]
Method = Literal["class", "size", "roofline", "overall"]

_LONE_SPREAD = 0.10
"""Half-width of the interval around a class of one: launches of one kernel in a real step differ that much."""
_SIZE_SPREAD = 0.20
_OVERALL_SPREAD = 0.50
_PROFILE_STEPS = 50
"""Profiles agree when each share of instructions does to 2 %."""


@dataclass(frozen=True, slots=True)
class KernelFacts:
    """What is known of a kernel without simulating it."""

    name: str
    grid: Dim3
    block: Dim3
    real_ns: float | None = None
    """On the GPU of the trace."""
    profile: tuple[float, ...] | None = None
    """Shares of its instructions by functional unit, where it was traced."""
    instructions: int | None = None

    @property
    def size(self) -> float:
        """Work of a launch: its instructions where counted, else its threads."""
        return float(self.instructions or math.prod(self.grid) * math.prod(self.block))


@dataclass(frozen=True, slots=True)
class KnownKernel:
    """A kernel with its simulated time."""

    facts: KernelFacts
    simulated_ns: float


@dataclass(frozen=True, slots=True)
class GpuRates:
    """What a roofline needs of a GPU."""

    compute_rate: float
    """SMs x core clock in MHz; only the ratio of two GPUs' is used."""
    bandwidth_gbs: float


@dataclass(frozen=True, slots=True)
class Propagated:
    """A time that was not simulated, with the interval it is believed to lie in."""

    ns: float
    low_ns: float
    high_ns: float
    method: Method
    based_on: int
    """How many simulated kernels it comes from."""


@dataclass(frozen=True, slots=True)
class PropagationError:
    """How wrong propagated times are for kernels whose simulated time is known."""

    kernels: int
    mape: float | None
    error: float | None
    """Signed, of the total time."""
    within_interval: float | None
    """Share of the kernels whose simulated time lies in the interval."""
    by_method: dict[str, int]


class Propagator:
    """Answers for any kernel from a set of simulated ones."""

    def __init__(
        self, known: Sequence[KnownKernel], traced_on: GpuRates | None = None, target: GpuRates | None = None
    ) -> None:
        self._known = [kernel for kernel in known if kernel.simulated_ns > 0]
        self._rates = (traced_on, target) if traced_on and target else None
        self._classes: dict[Hashable, list[int]] = defaultdict(list)
        self._families: dict[Hashable, list[int]] = defaultdict(list)
        for place, kernel in enumerate(self._known):
            for key in _class_keys(kernel.facts):
                self._classes[key].append(place)
            self._families[_family(kernel.facts)].append(place)

    def predict(self, facts: KernelFacts) -> Propagated | None:
        """The kernel's time; None when nothing at all was simulated, or nothing alike and no real time is known."""
        return self._predict(facts, without=-1)

    def _predict(self, facts: KernelFacts, without: int) -> Propagated | None:
        # A kernel that was never traced has no profile; its class is then all profiles of its name and shape.
        for key in _class_keys(facts):
            found = _from_class(facts, self._others(self._classes.get(key, ()), without))
            if found is not None:
                return found
        found = _from_sizes(facts, self._others(self._families.get(_family(facts), ()), without))
        if found is not None:
            return found
        if facts.real_ns is None:
            return None
        if self._rates is not None:
            return _from_roofline(facts.real_ns, *self._rates)
        return _from_all(facts.real_ns, self._others(range(len(self._known)), without))

    def _others(self, places: Iterable[int], without: int) -> list[KnownKernel]:
        return [self._known[place] for place in places if place != without]

    def leave_one_out(self, most: int = 500) -> PropagationError:
        """Predict simulated kernels from all others; at most ``most`` of them, evenly spread over the list."""
        step = max(1, len(self._known) // most)
        pairs = [
            (kernel.simulated_ns, found)
            for place, kernel in list(enumerate(self._known))[::step]
            if (found := self._predict(kernel.facts, without=place)) is not None
        ]
        by_method: dict[str, int] = defaultdict(int)
        for _, found in pairs:
            by_method[found.method] += 1
        if not pairs:
            return PropagationError(0, None, None, None, {})
        truth_ns = sum(truth for truth, _ in pairs)
        return PropagationError(
            kernels=len(pairs),
            mape=sum(abs(found.ns - truth) / truth for truth, found in pairs) / len(pairs),
            error=(sum(found.ns for _, found in pairs) - truth_ns) / truth_ns,
            within_interval=sum(found.low_ns <= truth <= found.high_ns for truth, found in pairs) / len(pairs),
            by_method=dict(by_method),
        )


def _class_keys(facts: KernelFacts) -> list[Hashable]:
    shape = (facts.name, facts.grid, facts.block)
    if facts.profile is None:
        return [shape]
    return [(*shape, facts.instructions, tuple(round(share * _PROFILE_STEPS) for share in facts.profile)), shape]


def _family(facts: KernelFacts) -> Hashable:
    return facts.name, facts.block


@dataclass(frozen=True, slots=True)
class _Basis:
    """What a prediction is made of: ``scale`` times one of ``values``, one value per member."""

    scale: float
    members: list[KnownKernel]
    values: list[float]
    by_ratio: bool


def _basis(facts: KernelFacts, members: Sequence[KnownKernel]) -> _Basis:
    """The real time times ratios, or one times simulated times where real times are missing."""
    measured = [member for member in members if member.facts.real_ns]
    if facts.real_ns is not None and measured:
        ratios = [member.simulated_ns / (member.facts.real_ns or math.inf) for member in measured]
        return _Basis(facts.real_ns, measured, ratios, by_ratio=True)
    return _Basis(1.0, list(members), [member.simulated_ns for member in members], by_ratio=False)


def _from_class(facts: KernelFacts, members: Sequence[KnownKernel]) -> Propagated | None:
    basis = _basis(facts, members)
    if not basis.values:
        return None
    values, scale = sorted(basis.values), basis.scale
    middle = (values[(len(values) - 1) // 2] + values[len(values) // 2]) / 2
    spread = _LONE_SPREAD / math.sqrt(len(values))
    low, high = min(values[0], middle * (1 - spread)), max(values[-1], middle * (1 + spread))
    return Propagated(middle * scale, low * scale, high * scale, "class", len(values))


def _from_sizes(facts: KernelFacts, members: Sequence[KnownKernel]) -> Propagated | None:
    """Between the two nearest sizes; beyond them the ratio stays and a time grows with the size."""
    # Instructions and threads are sizes of different kinds.
    alike = [member for member in members if (member.facts.instructions is None) == (facts.instructions is None)]
    basis = _basis(facts, alike)
    if not basis.values:
        return None
    points: dict[float, list[float]] = defaultdict(list)
    for member, value in zip(basis.members, basis.values, strict=True):
        points[math.log(member.facts.size)].append(math.log(value))
    curve = sorted((size, sum(logs) / len(logs)) for size, logs in points.items())
    size = math.log(facts.size)
    ns = basis.scale * math.exp(_interpolated(curve, size, slope_outside=0.0 if basis.by_ratio else 1.0))
    spread = 1 + _SIZE_SPREAD * (1 + min(abs(size - known) for known, _ in curve))
    return Propagated(ns, ns / spread, ns * spread, "size", len(basis.values))


def _interpolated(curve: Sequence[tuple[float, float]], at: float, slope_outside: float) -> float:
    if at <= curve[0][0]:
        return curve[0][1] + slope_outside * (at - curve[0][0])
    for (left, left_value), (right, right_value) in itertools.pairwise(curve):
        if at <= right:
            return left_value + (right_value - left_value) * (at - left) / (right - left)
    return curve[-1][1] + slope_outside * (at - curve[-1][0])


def _from_roofline(real_ns: float, traced_on: GpuRates, target: GpuRates) -> Propagated:
    """Between the time if only bandwidth counts and if only compute does: which one binds is not known."""
    bounds = sorted(
        (
            real_ns * traced_on.compute_rate / target.compute_rate,
            real_ns * traced_on.bandwidth_gbs / target.bandwidth_gbs,
        )
    )
    return Propagated(math.sqrt(bounds[0] * bounds[1]), bounds[0], bounds[1], "roofline", 0)


def _from_all(real_ns: float, members: Sequence[KnownKernel]) -> Propagated | None:
    logs = [math.log(member.simulated_ns / member.facts.real_ns) for member in members if member.facts.real_ns]
    if not logs:
        return None
    value = real_ns * math.exp(sum(logs) / len(logs))
    low, high = real_ns * math.exp(min(logs)), real_ns * math.exp(max(logs))
    return Propagated(
        value, min(low, value / (1 + _OVERALL_SPREAD)), max(high, value * (1 + _OVERALL_SPREAD)), "overall", len(logs)
    )
