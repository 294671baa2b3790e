"""A curve over one swept value: what it would take."""

from collections.abc import Sequence
from dataclasses import dataclass

from cascade_site.charts.ticks import round_values
from cascade_site.colours import colours_by_config
from cascade_site.formats import duration

WIDTH, HEIGHT = 760, 320
LEFT, RIGHT, TOP, BOTTOM = 88, 24, 16, 44


@dataclass(frozen=True, slots=True)
class Mark:
    x: float
    y: float
    label: str
    href: str


@dataclass(frozen=True, slots=True)
class Curve:
    name: str
    colour: int
    points: str
    marks: list[Mark]


@dataclass(frozen=True, slots=True)
class LineChart:
    """A chart for ``charts/line.html``."""

    curves: list[Curve]
    x_ticks: list[tuple[float, str]]
    y_ticks: list[tuple[float, str]]
    x_label: str
    real_y: float | None

    width, height = WIDTH, HEIGHT
    left, top = LEFT, TOP
    right_x = WIDTH - RIGHT
    bottom_y = HEIGHT - BOTTOM


def line_chart(
    x_label: str, curves: Sequence[tuple[str, Sequence[tuple[float, float, str]]]], real_ns: float | None = None
) -> LineChart | None:
    """Curves of ``(value, time_ns, href)`` points over one value, time from zero; None without a point."""
    values = sorted({value for _, points in curves for value, _, _ in points})
    highest = max([time for _, points in curves for _, time, _ in points] + ([real_ns] if real_ns else []), default=0.0)
    if not values or highest <= 0:
        return None
    span = (values[-1] - values[0]) or 1.0

    def x(value: float) -> float:
        return round(LEFT + (value - values[0]) / span * (WIDTH - LEFT - RIGHT), 1)

    def y(time_ns: float) -> float:
        return round(HEIGHT - BOTTOM - time_ns / (highest * 1.08) * (HEIGHT - TOP - BOTTOM), 1)

    colours = colours_by_config(name for name, _ in curves)
    drawn = [
        Curve(
            name=name,
            colour=colours[name],
            points=" ".join(f"{x(value)},{y(time)}" for value, time, _ in sorted(points)),
            marks=[
                Mark(x(value), y(time), f"{name}, {x_label} {value:g}: {duration(time)}", href)
                for value, time, href in sorted(points)
            ],
        )
        for name, points in curves
        if points
    ]
    return LineChart(
        curves=drawn,
        x_ticks=[(x(value), f"{value:,.10g}") for value in values],
        y_ticks=[(y(time), duration(time) if time else "0") for time in (0.0, *round_values(highest))],
        x_label=x_label,
        real_y=y(real_ns) if real_ns else None,
    )
