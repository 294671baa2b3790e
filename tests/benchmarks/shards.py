"""On paper: what one sim over many workers gives, up to 1,000 of them, and what bounds it.

python -m tests.benchmarks.shards [--kernels N] [--rate WARP_INSTRUCTIONS_PER_SECOND]

A model, not a measurement: kernels of a large model's decode steps with log-normal sizes, workers that take the next
shard from one queue when they are free, a broker that hands out one shard after the other, one process that merges.
"""

import argparse
import heapq
import math
import random
from dataclasses import dataclass

from sims.shards import L2Choice, split


@dataclass(frozen=True)
class Costs:
    """Seconds of what is not simulation."""

    dispatch: float = 0.004
    """The broker, per shard: shards are handed out one after the other."""
    start: float = 0.25
    """A worker, per shard: claim it, open the trace, fetch the decoded kernels."""
    merge_per_kernel: float = 0.0002
    """One process writes all kernels' rows at the end."""


def main() -> None:
    """Print wall time, speed-up and the bound for growing numbers of workers."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--kernels", type=int, default=20_000)
    options.add_argument("--rate", type=float, default=1e6)
    chosen = options.parse_args()
    chance = random.Random(11)
    instructions = [chance.lognormvariate(math.log(2e6), 1.2) for _ in range(chosen.kernels)]
    seconds = [count / chosen.rate for count in instructions]
    print(f"{chosen.kernels} kernels, {sum(seconds) / 3600:.1f} h on one worker, longest kernel {max(seconds):.0f} s")
    l2_choices: tuple[L2Choice, ...] = ("cold", "warm")
    for l2 in l2_choices:
        print(f"\nL2 {l2}, 4 shards per worker")
        print(" workers   shards     wall s   speed-up   efficiency   bound by")
        for workers in (1, 4, 16, 64, 256, 1000):
            _print_row(seconds, workers, l2, Costs())


def _print_row(seconds: list[float], workers: int, l2: L2Choice, costs: Costs) -> None:
    shards = split(seconds, workers * 4, l2)
    running: list[float] = []
    handed_out = 0.0
    # The longest first: what is left at the end is then small.
    for shard in sorted(shards, key=lambda shard: -shard.cost):
        free = heapq.heappop(running) if len(running) == workers else 0.0
        handed_out = max(handed_out + costs.dispatch, free)
        heapq.heappush(running, handed_out + costs.start + shard.cost)
    merge = len(seconds) * costs.merge_per_kernel
    wall = max(running) + merge
    bounds = {
        "simulation": sum(shard.cost for shard in shards) / workers,
        "longest shard": max(shard.cost for shard in shards),
        "hand-out": len(shards) * costs.dispatch,
        "shard starts": len(shards) * costs.start / workers,
        "merge": merge,
    }
    bound = max(bounds, key=lambda name: bounds[name])
    speed_up = sum(seconds) / wall
    share = speed_up / workers
    print(
        f"{workers:8d} {len(shards):8d} {wall:10.1f} {speed_up:10.1f} {share:11.0%}    {bound} ({bounds[bound]:.1f} s)"
    )


if __name__ == "__main__":
    main()
