"""One sim over many machines: its kernels in shards that workers take independently, merged in order.

Kernels of a list depend on each other only through what they leave in the L2. Where a sim gives every kernel an L2 of its
own (``cold`` or ``warm``), shards change nothing at all. Where kernels find what earlier ones left (``chain``), a shard
begins with an empty L2, and its first kernels miss more than they would; a warm-up runs the kernels before the shard
first and throws their results away, for a share of the shard's work.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

_WARM_UP_SHARE = 0.25

Result = TypeVar("Result")


class IncompleteShardsError(ValueError):
    """Shards whose results do not make up the whole sim."""


@dataclass(frozen=True, slots=True)
class Shard:
    """The kernels at ``start`` up to but without ``stop``, after a warm-up from ``warm_from`` on; positions from 0."""

    number: int
    start: int
    stop: int
    warm_from: int
    cost: float
    """Of the kernels and their warm-up, in the unit of the costs given."""


@dataclass(frozen=True, slots=True)
class ShardResult(Generic[Result]):
    """What a worker hands back: one result per kernel of the shard, in order, and its part of the log."""

    shard: Shard
    kernels: Sequence[Result]
    log: str = ""


def split(costs: Sequence[float], shards: int, *, warm_up: bool = False) -> list[Shard]:
    """Divide a list into at most ``shards`` runs of neighbours so that the costliest is as cheap as it can be.

    :param costs: per kernel, for example its instructions; zero and negative ones count as a little
    :param warm_up: run a few kernels before each shard first
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
        _shard(number, start, stop, work, warm_up)
        for number, (start, stop) in enumerate(zip(starts, stops, strict=True))
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


def _shard(number: int, start: int, stop: int, work: Sequence[float], warm_up: bool) -> Shard:
    cost = sum(work[start:stop])
    warm_from, budget = start, cost * _WARM_UP_SHARE if warm_up else 0.0
    while warm_from > 0 and work[warm_from - 1] <= budget:
        warm_from -= 1
        budget -= work[warm_from]
    return Shard(number, start, stop, warm_from, cost + sum(work[warm_from:start]))


def merge(shards: Sequence[Shard], results: Iterable[ShardResult[Result]]) -> tuple[list[Result], str]:
    """All kernels' results in launch order and the whole log, from shards that ended in any order.

    A shard that two workers finished (one was taken for lost) counts once: the same input gives the same result.

    :raises IncompleteShardsError: when a shard is missing, or has fewer or more results than kernels
    """
    by_number: dict[int, ShardResult[Result]] = {}
    for result in results:
        by_number.setdefault(result.shard.number, result)
    kernels: list[Result] = []
    logs: list[str] = []
    for shard in shards:
        found = by_number.get(shard.number)
        if found is None:
            raise IncompleteShardsError(f"Shard {shard.number} of {len(shards)} has no result.")
        if len(found.kernels) != shard.stop - shard.start:
            raise IncompleteShardsError(
                f"Shard {shard.number} has {len(found.kernels)} results for {shard.stop - shard.start} kernels."
            )
        kernels += found.kernels
        logs.append(found.log)
    return kernels, "".join(logs)
