"""When several threads do without each other because somebody else wants their cores."""

import pytest

from sims.engine.crowding import ALONE_S, CROWDED_SWITCHES_PER_S, WATCH_S, Crowding


class Machine:
    """A clock, and a count of how often a core was taken away."""

    def __init__(self) -> None:
        self.now, self.switches = 100.0, 0
        self.crowding = Crowding(lambda: self.now, lambda: self.switches)

    def stretch(self, seconds: float, switches_per_s: float) -> None:
        """Helpers are there for a while."""
        with self.crowding.watch():
            self.now += seconds
            self.switches += round(seconds * switches_per_s)


def test_nothing_is_crowded_at_first() -> None:
    assert not Machine().crowding.is_crowded()


@pytest.mark.parametrize(("factor", "crowded"), [(0.5, False), (2.0, True)])
def test_it_is_crowded_where_cores_are_taken_away_often(factor: float, crowded: bool) -> None:
    machine = Machine()
    machine.stretch(2 * WATCH_S, factor * CROWDED_SWITCHES_PER_S)
    assert machine.crowding.is_crowded() is crowded


def test_short_stretches_are_judged_together() -> None:
    machine = Machine()
    machine.stretch(WATCH_S / 50, 4 * CROWDED_SWITCHES_PER_S)
    assert not machine.crowding.is_crowded()
    for _ in range(50):
        machine.stretch(WATCH_S / 50, 4 * CROWDED_SWITCHES_PER_S)
    assert machine.crowding.is_crowded()


def test_helpers_are_tried_again_after_a_while_and_judged_anew() -> None:
    machine = Machine()
    machine.stretch(2 * WATCH_S, 3 * CROWDED_SWITCHES_PER_S)
    machine.now += ALONE_S
    assert not machine.crowding.is_crowded()
    machine.stretch(2 * WATCH_S, 0)
    assert not machine.crowding.is_crowded()
