"""Sims that nobody works at: found once, done again, given up in the end; and what dead writers leave in storage."""

import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db import connection
from django.utils import timezone

from runs.events import open_channel
from runs.models import Run
from sims import lost, sweep
from sims.gpus import load_shipped, spec_to_dict
from sims.models import LogSegment, Sim, SimFile, SimStatus
from sims.models.states import Report
from traces.models import Trace

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The ids whose tasks were sent."""
    ids: list[str] = []
    monkeypatch.setattr("sims.tasks.simulate.delay", ids.append)
    return ids


@pytest.fixture
def sim() -> Sim:
    """A queued sim of a run of its own."""
    trace, _ = Trace.objects.get_or_create(pk="a-trace")
    run = Run.objects.create(trace=trace, simulator="replay")
    open_channel(run.id)
    spec = load_shipped()["SM86_RTX3070"]
    return Sim.objects.create(run=run, gpu_config=spec.id, config=spec_to_dict(spec), simulator="replay")


def let_lease_run_out(sim: Sim) -> None:
    Sim.objects.filter(pk=sim.pk).update(lease_expires_at=timezone.now() - timedelta(seconds=1))


def now(sim: Sim) -> Sim:
    return Sim.objects.get(pk=sim.pk)


def test_a_lost_sim_is_queued_as_the_next_attempt_and_sent(sim: Sim, sent: list[str]) -> None:
    Sim.objects.claim(sim.id, "worker")
    let_lease_run_out(sim)
    assert lost.take_up_lost() == [sim.id]
    assert (now(sim).status, now(sim).attempt) == (SimStatus.QUEUED, 2)
    assert sent == [sim.id]


def test_a_sim_that_died_before_its_first_heartbeat_is_lost_too(sim: Sim, sent: list[str]) -> None:
    Sim.objects.claim(sim.id, "worker")
    assert now(sim).status == SimStatus.STARTING
    let_lease_run_out(sim)
    assert lost.take_up_lost() == [sim.id]


def test_a_sim_with_a_lease_is_left_alone(sim: Sim, sent: list[str]) -> None:
    Sim.objects.claim(sim.id, "worker")
    assert lost.take_up_lost() == []
    assert now(sim).attempt == 1


def test_a_lost_sim_is_given_up_after_its_last_attempt(sim: Sim, sent: list[str], settings: Any) -> None:
    for _ in range(settings.CASCADE_ATTEMPTS):
        Sim.objects.claim(sim.id, "worker")
        let_lease_run_out(sim)
        lost.take_up_lost()
    assert now(sim).status == SimStatus.FAILED
    assert "given up" in (now(sim).detail or "")
    assert now(sim).run.status == "failed"


def test_a_lost_sim_that_was_cancelled_is_cancelled(sim: Sim, sent: list[str]) -> None:
    Sim.objects.claim(sim.id, "worker")
    sim.request_stop()
    let_lease_run_out(sim)
    lost.take_up_lost()
    assert now(sim).status == SimStatus.CANCELLED
    assert sent == []


def test_the_task_s_word_keeps_a_lease(sim: Sim, sent: list[str]) -> None:
    Sim.objects.claim(sim.id, "worker")
    let_lease_run_out(sim)
    assert Sim.objects.renew_lease(sim.id, 1) is True
    assert lost.take_up_lost() == []


def test_a_superseded_task_renews_nothing(sim: Sim, sent: list[str]) -> None:
    Sim.objects.claim(sim.id, "worker")
    let_lease_run_out(sim)
    lost.take_up_lost()
    Sim.objects.claim(sim.id, "another")
    assert Sim.objects.renew_lease(sim.id, 1) is False
    assert sim.give_up(1, "It died") is False
    assert sim.give_back(1, "It left") is False
    assert now(sim).attempt == 2


def test_giving_back_queues_the_next_attempt(sim: Sim) -> None:
    Sim.objects.claim(sim.id, "worker")
    assert sim.give_back(1, "Worker w was shut down") is True
    assert now(sim).detail == "Worker w was shut down; attempt 2 is queued."


def test_giving_up_an_ended_sim_changes_nothing(sim: Sim) -> None:
    Sim.objects.claim(sim.id, "worker")
    sim.heartbeat(Report(SimStatus.FINISHED, attempt=1))
    assert sim.give_up(1, "It died") is False
    assert now(sim).status == SimStatus.FINISHED


@pytest.mark.parametrize("workers", [8])
def test_of_many_workers_exactly_one_gets_a_sim(sim: Sim, workers: int) -> None:
    for trial in range(1, 11):
        claims: list[int | None] = []
        together(workers, lambda claims=claims: claims.append(Sim.objects.claim(sim.id, "worker")))  # type: ignore[misc]
        assert [claim for claim in claims if claim is not None] == [trial]
        sim.give_back(trial, "Next trial")


def test_many_reapers_queue_a_lost_sim_once(sim: Sim, sent: list[str]) -> None:
    Sim.objects.claim(sim.id, "worker")
    let_lease_run_out(sim)
    together(6, lost.take_up_lost)
    assert now(sim).attempt == 2
    assert sent == [sim.id]


def together(threads: int, work: Callable[[], object]) -> None:
    """Do the same in several threads at the same moment."""
    start = threading.Barrier(threads)

    def run() -> None:
        start.wait()
        try:
            work()
        finally:
            connection.close()

    running = [threading.Thread(target=run) for _ in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()


def test_a_sim_without_a_message_is_sent_again(sim: Sim, sent: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lost, "messages_waiting", lambda: 0)
    assert lost.deliver_again() == [sim.id]
    assert sent == [sim.id]


def test_a_sim_whose_message_waits_is_not_sent_again(
    sim: Sim, sent: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lost, "messages_waiting", lambda: 1)
    assert lost.deliver_again() == []


def test_a_message_just_sent_is_given_time(sim: Sim, sent: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lost, "messages_waiting", lambda: 0)
    lost.deliver_again()
    assert lost.deliver_again() == []


def put(key: str) -> str:
    return default_storage.save(key, ContentFile(b"bytes"))


def test_an_object_that_no_row_points_to_is_swept(sim: Sim) -> None:
    orphan = put(f"sims/{sim.id}/files/orphan")
    file = put(f"sims/{sim.id}/files/file")
    log = put(f"sims/{sim.id}/log/1/00000000000000-5")
    SimFile.objects.create(sim=sim, name="a.txt", size_bytes=5, sha256="", content_type="text/plain", key=file)
    LogSegment.objects.create(sim=sim, attempt=1, offset_bytes=0, size_bytes=5, key=log)
    assert orphan in sweep.sweep_storage(age=timedelta(0))
    assert [default_storage.exists(key) for key in (orphan, file, log)] == [False, True, True]


def test_an_upload_that_is_under_way_is_not_swept(sim: Sim) -> None:
    young = put(f"sims/{sim.id}/files/young")
    sweep.sweep_storage()
    assert default_storage.exists(young)


def test_work_folders_of_attempts_that_are_over_are_swept(sim: Sim, settings: Any) -> None:
    work = Path(settings.CASCADE_DATA) / "work"
    over, going = work / f"{sim.id}-0", work / f"{sim.id}-1"
    for folder in (over, going):
        folder.mkdir(parents=True)
    sweep.sweep_work_folders()
    assert not over.exists()
    assert going.exists()
