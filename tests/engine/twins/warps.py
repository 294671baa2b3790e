"""Warps and their instructions, as the twins of an SM's parts see them."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Operation:
    """One instruction of one warp.

    ``operand``: bank conflict degree, tuple of (sector address, byte mask) from the highest on, or immediate; None where no lane
    is active.
    """

    kind: str
    pipe: int
    latency: int
    interval: int
    sources: tuple[int, ...] = ()
    destination: int | None = None
    space: str = "none"
    bypasses_l1: bool = False
    operand: Any = None


@dataclass(eq=False)
class Warp:
    """``waits_for`` is empty, ``barrier``, ``membar``, ``atomic``, ``copies`` or ``end``.

    ``in_flight`` counts what it has issued and what has not left its pipe, and stores that are not acknowledged; ``groups`` has
    the copies under way of each group, the last one open.
    """

    slot: int
    operations: list[Operation]
    next: int = 0
    buffered: int = 0
    waits_for: str = ""
    pending: set[int] = field(default_factory=set)
    in_flight: int = 0
    groups: list[int] = field(default_factory=lambda: [0])
    awaited_groups: int = 0

    @property
    def is_done(self) -> bool:
        return self.waits_for == "end" and not self.pending and not self.in_flight
