"""Lists of a pool's free entries, of which untouched memory is one of all.

A free entry holds the distance from its neighbour to the free entry after it. So zeros are a pool in which each is followed by
its neighbour: nothing has to be written before it is used, and what never is used takes no memory. The list's head is the
pool's size when none is free.
"""

from sims.engine.jit import compiled


@compiled
def follower(entry: int, distance: int) -> int:
    """The free entry after ``entry``, which holds ``distance``."""
    return entry + 1 + distance


@compiled
def distance(entry: int, following: int) -> int:
    """What ``entry`` has to hold for ``following`` to come after it."""
    return following - (entry + 1)
