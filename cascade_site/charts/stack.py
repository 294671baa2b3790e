"""Stacked bars of shares: where the cycles of each config went."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Part:
    """One share, ``x`` and ``width`` in percent of the bar's length."""

    name: str
    x: float
    width: float
    colour: int
    percent: str


@dataclass(frozen=True, slots=True)
class Stack:
    label: str
    parts: list[Part]


@dataclass(frozen=True, slots=True)
class StackChart:
    """A chart for ``charts/stack.html``; ``names`` is its legend, in the order of the colours."""

    names: list[tuple[str, int]]
    stacks: list[Stack]
    title: str

    @property
    def table(self) -> list[tuple[str, list[str]]]:
        """Each bar's label with its share of every name in the legend, "0.0 %" where it has none."""
        rows = []
        for stack in self.stacks:
            percents = {part.colour: part.percent for part in stack.parts}
            rows.append((stack.label, [percents.get(colour, "0.0 %") for _, colour in self.names]))
        return rows


def stack_chart(title: str, names: Sequence[str], rows: Sequence[tuple[str, Mapping[str, float]]]) -> StackChart | None:
    """One bar per row, each scaled to its own total, parts in the order of ``names``; None without any value."""
    stacks = []
    for label, values in rows:
        total = sum(values.values())
        if total <= 0:
            continue
        x, parts = 0.0, []
        for colour, name in enumerate(names):
            share = values.get(name, 0.0) / total
            width = round(100 * share, 2)
            if width > 0:
                parts.append(Part(name, round(x, 2), width, colour, f"{100 * share:.1f} %"))
            x += width
        stacks.append(Stack(label, parts))
    used = [(name, n) for n, name in enumerate(names) if any(part.name == name for s in stacks for part in s.parts)]
    return StackChart(used, stacks, title) if stacks else None
