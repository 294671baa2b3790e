"""What operators can see and do."""

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from runs.models import Run
from sims.models import GpuConfig, Sim

LISTS = ["", "sims/sim/", "runs/run/", "traces/trace/", "sims/gpuconfig/", "sims/simkernel/", "admin/logentry/"]


@pytest.fixture
def operator() -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("operator", "", "secret"))
    return client


@pytest.fixture
def sim(run: Run) -> Sim:
    return run.sims.order_by("position")[0]


def act(operator: Client, action: str, sim: Sim) -> Sim:
    operator.post("/admin/sims/sim/", {"action": action, "_selected_action": [sim.id]})
    return Sim.objects.get(pk=sim.pk)


@pytest.mark.parametrize("path", LISTS)
def test_each_list_needs_few_queries(
    operator: Client, finished: Run, path: str, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_max_num_queries(15):
        assert operator.get(f"/admin/{path}").status_code == 200


def test_the_token_does_not_open_the_admin(browser: Client) -> None:
    assert browser.get("/admin/").status_code == 302


def test_a_sim_is_cancelled(operator: Client, sim: Sim) -> None:
    assert act(operator, "cancel", sim).status == "cancelled"


def test_an_ended_sim_is_queued_again_as_the_next_attempt(operator: Client, finished: Run) -> None:
    again = act(operator, "requeue", finished.sims.order_by("position")[0])
    assert (again.status, again.attempt) == ("queued", 2)


def test_a_sim_that_is_at_work_is_not_queued_again(operator: Client, sim: Sim) -> None:
    Sim.objects.claim(sim.id, "worker")
    assert act(operator, "requeue", sim).attempt == 1


def test_a_stuck_sim_is_marked_failed_with_who_did_it(operator: Client, sim: Sim) -> None:
    failed = act(operator, "mark_failed", sim)
    assert (failed.status, failed.detail) == ("failed", "Marked failed by operator.")


def test_what_was_done_is_written_down(operator: Client, sim: Sim) -> None:
    act(operator, "cancel", sim)
    assert LogEntry.objects.get().change_message == "Cancel asked for."


def test_failures_are_grouped_by_reason(operator: Client, sim: Sim) -> None:
    act(operator, "mark_failed", sim)
    assert "Failures by reason" in operator.get("/admin/sims/sim/").content.decode()


def test_a_config_is_copied_as_the_start_of_a_new_one(operator: Client) -> None:
    operator.post("/admin/sims/gpuconfig/", {"action": "copy", "_selected_action": ["SM80_A100"]})
    assert GpuConfig.objects.get(pk="SM80_A100_copy").as_spec.sms == 108


def save(operator: Client, spec: Any) -> Any:
    import json

    return operator.post("/admin/sims/gpuconfig/SM80_A100/change/", {"id": "SM80_A100", "spec": json.dumps(spec)})


def test_a_changed_config_is_the_operators_and_stays_so(operator: Client) -> None:
    spec = GpuConfig.objects.get(pk="SM80_A100").spec | {"sms": 54}
    assert save(operator, spec).status_code == 302
    GpuConfig.objects.sync_from_files()
    assert GpuConfig.objects.get(pk="SM80_A100").as_spec.sms == 54


def test_a_wrong_value_is_refused_at_the_field(operator: Client) -> None:
    answer = save(operator, GpuConfig.objects.get(pk="SM80_A100").spec | {"sms": "many"})
    assert answer.status_code == 200
    assert "sms" in str(answer.context["adminform"].form.errors["spec"])
