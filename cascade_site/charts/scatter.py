"""The still correlation picture: simulated against real time on logarithmic axes, for pages without JavaScript."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from cascade_site.formats import duration

WIDTH, HEIGHT = 760, 480
LEFT, RIGHT, TOP, BOTTOM = 72, 12, 12, 40
MOST_POINTS = 1500


@dataclass(frozen=True, slots=True)
class Point:
    real_ns: float
    simulated_ns: float
    colour: int
    title: str
    href: str


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

    dots: list[Dot]
    x_ticks: list[Tick]
    y_ticks: list[Tick]
    ideal: tuple[float, float, float, float]
    band: str
    left_out: int

    width, height = WIDTH, HEIGHT
    left, top = LEFT, TOP
    right_x = WIDTH - RIGHT
    bottom_y = HEIGHT - BOTTOM


def _tick_places(low: float, high: float) -> list[float]:
    """Logarithms of round values between two: whole decades, with 2 and 5 between them where there are few."""
    steps = (1, 2, 5) if high - low < 2 else (1,)
    places = [decade + math.log10(step) for decade in range(math.floor(low), math.ceil(high) + 1) for step in steps]
    return [place for place in places if low <= place <= high]


def scatter_chart(points: Sequence[Point]) -> ScatterChart | None:
    """The longest ``MOST_POINTS`` kernels; None where there is no point."""
    usable = [point for point in points if point.real_ns > 0 and point.simulated_ns > 0]
    if not usable:
        return None
    shown = sorted(usable, key=lambda point: point.real_ns, reverse=True)[:MOST_POINTS]
    values = [math.log10(value) for point in shown for value in (point.real_ns, point.simulated_ns)]
    pad = max(0.1, 0.05 * (max(values) - min(values)))
    low, high = min(values) - pad, max(values) + pad

    def x(value: float) -> float:
        return round(LEFT + (value - low) / (high - low) * (WIDTH - LEFT - RIGHT), 1)

    def y(value: float) -> float:
        return round(HEIGHT - BOTTOM - (value - low) / (high - low) * (HEIGHT - TOP - BOTTOM), 1)

    decades = _tick_places(low, high)
    under, over = math.log10(0.9), math.log10(1.1)
    band = [(low, low + under), (high, high + under), (high, high + over), (low, low + over)]
    return ScatterChart(
        dots=[Dot(x(math.log10(p.real_ns)), y(math.log10(p.simulated_ns)), p.colour, p.title, p.href) for p in shown],
        x_ticks=[Tick(x(decade), duration(10.0**decade)) for decade in decades],
        y_ticks=[Tick(y(decade), duration(10.0**decade)) for decade in decades],
        ideal=(x(low), y(low), x(high), y(high)),
        band=" ".join(f"{x(a)},{min(max(y(b), TOP), HEIGHT - BOTTOM)}" for a, b in band),
        left_out=len(usable) - len(shown),
    )
