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
from collections.abc import Callable, Hashable, Iterator, Sequence
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


@dataclass(frozen=True, slots=True)
class _Basis:
    """The kernels a prediction is made of, with the ratio or the time of each."""

    members: list[KnownKernel]
    values: list[float]
    by_ratio: bool


@dataclass(frozen=True, slots=True)
class _Constant:
    """The same ratio or time for every kernel."""

    method: Method
    based_on: int
    by_ratio: bool
    middle: float
    low: float
    high: float

    def applied_to(self, facts: KernelFacts) -> Propagated:
        scale = (facts.real_ns or 0.0) if self.by_ratio else 1.0
        return Propagated(self.middle * scale, self.low * scale, self.high * scale, self.method, self.based_on)


@dataclass(frozen=True, slots=True)
class _Curve:
    """A ratio or time over the size, as logarithms; beyond the ends a ratio stays and a time grows with the size."""

    based_on: int
    by_ratio: bool
    points: tuple[tuple[float, float], ...]

    def applied_to(self, facts: KernelFacts) -> Propagated:
        size = math.log(facts.size)
        value = math.exp(_interpolated(self.points, size, slope_outside=0.0 if self.by_ratio else 1.0))
        ns = value * ((facts.real_ns or 0.0) if self.by_ratio else 1.0)
        spread = 1 + _SIZE_SPREAD * (1 + min(abs(size - known) for known, _ in self.points))
        return Propagated(ns, ns / spread, ns * spread, "size", self.based_on)


_Model = _Constant | _Curve
_MakeModel = Callable[[KernelFacts, Sequence[KnownKernel]], _Model | None]


class Propagator:
    """Answers for any kernel from a set of simulated ones."""

    def __init__(
        self, known: Sequence[KnownKernel], traced_on: GpuRates | None = None, target: GpuRates | None = None
    ) -> None:
        self._known = [kernel for kernel in known if kernel.simulated_ns > 0]
        self._rates = (traced_on, target) if traced_on and target else None
        self._classes: dict[Hashable, list[KnownKernel]] = defaultdict(list)
        self._families: dict[Hashable, list[KnownKernel]] = defaultdict(list)
        for kernel in self._known:
            for key in _class_keys(kernel.facts):
                self._classes[key].append(kernel)
            self._families[_family(kernel.facts)].append(kernel)
        # A timeline asks for the same few classes thousands of times.
        self._models: dict[Hashable, _Model | None] = {}

    def predict(self, facts: KernelFacts) -> Propagated | None:
        """The kernel's time; None when nothing at all was simulated, or nothing alike and no real time is known."""
        for key, members, model in self._sources(facts):
            if (key, facts.real_ns is None) not in self._models:
                self._models[key, facts.real_ns is None] = model(facts, members)
            found = self._models[key, facts.real_ns is None]
            if found is not None:
                return found.applied_to(facts)
        return self._from_roofline(facts)

    def _predict_without(self, left_out: KnownKernel) -> Propagated | None:
        for _, members, model in self._sources(left_out.facts):
            found = model(left_out.facts, [member for member in members if member is not left_out])
            if found is not None:
                return found.applied_to(left_out.facts)
        return self._from_roofline(left_out.facts)

    def _sources(self, facts: KernelFacts) -> Iterator[tuple[Hashable, list[KnownKernel], _MakeModel]]:
        """What to ask, best first."""
        # A kernel that was never traced has no profile; its class is then all profiles of its name and shape.
        for key in _class_keys(facts):
            yield ("class", key), self._classes.get(key, []), _class_model
        family = _family(facts)
        yield ("size", family), self._families.get(family, []), _size_model
        if facts.real_ns is not None and self._rates is None:
            yield "overall", self._known, _overall_model

    def _from_roofline(self, facts: KernelFacts) -> Propagated | None:
        """Between the time if only bandwidth counts and if only compute does: which one binds is not known."""
        if facts.real_ns is None or self._rates is None:
            return None
        traced_on, target = self._rates
        compute_ns = facts.real_ns * traced_on.compute_rate / target.compute_rate
        memory_ns = facts.real_ns * traced_on.bandwidth_gbs / target.bandwidth_gbs
        low_ns, high_ns = sorted((compute_ns, memory_ns))
        return Propagated(math.sqrt(low_ns * high_ns), low_ns, high_ns, "roofline", 0)

    def leave_one_out(self, most: int = 500) -> PropagationError:
        """Predict simulated kernels from all others; about ``most`` of them, evenly spread over the list."""
        step = max(1, len(self._known) // most)
        pairs = [
            (kernel.simulated_ns, found)
            for kernel in self._known[::step]
            if (found := self._predict_without(kernel)) is not None
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
    # Instructions and threads are sizes of different kinds.
    return facts.name, facts.block, facts.instructions is None


def _class_model(facts: KernelFacts, members: Sequence[KnownKernel]) -> _Model | None:
    basis = _basis(facts, members)
    if not basis.values:
        return None
    values = sorted(basis.values)
    middle = (values[(len(values) - 1) // 2] + values[len(values) // 2]) / 2
    spread = _LONE_SPREAD / math.sqrt(len(values))
    low, high = min(values[0], middle * (1 - spread)), max(values[-1], middle * (1 + spread))
    return _Constant("class", len(values), basis.by_ratio, middle, low, high)


def _size_model(facts: KernelFacts, members: Sequence[KnownKernel]) -> _Model | None:
    basis = _basis(facts, members)
    if not basis.values:
        return None
    points: dict[float, list[float]] = defaultdict(list)
    for member, value in zip(basis.members, basis.values, strict=True):
        points[math.log(member.facts.size)].append(math.log(value))
    curve = tuple(sorted((size, sum(logs) / len(logs)) for size, logs in points.items()))
    return _Curve(len(basis.values), basis.by_ratio, curve)


def _overall_model(facts: KernelFacts, members: Sequence[KnownKernel]) -> _Model | None:
    basis = _basis(facts, members)
    if not basis.values or not basis.by_ratio:
        return None
    middle = math.exp(sum(map(math.log, basis.values)) / len(basis.values))
    low = min(*basis.values, middle / (1 + _OVERALL_SPREAD))
    high = max(*basis.values, middle * (1 + _OVERALL_SPREAD))
    return _Constant("overall", len(basis.values), True, middle, low, high)


def _basis(facts: KernelFacts, members: Sequence[KnownKernel]) -> _Basis:
    """Ratios to multiply a real time by, or simulated times where real times are missing."""
    measured = [member for member in members if member.facts.real_ns]
    if facts.real_ns is not None and measured:
        ratios = [member.simulated_ns / (member.facts.real_ns or math.inf) for member in measured]
        return _Basis(measured, ratios, by_ratio=True)
    return _Basis(list(members), [member.simulated_ns for member in members], by_ratio=False)


def _interpolated(curve: Sequence[tuple[float, float]], at: float, slope_outside: float) -> float:
    if at <= curve[0][0]:
        return curve[0][1] + slope_outside * (at - curve[0][0])
    for (left, left_value), (right, right_value) in itertools.pairwise(curve):
        if at <= right:
            return left_value + (right_value - left_value) * (at - left) / (right - left)
    return curve[-1][1] + slope_outside * (at - curve[-1][0])
