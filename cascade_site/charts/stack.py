"""Stacked bars of shares: where the cycles of each config went."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

WIDTH = 760
LABEL_WIDTH = 200
ROW_HEIGHT = 28


@dataclass(frozen=True, slots=True)
class Part:
    name: str
    x: float
    width: float
    colour: int
    percent: str


@dataclass(frozen=True, slots=True)
class Stack:
    label: str
    y: int
    parts: list[Part]

    @property
    def text_y(self) -> int:
        return self.y + 17


@dataclass(frozen=True, slots=True)
class StackChart:
    """A chart for ``charts/stack.html``; ``names`` is its legend, in the order of the colours."""

    names: list[tuple[str, int]]
    stacks: list[Stack]
    title: str

    width, label_width = WIDTH, LABEL_WIDTH

    @property
    def height(self) -> int:
        return len(self.stacks) * ROW_HEIGHT + 4


def stack_chart(title: str, names: Sequence[str], rows: Sequence[tuple[str, Mapping[str, float]]]) -> StackChart | None:
    """One bar per row, each scaled to its own total, parts in the order of ``names``; None without any value."""
    stacks = []
    for place, (label, values) in enumerate((label, values) for label, values in rows if sum(values.values()) > 0):
        total = sum(values.values())
        x, parts = float(LABEL_WIDTH), []
        for colour, name in enumerate(names):
            share = values.get(name, 0.0) / total
            width = round(share * (WIDTH - LABEL_WIDTH - 8), 1)
            if width > 0:
                parts.append(Part(name, round(x, 1), width, colour, f"{100 * share:.1f} %"))
            x += width
        stacks.append(Stack(label, place * ROW_HEIGHT + 2, parts))
    used = [(name, n) for n, name in enumerate(names) if any(part.name == name for s in stacks for part in s.parts)]
    return StackChart(used, stacks, title) if stacks else None
