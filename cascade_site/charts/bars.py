"""Horizontal bars of times, one per GPU config, the real one first."""

from collections.abc import Sequence
from dataclasses import dataclass

from cascade_site.formats import duration


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar as drawn; ``width`` is a percentage of the longest one's."""

    label: str
    value_text: str
    note: str
    colour: int
    href: str
    width: float


@dataclass(frozen=True, slots=True)
class BarChart:
    """A chart for ``charts/bars.html``."""

    bars: list[Bar]
    title: str


@dataclass(frozen=True, slots=True)
class BarInput:
    """What a bar says."""

    label: str
    value_ns: float | None
    colour: int
    note: str = ""
    href: str = ""


def bar_chart(title: str, inputs: Sequence[BarInput]) -> BarChart | None:
    """Bars on one scale from zero; None where no value is known."""
    known = [item for item in inputs if item.value_ns is not None]
    longest = max((item.value_ns or 0.0 for item in known), default=0.0)
    if longest <= 0:
        return None
    bars = [
        Bar(
            label=item.label,
            value_text=duration(item.value_ns),
            note=item.note,
            colour=item.colour,
            href=item.href,
            width=round(max(0.2, 100 * (item.value_ns or 0.0) / longest), 1),
        )
        for item in known
    ]
    return BarChart(bars, title)
