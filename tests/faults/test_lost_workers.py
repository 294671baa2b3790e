"""Workers, runners and tasks that are killed: the sim is done again, once, and nothing is left running."""

import signal
import subprocess
import time
from collections.abc import Iterator

import pytest

from sims.runner.processes import descendants
from tests.faults.conftest import END, LEASE_S, PYTHON, Faulty, kill
from tests.servers.processes import PROJECT, Process, wait_until

TWICE = f"""
echo started >> $WORKED
for i in $(seq 100); do echo line $i; done
[ $(wc -l < $WORKED) -ge 2 ] || sleep 300
{END}
"""
"""Hangs the first time and ends the second."""


@pytest.fixture
def worker(faulty: Faulty) -> Iterator[Process]:
    faulty.simulator_does(TWICE)
    worker = faulty.cascade.start_worker(concurrency=2)
    yield worker
    worker.kill()


def test_a_killed_runner_s_sim_is_queued_again_at_once(faulty: Faulty, worker: Process) -> None:
    sim = faulty.launch()
    faulty.wait_until_it_works(sim)
    kill(*faulty.runners(worker))
    again = faulty.wait_for(sim, lambda now: now["attempt"] == 2, timeout_s=LEASE_S / 2)
    assert "SIGKILL" in again["detail"]
    faulty.wait_for_end(sim)
    assert faulty.worked() == ["started", "started"]


def test_a_killed_task_s_sim_is_taken_up_when_its_lease_is_over(faulty: Faulty, worker: Process) -> None:
    sim = faulty.launch()
    faulty.wait_until_it_works(sim)
    pool = [
        pid for pid in descendants(worker.pid) if any(child in faulty.runners(worker) for child in descendants(pid))
    ]
    kill(*pool[:1])
    wait_until(lambda: not faulty.simulators(), "the simulator of the killed task ends")
    faulty.wait_for(sim, lambda now: now["attempt"] == 2, timeout_s=LEASE_S * 1.25 + 3)
    faulty.wait_for_end(sim)
    assert faulty.worked() == ["started", "started"]


def test_a_killed_worker_s_sim_goes_to_another_worker(faulty: Faulty, worker: Process) -> None:
    sim = faulty.launch()
    faulty.wait_until_it_works(sim)
    worker.kill()
    wait_until(lambda: not faulty.simulators(), "the simulator of the killed worker ends")
    other = faulty.cascade.start_worker()
    ended = faulty.wait_for_end(sim)
    other.kill()
    assert ended["attempt"] == 2
    assert faulty.log(sim) == log_of_one()


def test_a_worker_that_shuts_down_gives_its_sims_back_at_once(faulty: Faulty, worker: Process) -> None:
    sim = faulty.launch()
    faulty.wait_until_it_works(sim)
    worker.signal(signal.SIGTERM)
    queued = faulty.wait_for(sim, lambda now: now["status"] == "queued", timeout_s=LEASE_S - 1)
    assert queued["attempt"] == 2
    wait_until(lambda: not worker.is_running, "the worker ends", 20)
    assert faulty.simulators() == []
    other = faulty.cascade.start_worker()
    faulty.wait_for_end(sim)
    other.kill()


def test_the_same_message_five_times_is_one_simulation(faulty: Faulty, worker: Process) -> None:
    faulty.simulator_does(f"echo started >> $WORKED; sleep 2; {END}")
    sim = faulty.launch()
    send = f"from sims.tasks import simulate; [simulate.delay('{sim['id']}') for _ in range(4)]"
    faulty.cascade.manage("shell", "-c", send)
    faulty.wait_for_end(sim)
    time.sleep(2)
    assert faulty.worked() == ["started"]


def test_a_sim_whose_message_was_lost_is_sent_again(faulty: Faulty) -> None:
    faulty.simulator_does(f"echo started >> $WORKED; {END}")
    sim = faulty.launch()
    for message in (faulty.folder / "data" / "broker" / "queue").iterdir():
        message.unlink()
    worker = faulty.cascade.start_worker()
    faulty.wait_for_end(sim)
    worker.kill()
    assert faulty.worked() == ["started"]


def test_a_sim_that_kills_its_runners_is_given_up(faulty: Faulty, worker: Process) -> None:
    faulty.simulator_does("echo started >> $WORKED; kill -9 $PPID; sleep 60")
    sim = faulty.launch()
    ended = faulty.wait_for_end(sim)
    assert ended["status"] == "failed"
    assert ended["attempt"] == 5
    assert "given up" in ended["detail"]


def test_a_runner_started_by_hand_does_the_same_work(faulty: Faulty) -> None:
    faulty.simulator_does(f"echo hello; {END}")
    sim = faulty.launch()
    script = (
        "from sims.models import Sim; from sims.supervision import assignment_for; from pathlib import Path;"
        f"Sim.objects.claim('{sim['id']}', 'by-hand'); sim = Sim.objects.get(pk='{sim['id']}');"
        f"assignment_for(sim, 1).write(Path('{faulty.folder}/by-hand.json'))"
    )
    faulty.cascade.manage("shell", "-c", script)
    argv = [PYTHON, "-m", "sims.runner", f"{faulty.folder}/by-hand.json"]
    done = subprocess.run(argv, cwd=PROJECT, env=faulty.cascade.env, timeout=30, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert faulty.log(sim).startswith(b"hello\n")


def log_of_one() -> bytes:
    lines = b"".join(b"line %d\n" % number for number in range(1, 101))
    return lines + b"GPGPU-Sim: *** exit detected ***\n"
