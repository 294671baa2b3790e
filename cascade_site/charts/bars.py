"""Horizontal bars of times, one per GPU config, the real one first."""

from collections.abc import Sequence
from dataclasses import dataclass

from cascade_site.formats import duration

ROW_HEIGHT = 28
LABEL_WIDTH = 200
VALUE_WIDTH = 250
WIDTH = 760


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar as drawn."""

    label: str
    value_text: str
    note: str
    colour: int
    href: str
    y: int
    width: float

    @property
    def text_y(self) -> int:
        return self.y + 17

    @property
    def value_x(self) -> float:
        return LABEL_WIDTH + self.width + 8


@dataclass(frozen=True, slots=True)
class BarChart:
    """A chart for ``charts/bars.html``."""

    bars: list[Bar]
    title: str

    width = WIDTH
    label_width = LABEL_WIDTH

    @property
    def height(self) -> int:
        return len(self.bars) * ROW_HEIGHT + 4


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
    room = WIDTH - LABEL_WIDTH - VALUE_WIDTH
    bars = [
        Bar(
            label=item.label,
            value_text=duration(item.value_ns),
            note=item.note,
            colour=item.colour,
            href=item.href,
            y=place * ROW_HEIGHT + 2,
            width=round(max(1.0, room * (item.value_ns or 0.0) / longest), 1),
        )
        for place, item in enumerate(known)
    ]
    return BarChart(bars, title)
