"""Web servers that die under their runners."""

import random
import time
from collections.abc import Iterator

import pytest

from tests.faults.conftest import END, LEASE_S, Faulty
from tests.servers.processes import Process

TALK = f"""
echo started >> $WORKED
for i in $(seq 400); do echo line $i of a log that is looked at byte for byte; sleep 0.02; done
{END}
"""


@pytest.fixture
def worker(faulty: Faulty) -> Iterator[Process]:
    worker = faulty.cascade.start_worker()
    yield worker
    worker.kill()


def whole_log() -> bytes:
    lines = (b"line %d of a log that is looked at byte for byte\n" % number for number in range(1, 401))
    return b"".join(lines) + b"GPGPU-Sim: *** exit detected ***\n"


def restart(faulty: Faulty, away_s: float) -> None:
    faulty.web.process.kill()
    time.sleep(away_s)
    faulty.web = faulty.cascade.start_web(faulty.cascade.first_port)


def test_a_web_server_killed_again_and_again_loses_and_doubles_nothing(faulty: Faulty, worker: Process) -> None:
    faulty.simulator_does(TALK)
    sim = faulty.launch()
    faulty.wait_until_it_works(sim)
    for _ in range(3):
        time.sleep(random.uniform(0, 0.5))
        restart(faulty, away_s=0)
    ended = faulty.wait_for_end(sim)
    assert faulty.log(sim) == whole_log()
    assert ended["attempt"] == 1


def test_a_web_server_away_for_longer_than_a_lease_costs_no_attempt(faulty: Faulty, worker: Process) -> None:
    faulty.simulator_does(TALK)
    sim = faulty.launch()
    faulty.wait_until_it_works(sim)
    restart(faulty, away_s=LEASE_S * 2)
    ended = faulty.wait_for_end(sim)
    assert ended["attempt"] == 1
    assert faulty.worked() == ["started"]
    assert faulty.log(sim) == whole_log()
