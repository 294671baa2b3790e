"""One sim over many machines: how its kernels are divided into shards that workers take independently.

Kernels of a list depend on each other only through what they leave in the L2. What a shard finds there is a choice:

- ``cold``: an empty L2, as at the start of a trace. Fastest; the first kernels of every shard but one miss more.
- ``warm``: kernels before the shard are simulated first and thrown away, as many as a share of its work allows.
- ``flushed``: every kernel has an L2 of its own, in a single sim as well. Then shards change nothing at all.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

L2Choice = Literal["cold", "warm", "flushed"]

_WARM_UP_SHARE = 0.25


@dataclass(frozen=True, slots=True)
class Shard:
    """The kernels at ``start`` up to but without ``stop``, after a warm-up from ``warm_from`` on; positions from 0."""

    number: int
    start: int
    stop: int
    warm_from: int
    cost: float
    """Of the kernels and their warm-up, in the unit of the costs given."""


def split(costs: Sequence[float], shards: int, l2: L2Choice = "cold") -> list[Shard]:
    """Divide a list into at most ``shards`` runs of neighbours so that the costliest is as cheap as it can be.

    :param costs: per kernel, for example its instructions; zero and negative ones count as a little
    :raises ValueError: when ``shards`` is not above zero
    """
    if shards < 1:
        raise ValueError(f"A sim is split into at least one shard, not {shards}.")
    if not costs:
        return []
    least = max(max(costs), 1.0) * 1e-6
    work = [max(cost, least) for cost in costs]
    starts = _starts(work, _smallest_limit(work, shards))
    stops = [*starts[1:], len(work)]
    return [
        _shard(number, start, stop, work, l2) for number, (start, stop) in enumerate(zip(starts, stops, strict=True))
    ]


def _smallest_limit(work: Sequence[float], shards: int) -> float:
    """The smallest cost per shard with which that many shards are enough, to a millionth."""
    low, high = max(max(work), sum(work) / shards), sum(work)
    while high - low > low * 1e-6:
        middle = (low + high) / 2
        if len(_starts(work, middle)) <= shards:
            high = middle
        else:
            low = middle
    return high


def _starts(work: Sequence[float], limit: float) -> list[int]:
    starts, filled = [0], 0.0
    for place, cost in enumerate(work):
        # A hair above the limit: sums of floats depend on their order.
        if filled + cost > limit * (1 + 1e-9) and filled > 0:
            starts.append(place)
            filled = 0.0
        filled += cost
    return starts


def _shard(number: int, start: int, stop: int, work: Sequence[float], l2: L2Choice) -> Shard:
    cost = sum(work[start:stop])
    warm_from, budget = start, cost * _WARM_UP_SHARE if l2 == "warm" else 0.0
    while warm_from > 0 and work[warm_from - 1] <= budget:
        warm_from -= 1
        budget -= work[warm_from]
    return Shard(number, start, stop, warm_from, cost + sum(work[warm_from:start]))
