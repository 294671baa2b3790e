"""How a runner paces its tries while the app is away."""

import pytest

from sims.runner.api import LONGEST_PAUSE_S, Outage, OutOfPatienceError


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def tries_in(clock: Clock, outage: Outage, seconds: float) -> int:
    """How often two threads of a runner ask a server that never answers."""
    started, tries = clock.now, 0
    while clock.now - started < seconds:
        for _ in range(2):
            if outage.pause_s() == 0:
                tries += 1
                outage.failed("away", started)
        clock.now += 0.25
    return tries


def test_ten_minutes_cost_at_most_forty_requests() -> None:
    clock = Clock()
    assert 10 <= tries_in(clock, Outage(900, clock), 600) <= 40


def test_nobody_waits_before_the_first_failure() -> None:
    assert Outage(900, Clock()).pause_s() == 0


def test_pauses_stay_below_the_longest() -> None:
    clock = Clock()
    outage = Outage(10**6, clock)
    for _ in range(40):
        outage.failed("away", clock.now)
    assert 0 < outage.pause_s() <= LONGEST_PAUSE_S


def test_an_answer_ends_it_for_all() -> None:
    outage = Outage(900, Clock())
    outage.failed("away", 1000.0)
    outage.ended()
    assert outage.pause_s() == 0
    assert not outage.lasts


def test_a_server_that_asks_for_time_gets_it() -> None:
    outage = Outage(900, Clock())
    outage.failed("busy", 1000.0, retry_after_s=20)
    assert outage.pause_s() == 20


def test_patience_counts_from_the_request_s_first_try() -> None:
    clock = Clock()
    outage = Outage(60, clock)
    clock.now += 59
    outage.failed("away", 1000.0)
    clock.now += 1
    with pytest.raises(OutOfPatienceError, match="60 s"):
        outage.failed("away", 1000.0)


def test_an_abandoned_request_is_not_tried_again() -> None:
    outage = Outage(900, Clock())
    outage.abandon()
    with pytest.raises(OutOfPatienceError):
        outage.failed("away", 1000.0)
