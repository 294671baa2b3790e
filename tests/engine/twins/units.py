"""The execution units once more: what starts in a cycle, written down as the rule reads."""

from collections import Counter
from dataclasses import dataclass, field

from sims.engine.program import (
    UNIT_BRANCH,
    UNIT_DP,
    UNIT_GMMA,
    UNIT_INT,
    UNIT_SFU,
    UNIT_SP,
    UNIT_TENSOR,
    UNIT_TEXTURE,
    UNIT_UNIFORM,
)
from sims.engine.statics import PIPE_OF_UNIT

ASKING_ORDER = [
    PIPE_OF_UNIT[unit]
    for unit in (
        UNIT_SP, UNIT_DP, UNIT_INT, UNIT_SFU, UNIT_BRANCH, UNIT_TEXTURE, UNIT_TENSOR, UNIT_UNIFORM, UNIT_GMMA,
    )
]  # fmt: skip
BUSES = 8


@dataclass(frozen=True)
class Operation:
    """An instruction whose operands are read."""

    latency: int
    interval: int


@dataclass
class Units:
    """One unit per sub-core and pipe; eight results a cycle for all of them."""

    subcores: int
    waiting: dict[tuple[int, int], Operation] = field(default_factory=dict)
    """By sub-core and pipe."""
    free_from: dict[tuple[int, int], int] = field(default_factory=dict)
    results: Counter[int] = field(default_factory=Counter)

    def cycle(self, now: int) -> None:
        for pipe in ASKING_ORDER:
            for subcore in range(self.subcores):
                place = subcore, pipe
                operation = self.waiting.get(place)
                if operation is None or self.free_from.get(place, 0) > now:
                    continue
                if self.results[now + operation.latency] < BUSES:
                    self.results[now + operation.latency] += 1
                    self.free_from[place] = now + operation.interval
                    del self.waiting[place]
