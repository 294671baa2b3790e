"""A cancel at every moment of a sim's life, each with its own answer."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.faults.conftest import END, Faulty
from tests.servers import flow
from tests.servers.processes import Process, wait_until

FAMILY = "sleep 300 & (setsid sleep 300 &); "


@pytest.fixture(scope="module")
def worker(faulty: Faulty) -> Iterator[Process]:
    worker = faulty.cascade.start_worker()
    yield worker
    worker.kill()


def cancel(faulty: Faulty, sim: dict[str, Any]) -> None:
    flow.answer(faulty.web.http.post(f"/api/runs/{sim['run_id']}/cancel"))


def test_a_queued_sim_is_cancelled_at_once_and_never_starts(faulty: Faulty) -> None:
    faulty.simulator_does("echo started >> $WORKED")
    sim = faulty.launch()
    cancel(faulty, sim)
    assert faulty.sim(sim)["status"] == "cancelled"
    worker = faulty.cascade.start_worker()
    time.sleep(2)
    worker.kill()
    assert faulty.worked() == []


@pytest.mark.parametrize("how", ["trap '' TERM; ", "trap 'echo got it; exit' TERM; "])
def test_a_running_sim_hears_of_it_within_two_seconds_and_is_gone_in_twelve(
    faulty: Faulty, worker: Process, how: str
) -> None:
    faulty.simulator_does(f"{how} {FAMILY} echo ready; while true; do date +%s.%N > $WORKED; sleep 0.1; done")
    sim = faulty.launch()
    faulty.wait_until_it_works(sim)
    asked_at = time.time()
    cancel(faulty, sim)
    ended = faulty.wait_for_end(sim, 14)
    assert ended["status"] == "cancelled"
    assert not faulty.simulators()
    if "got it" in how:
        assert faulty.log(sim) == b"ready\ngot it\n"
        assert float(faulty.worked()[0]) - asked_at < 3.5


def test_a_starting_sim_ends_as_cancelled(faulty: Faulty, worker: Process) -> None:
    faulty.simulator_does("echo started >> $WORKED; sleep 300")
    sim = faulty.launch()
    faulty.wait_for(sim, lambda now: now["status"] != "queued")
    cancel(faulty, sim)
    assert faulty.wait_for_end(sim, 14)["status"] == "cancelled"


def test_a_finished_sim_stays_finished(faulty: Faulty, worker: Process) -> None:
    faulty.simulator_does(f"echo hello; {END}")
    sim = faulty.launch()
    ended = faulty.wait_for_end(sim)
    cancel(faulty, sim)
    assert faulty.sim(sim)["status"] == ended["status"] != "cancelled"


def test_a_cancel_while_the_worker_is_gone_ends_the_sim_when_its_lease_is_over(faulty: Faulty) -> None:
    faulty.simulator_does("echo ready; sleep 300")
    worker = faulty.cascade.start_worker()
    sim = faulty.launch()
    faulty.wait_until_it_works(sim)
    worker.kill()
    cancel(faulty, sim)
    other = faulty.cascade.start_worker()
    ended = faulty.wait_for_end(sim, 30)
    other.kill()
    assert ended["status"] == "cancelled"
    wait_until(lambda: not faulty.simulators(), "the simulator ends")
