"""The still correlation picture: simulated against real time on logarithmic or linear axes, for pages without JavaScript.

Every point is drawn, as one path per series; the longest kernels are dots that say what they are and lead somewhere.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cascade_site.charts.ticks import round_values
from cascade_site.formats import duration

WIDTH, HEIGHT = 760, 480
LEFT, RIGHT, TOP, BOTTOM = 88, 12, 12, 40
MOST_DOTS = 300

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Series:
    """Points of one colour. Both arrays have shape (kernels,), in ns; what is NaN or not above zero is no point."""

    colour: int
    real_ns: Floats
    simulated_ns: Floats
    describe: Callable[[int], tuple[str, str]]
    """A point's title and address, by its place in the arrays; asked only for the dots."""


@dataclass(frozen=True, slots=True)
class Cloud:
    """A series' points that are too many to be dots."""

    colour: int
    path: str


@dataclass(frozen=True, slots=True)
class Dot:
    x: float
    y: float
    colour: int
    title: str
    href: str


@dataclass(frozen=True, slots=True)
class Tick:
    place: float
    label: str


@dataclass(frozen=True, slots=True)
class ScatterChart:
    """A chart for ``charts/scatter.html``."""

    clouds: list[Cloud]
    dots: list[Dot]
    x_ticks: list[Tick]
    y_ticks: list[Tick]
    ideal: tuple[float, float, float, float]
    band: str

    width, height = WIDTH, HEIGHT
    left, top = LEFT, TOP
    right_x = WIDTH - RIGHT
    bottom_y = HEIGHT - BOTTOM


@dataclass(frozen=True, slots=True)
class _Scale:
    """Both axes' range, in logarithms of ns or in ns."""

    low: float
    high: float
    logarithmic: bool

    def x(self, value: Floats) -> Floats:
        return np.round(LEFT + (value - self.low) / (self.high - self.low) * (WIDTH - LEFT - RIGHT), 1)

    def y(self, value: Floats) -> Floats:
        share = (value - self.low) / (self.high - self.low)
        return np.round(HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM), 1)

    def times(self, place: float, factor: float) -> float:
        """The place of ``factor`` times the value at a place."""
        return place + math.log10(factor) if self.logarithmic else place * factor

    @property
    def ticks(self) -> list[tuple[float, float]]:
        """Places and values of round times."""
        if self.logarithmic:
            return [(place, 10.0**place) for place in _round_logarithms(self.low, self.high)]
        return [(value, value) for value in round_values(self.high)]


def _round_logarithms(low: float, high: float) -> list[float]:
    """Logarithms of round values between two: whole decades, with 2 and 5 between them where there are few."""
    steps = (1, 2, 5) if high - low < 2 else (1,)
    places = [decade + math.log10(step) for decade in range(math.floor(low), math.ceil(high) + 1) for step in steps]
    return [place for place in places if low <= place <= high]


def _scale(values: Floats, logarithmic: bool) -> _Scale:
    low, high = float(values.min()), float(values.max())
    pad = max(0.1, 0.05 * (high - low))
    return _Scale(low - pad, high + pad, True) if logarithmic else _Scale(0.0, 1.05 * high, False)


def scatter_chart(series: Sequence[Series], logarithmic: bool = True) -> ScatterChart | None:
    """All points of all series; None where there is no point."""
    with np.errstate(invalid="ignore"):
        usable = [np.flatnonzero((one.real_ns > 0) & (one.simulated_ns > 0)) for one in series]
    if not any(places.size for places in usable):
        return None
    axis = np.log10 if logarithmic else np.asarray
    placed = [
        (axis(one.real_ns[places]), axis(one.simulated_ns[places])) for one, places in zip(series, usable, strict=True)
    ]
    scale = _scale(np.concatenate([values for pair in placed for values in pair]), logarithmic)
    dotted = _longest([real for real, _ in placed])
    clouds, dots = [], []
    for one, places, (real, simulated), is_dot in zip(series, usable, placed, dotted, strict=True):
        x, y = scale.x(real), scale.y(simulated)
        clouds.append(Cloud(one.colour, _path(x[~is_dot], y[~is_dot])))
        for at in np.flatnonzero(is_dot).tolist():
            dots.append(Dot(float(x[at]), float(y[at]), one.colour, *one.describe(int(places[at]))))
    return _chart(scale, [cloud for cloud in clouds if cloud.path], dots)


def _longest(reals: list[Floats]) -> list[NDArray[np.bool_]]:
    """For each series which of its points are among the ``MOST_DOTS`` longest of all."""
    every = np.concatenate(reals)
    chosen = np.zeros(every.size, dtype=bool)
    chosen[np.argsort(-every, kind="stable")[:MOST_DOTS]] = True
    return np.split(chosen, np.cumsum([real.size for real in reals])[:-1])


def _path(x: Floats, y: Floats) -> str:
    """Points as strokes of no length, which round line ends make dots; those within two pixels once."""
    spots = (2 * np.unique(np.round(np.stack([x, y], axis=1) / 2), axis=0)).astype(int).tolist()
    return "".join([f"M{x} {y}h0" for x, y in spots])


def _chart(scale: _Scale, clouds: list[Cloud], dots: list[Dot]) -> ScatterChart:
    low, high = scale.low, scale.high

    def x(value: float) -> float:
        return float(scale.x(np.array(value)))

    def y(value: float) -> float:
        return float(scale.y(np.array(value)))

    ticks = scale.ticks
    band = [(at, scale.times(at, factor)) for at, factor in ((low, 0.9), (high, 0.9), (high, 1.1), (low, 1.1))]
    return ScatterChart(
        clouds=clouds,
        dots=dots,
        x_ticks=[Tick(x(place), duration(value)) for place, value in ticks],
        y_ticks=[Tick(y(place), duration(value)) for place, value in ticks],
        ideal=(x(low), y(low), x(high), y(high)),
        band=" ".join(f"{x(a)},{min(max(y(b), TOP), HEIGHT - BOTTOM)}" for a, b in band),
    )
