"""What Prometheus reads, and who may."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families

from runs.launch import LaunchRequest, launch
from runs.models import Run
from sims.models import Sim, SimKernel
from sims.models.log import append_log
from sims.models.states import Report
from traces.models import Trace


def read(name: str, **labels: str) -> float:
    """A figure as Prometheus reads it."""
    families = text_string_to_metric_families(Client().get("/metrics").content.decode())
    (value,) = [
        sample.value
        for family in families
        for sample in family.samples
        if sample.name == f"cascade_{name}" and labels.items() <= sample.labels.items()
    ]
    return float(value)


@pytest.fixture
def sim(run: Run) -> Sim:
    """The first of the run's two sims."""
    return run.sims.order_by("position")[0]


def test_it_tells_the_queue_depth(run: Run) -> None:
    assert read("queue_depth") == 2


def test_of_a_sim_in_shards_its_shards_wait_and_the_sim_does_not(trace: Trace) -> None:
    launch(trace, LaunchRequest(["SM80_A100"], simulator="replay", options={"shards": 2}))
    assert read("queue_depth") == 2
    assert read("sims", status="queued") == 1


def test_it_tells_how_long_ago_the_oldest_lease_was_renewed(sim: Sim) -> None:
    sim.heartbeat(Report("running"))
    Sim.objects.filter(pk=sim.pk).update(
        heartbeat_at=timezone.now() - timedelta(seconds=40), lease_expires_at=timezone.now() + timedelta(seconds=25)
    )
    assert read("oldest_heartbeat_seconds") == pytest.approx(40, abs=5)
    assert read("oldest_lease_age_seconds") == pytest.approx(35, abs=5)
    assert read("leases_run_out") == 0


def test_it_counts_leases_that_have_run_out(sim: Sim) -> None:
    sim.heartbeat(Report("running"))
    Sim.objects.filter(pk=sim.pk).update(lease_expires_at=timezone.now() - timedelta(seconds=1))
    assert read("leases_run_out") == 1


def test_it_tells_how_far_the_stored_log_is_behind_the_simulator(sim: Sim) -> None:
    sim.heartbeat(Report("running", log_written_bytes=1000))
    append_log(sim, b"x" * 400, 0, None)
    assert (read("log_lag_bytes"), read("live_log_bytes")) == (600, 400)
    append_log(sim, b"x" * 700, 400, None)
    assert read("log_lag_bytes") == 0


def test_it_adds_up_the_speeds_that_simulators_report(run: Run) -> None:
    for sim in run.sims.all():
        sim.heartbeat(Report("running", progress={"instructions_per_s": 1.5e6}))
    assert read("instructions_per_second") == 3e6


def test_a_simulator_that_reports_no_speed_is_measured_by_its_kernels(sim: Sim) -> None:
    sim.heartbeat(Report("running"))
    Sim.objects.filter(pk=sim.pk).update(started_at=timezone.now() - timedelta(seconds=100))
    SimKernel.objects.create(sim=sim, index=1, name="k", instructions=3_200_000)
    assert read("instructions_per_second") == pytest.approx(1000, rel=0.05)


def test_ended_sims_are_not_at_work(finished: Run) -> None:
    assert (read("oldest_heartbeat_seconds"), read("instructions_per_second"), read("log_lag_bytes")) == (0, 0, 0)
    assert read("sims", status="finished") == 2


def test_words_that_are_no_methods_make_no_labels(browser: Client) -> None:
    browser.generic("NONSENSE", "/runs")
    text = Client().get("/metrics").content.decode()
    assert "NONSENSE" not in text
    assert 'method="other",route="runs"' in text


def test_it_times_requests_by_route_and_not_by_path(browser: Client, run: Run) -> None:
    browser.get(f"/runs/{run.id}")
    text = Client().get("/metrics").content.decode()
    assert 'route="runs/<str:run_id>"' in text
    assert run.id not in text


def test_it_is_closed_to_other_machines() -> None:
    assert Client(REMOTE_ADDR="10.1.2.3").get("/metrics").status_code == 401


def test_it_is_closed_to_what_came_through_a_proxy() -> None:
    assert Client(headers={"X-Forwarded-For": "10.1.2.3"}).get("/metrics").status_code == 401


def test_it_takes_its_own_token_where_one_is_set(settings: Any) -> None:
    settings.CASCADE_METRICS_TOKEN = "scrape"
    assert Client().get("/metrics").status_code == 401
    answer = Client(REMOTE_ADDR="10.1.2.3", headers={"Authorization": "Bearer scrape"}).get("/metrics")
    assert answer.status_code == 200
