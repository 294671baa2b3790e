"""Lists of free entries against a plain list."""

from random import Random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sims.engine.freelist import distance, follower


@given(size=st.integers(1, 20), random=st.randoms(use_true_random=False))
def test_untouched_memory_is_a_pool_from_which_the_last_entry_given_back_is_taken_first(
    size: int, random: Random
) -> None:
    held, head = np.zeros(size, np.int32), 0
    free = list(range(size))[::-1]
    taken: list[int] = []
    for _ in range(100):
        if free and (not taken or random.random() < 0.5):
            assert head == free.pop()
            taken.append(head)
            head = follower(head, held[head])
        else:
            entry = taken.pop(random.randrange(len(taken)))
            held[entry] = distance(entry, head)
            head = entry
            free.append(entry)
        assert (head == size) == (not free)
