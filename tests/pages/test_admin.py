"""What operators can see and do."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries, DjangoCaptureOnCommitCallbacks

from runs.models import Run
from sims.failures import reason_of
from sims.models import GpuConfig, Sim, SimFile, SimKernel
from sims.models.log import append_log
from sims.models.states import Report
from tests.pages.conftest import make_trace
from traces.models import Trace

LISTS = ["", "sims/sim/", "runs/run/", "traces/trace/", "traces/tracekernel/", "sims/gpuconfig/", "sims/simkernel/"]
LISTS += ["sims/simfile/", "admin/logentry/"]


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


def test_the_sims_of_one_engine_are_found_by_its_digest(operator: Client, run: Run) -> None:
    first, second = run.sims.order_by("position")
    Sim.objects.filter(pk=first.pk).update(software={"engine": "3f2a91c0b7de4410"})
    Sim.objects.filter(pk=second.pk).update(software={"engine": "77d0c3aa5be91f02"})
    page = operator.get("/admin/sims/sim/", {"q": "3f2a91c0b7de4410"}).content.decode()
    assert first.id in page
    assert second.id not in page
    assert "3f2a91c0b7de4410" in operator.get(f"/admin/sims/sim/{first.id}/change/").content.decode()


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


def test_failures_are_grouped_by_reason_whatever_number_is_in_them(operator: Client, run: Run) -> None:
    for number, sim in enumerate(run.sims.all()):
        sim.heartbeat(Report("failed", detail=f"Nothing was heard of worker gpu-{number} for 60 s."))
    reasons = operator.get("/admin/").context["operations"]["reasons"]
    assert [(reason.text, reason.sims) for reason in reasons] == [("Nothing was heard of worker … for … s.", 2)]


def test_a_reason_has_the_width_of_its_table(operator: Client, run: Run) -> None:
    run.sims.order_by("position")[0].heartbeat(Report("failed", detail="It was cut."))
    assert '<th scope="row">It was cut.</th>' in operator.get("/admin/").content.decode()


@pytest.mark.parametrize(
    ("detail", "reason"),
    [
        ("The simulator ended with exit code 134 in kernel 7 (gemm_64x64).", "exit code 134 in kernel … (…)."),
        ("The kernel file 'kernel-12.traceg.xz' cannot be read.", "The kernel file '…' cannot be read."),
        ("Cancelled.", "Cancelled."),
    ],
)
def test_a_reason_keeps_the_words_and_the_exit_code(detail: str, reason: str) -> None:
    assert reason_of(detail).endswith(reason)


def test_the_sim_that_was_not_heard_of_for_longest_comes_first(operator: Client, run: Run) -> None:
    ended, at_work = run.sims.order_by("position")
    ended.heartbeat(Report("finished"))
    at_work.heartbeat(Report("running"))
    assert list(operator.get("/admin/sims/sim/").context["cl"].result_list) == [at_work, ended]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("heartbeat=stale", True),
        ("heartbeat=lost", False),
        ("heartbeat=stopping", False),
        ("status__exact=running", True),
        ("status__exact=failed", False),
        ("simulator=replay", True),
        ("simulator=builtin", False),
    ],
)
def test_sims_are_filtered(operator: Client, sim: Sim, query: str, found: bool) -> None:
    sim.heartbeat(Report("running"))
    Sim.objects.filter(pk=sim.pk).update(heartbeat_at=timezone.now() - timedelta(seconds=30))
    assert (sim in operator.get(f"/admin/sims/sim/?{query}").context["cl"].result_list) is found


def test_sims_are_found_by_their_id_their_runs_and_their_worker(operator: Client, sim: Sim) -> None:
    sim.heartbeat(Report("running", worker="gpu-7"))
    for text in (sim.id, sim.run_id, "gpu-7"):
        assert sim in operator.get("/admin/sims/sim/", {"q": text}).context["cl"].result_list


def test_storage_counts_what_a_traces_runs_have_left(operator: Client, sim: Sim) -> None:
    Trace.objects.update(size_bytes=1)
    append_log(sim, b"a line of the log\n", 0, None)
    SimFile.objects.create(sim=sim, name="a", size_bytes=7, sha256="", content_type="", key="")
    (_, stored) = operator.get("/admin/").context["operations"]["largest"][0]
    assert (stored.logs_bytes, stored.files_bytes) == (18, 7)


def test_a_list_of_many_rows_counts_no_further_than_it_pages(operator: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cascade_site.admin_lists.MOST_COUNTED", 2)
    assert operator.get("/admin/traces/tracekernel/").context["cl"].result_count == 0
    make_trace("long", kernels=5)
    assert operator.get("/admin/traces/tracekernel/").context["cl"].result_count == 2


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


def test_a_traces_files_go_when_its_row_is_gone_for_certain(
    operator: Client, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    make_trace("old", prefix="traces/old")
    kept = default_storage.save("traces/old/kernelslist.g", ContentFile(b"kernel-1.traceg\n"))
    with django_capture_on_commit_callbacks() as after_commit:
        operator.post("/admin/traces/trace/old/delete/", {"post": "yes"})
        assert default_storage.exists(kept)
    for callback in after_commit:
        callback()
    assert not default_storage.exists(kept)


def delete(operator: Client, path: str) -> None:
    operator.post(f"/admin/{path}/delete/", {"post": "yes"})


def test_a_run_is_deleted_with_its_sims_and_their_kernels(operator: Client, finished: Run) -> None:
    delete(operator, f"runs/run/{finished.id}")
    assert not Run.objects.exists()
    assert not SimKernel.objects.exists()


def test_before_a_run_is_deleted_what_goes_with_it_is_counted(operator: Client, finished: Run) -> None:
    page = operator.get(f"/admin/runs/run/{finished.id}/delete/").content.decode()
    assert "Sim kernels: 6" in " ".join(page.split())


def test_several_runs_are_deleted_at_once(operator: Client, finished: Run) -> None:
    choice = {"action": "delete_selected", "_selected_action": [finished.id], "post": "yes"}
    operator.post("/admin/runs/run/", choice)
    assert not Run.objects.exists()


def test_a_run_that_is_at_work_is_not_deleted(operator: Client, run: Run) -> None:
    delete(operator, f"runs/run/{run.id}")
    assert Run.objects.exists()


def test_a_trace_is_deleted_with_its_kernels(operator: Client) -> None:
    trace = make_trace("unused")
    delete(operator, f"traces/trace/{trace.id}")
    assert not Trace.objects.exists()


def test_a_trace_with_runs_is_not_deleted_and_names_them(operator: Client, finished: Run) -> None:
    delete(operator, "traces/trace/decode")
    assert Trace.objects.exists()
    assert finished.id in operator.get("/admin/traces/trace/decode/delete/").content.decode()
