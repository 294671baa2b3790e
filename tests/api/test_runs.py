"""Launching runs and reading what they found."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django_eventstream.models import Event

from runs import bodies, reading
from runs.events import channel_of
from runs.models import Run
from sims.models import Sim, SimKernel
from sims.models.states import Report
from tests.api.conftest import body_of, json_of, make_trace
from traces.models import RealTime, Trace, TraceStatus

Post = Callable[..., Any]
LAUNCH = {"trace_id": "babelstream", "gpu_configs": ["SM86_RTX3070"], "simulator": "replay"}


def simulate(sim: Sim, times_ns: list[float]) -> None:
    """Results as a simulator would have left them."""
    SimKernel.objects.bulk_create(
        SimKernel(sim=sim, index=index, name=f"kernel_{index}", cycles=6000, launch_cycles=5000, simulated_ns=ns)
        for index, ns in enumerate(times_ns, start=1)
    )


def test_a_launch_makes_a_queued_run_with_a_sim_per_config(post: Post, trace: Trace) -> None:
    answer = post("/api/runs", {**LAUNCH, "gpu_configs": ["SM86_RTX3070", "SM7_QV100"], "name": "both"})
    assert answer.status_code == 201
    run = answer.json()
    assert (run["status"], run["name"], run["trace_id"], run["kernels_total"]) == ("queued", "both", "babelstream", 6)
    assert [sim["gpu_config"] for sim in run["sims"]] == ["SM86_RTX3070", "SM7_QV100"]


def test_a_selection_limits_the_kernels(post: Post, trace: Trace) -> None:
    run = post("/api/runs", {**LAUNCH, "kernels": "1,3"}).json()
    assert run["kernels_total"] == 2
    assert Sim.objects.get(run=run["id"]).kernel_indices == [1, 3]


def test_overrides_show_in_the_config_of_the_sim(post: Post, trace: Trace) -> None:
    run = post("/api/runs", {**LAUNCH, "set": {"l2_bytes": 8388608}}).json()
    assert run["sims"][0]["gpu_config"] == "SM86_RTX3070 l2_bytes=8388608"


def test_a_sweep_makes_a_sim_per_value(post: Post, trace: Trace) -> None:
    run = post("/api/runs", {**LAUNCH, "sweep": {"sms": [20, 40]}}).json()
    assert [sim["gpu_config"] for sim in run["sims"]] == ["SM86_RTX3070 sms=20", "SM86_RTX3070 sms=40"]


def test_a_run_begins_its_event_stream_with_itself(post: Post, trace: Trace) -> None:
    run = post("/api/runs", LAUNCH).json()
    first = Event.objects.filter(channel=channel_of(run["id"]), eid__gt=0).order_by("eid")[0]
    assert first.type == "run"
    assert json.loads(first.data)["id"] == run["id"]


def test_a_repeat_under_the_same_key_answers_the_same_run(post: Post, trace: Trace) -> None:
    first = post("/api/runs", LAUNCH, **{"Idempotency-Key": "k1"})
    again = post("/api/runs", LAUNCH, **{"Idempotency-Key": "k1"})
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json()["id"] == again.json()["id"]
    assert Run.objects.count() == 1


def test_another_body_under_a_used_key_is_a_conflict(post: Post, trace: Trace) -> None:
    post("/api/runs", LAUNCH, **{"Idempotency-Key": "k1"})
    assert post("/api/runs", {**LAUNCH, "name": "x"}, **{"Idempotency-Key": "k1"}).status_code == 409


def test_a_repeat_is_answered_even_if_the_trace_has_failed_since(post: Post, trace: Trace) -> None:
    post("/api/runs", LAUNCH, **{"Idempotency-Key": "k1"})
    trace.fail("gone")
    assert post("/api/runs", LAUNCH, **{"Idempotency-Key": "k1"}).status_code == 200


def test_it_refuses_a_trace_that_failed(post: Post) -> None:
    make_trace("broken", 1, status=TraceStatus.FAILED)
    answer = post("/api/runs", {**LAUNCH, "trace_id": "broken"})
    assert answer.status_code == 409
    assert "broken" in answer.json()["detail"]


def test_it_refuses_a_trace_that_nobody_knows(post: Post) -> None:
    answer = post("/api/runs", LAUNCH)
    assert (answer.status_code, answer.json()["detail"]) == (404, "There is no trace 'babelstream'.")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("gpu_configs", []),
        ("gpu_configs", ["SM86_RTX3070", "SM86_RTX3070"]),
        ("gpu_configs", ["NO_SUCH_GPU"]),
        ("gpu_configs", [f"GPU_{n}" for n in range(65)]),
        ("gpu_configs", "SM86_RTX3070"),
        ("simulator", "magic"),
        ("simulator", "accelsim"),
        ("kernels", "9"),
        ("kernels", "3-1"),
        ("name", 7),
        ("name", "a\0b"),
        ("set", {"no_such_value": 1}),
        ("set", {"sms": -1}),
        ("sweep", {"sms": 7}),
        ("sweep.sms", {"sweep": {"sms": []}}),
        ("options.warp", {"options": {"warp": 9}}),
        ("l2", "hot"),
        ("exact", "yes"),
        ("surprise", 1),
    ],
)
def test_a_wrong_value_is_refused_by_its_name(post: Post, trace: Trace, field: str, value: Any) -> None:
    changed = value if isinstance(value, dict) and "." in field else {field: value}
    answer = post("/api/runs", {**LAUNCH, **changed})
    assert answer.status_code == 422
    assert any(name.startswith(field) for name in answer.json()["errors"])
    assert Run.objects.count() == 0


def test_a_run_has_its_trace_beside_its_sims(api: Client, run: Run) -> None:
    body = api.get(f"/api/runs/{run.id}").json()
    assert body["trace"]["id"] == "babelstream"
    assert len(body["sims"]) == 2


def test_the_newest_run_comes_first(api: Client, post: Post, run: Run) -> None:
    newer = post("/api/runs", LAUNCH).json()["id"]
    assert [row["id"] for row in api.get("/api/runs").json()] == [newer, run.id]


def test_cancelling_ends_queued_sims_at_once(post: Post, run: Run) -> None:
    body = post(f"/api/runs/{run.id}/cancel", {}).json()
    assert body["status"] == "cancelled"
    assert {sim["status"] for sim in body["sims"]} == {"cancelled"}


def test_cancelling_asks_a_started_sim_to_stop(post: Post, run: Run, sim: Sim) -> None:
    post(f"/api/sims/{sim.id}/heartbeat", {"state": "running"})
    body = post(f"/api/runs/{run.id}/cancel", {}).json()
    assert (body["status"], body["sims"][0]["stop_requested"]) == ("running", True)


def test_cancelling_a_finished_run_changes_nothing(api: Client, post: Post, run: Run) -> None:
    for sim in run.sims.all():
        post(f"/api/sims/{sim.id}/heartbeat", {"state": "finished"})
    before = api.get(f"/api/runs/{run.id}").content
    assert post(f"/api/runs/{run.id}/cancel", {}).json()["status"] == "finished"
    assert api.get(f"/api/runs/{run.id}").content == before


def test_a_run_failed_if_any_of_its_sims_failed(api: Client, post: Post, run: Run) -> None:
    for sim, state in zip(run.sims.all(), ("failed", "finished"), strict=True):
        post(f"/api/sims/{sim.id}/heartbeat", {"state": state})
    assert api.get(f"/api/runs/{run.id}").json()["status"] == "failed"


def test_the_comparison_has_signed_errors(api: Client, run: Run, sim: Sim) -> None:
    simulate(sim, [1100, 900, 1000])
    body = json_of(api.get(f"/api/runs/{run.id}/comparison"))
    errors = [kernel["configs"]["SM86_RTX3070"]["error"] for kernel in body["kernels"]]
    assert errors == pytest.approx([0.1, -0.1, 0.0])
    assert body["summary"]["SM86_RTX3070"]["kernels_compared"] == 3


def test_a_kernel_that_only_the_log_has_is_listed_without_a_real_time(api: Client, run: Run, sim: Sim) -> None:
    simulate(sim, [1, 2, 3, 4])
    fourth = json_of(api.get(f"/api/runs/{run.id}/comparison"))["kernels"][3]
    assert (fourth["index"], fourth["real_ns"]) == (4, None)


def test_any_config_can_be_the_baseline(api: Client, run: Run, sim: Sim) -> None:
    simulate(sim, [1, 2, 3])
    assert json_of(api.get(f"/api/runs/{run.id}/comparison?baseline=SM7_QV100"))["baseline"] == "SM7_QV100"
    assert api.get(f"/api/runs/{run.id}/comparison?baseline=nope").status_code == 422


def test_the_kernels_route_lists_every_sim(api: Client, run: Run, sim: Sim) -> None:
    simulate(sim, [1, 2, 3])
    first, second = json_of(api.get(f"/api/runs/{run.id}/kernels"))
    assert first["sim_id"] == sim.id
    assert first["kernels"][0].keys() == {
        "index", "launch_uid", "name", "cycles", "launch_cycles", "instructions", "ipc", "simulated_ns", "occupancy",
        "l1_hit_rate", "l2_hit_rate", "dram_bytes", "source",
    }  # fmt: skip
    assert second["kernels"] == []


def test_perfetto_is_a_chrome_trace_to_download(api: Client, run: Run, sim: Sim) -> None:
    simulate(sim, [1, 2, 3])
    answer = api.get(f"/api/runs/{run.id}/perfetto")
    events = json.loads(body_of(answer))["traceEvents"]
    assert {event["ph"] for event in events} >= {"M", "X"}
    assert "attachment" in answer["Content-Disposition"]


def test_the_results_are_one_file_with_everything(api: Client, run: Run, sim: Sim) -> None:
    simulate(sim, [1, 2, 3])
    answer = api.get(f"/api/runs/{run.id}/results")
    body = json.loads(body_of(answer))
    assert body.keys() == {"run", "trace", "sims", "comparison"}
    assert body["sims"][0]["kernels"][0]["stats"] == {}
    assert "attachment" in answer["Content-Disposition"]


@pytest.mark.parametrize("view", ["", "/comparison", "/kernels", "/files", "/step-timelines", "/perfetto", "/results"])
def test_reading_takes_as_many_queries_for_many_kernels_as_for_few(
    api: Client, run: Run, sim: Sim, view: str, django_assert_max_num_queries: Any
) -> None:
    simulate(sim, [float(n) for n in range(1, 300)])
    with django_assert_max_num_queries(12):
        body_of(api.get(f"/api/runs/{run.id}{view}"))


def test_the_list_of_runs_takes_two_queries(api: Client, post: Post, run: Run, django_assert_num_queries: Any) -> None:
    post("/api/runs", LAUNCH)
    with django_assert_num_queries(2):
        api.get("/api/runs")


def end(run: Run) -> None:
    for sim in run.sims.all():
        Sim.objects.get(pk=sim.pk).heartbeat(Report("finished"))


def test_the_bodies_of_an_ended_run_are_made_once(
    api: Client, run: Run, sim: Sim, monkeypatch: pytest.MonkeyPatch
) -> None:
    simulate(sim, [1, 2, 3])
    end(run)
    views = [f"/api/runs/{run.id}/{view}" for view in ("comparison", "kernels", "perfetto")]
    first = [body_of(api.get(view)) for view in views]
    monkeypatch.setattr(reading, "simulated_runs", pytest.fail)
    monkeypatch.setattr(reading, "kernel_rows", pytest.fail)
    assert [body_of(api.get(view)) for view in views] == first


def test_the_bodies_of_a_running_run_are_made_anew(api: Client, run: Run, sim: Sim) -> None:
    before = json_of(api.get(f"/api/runs/{run.id}/comparison"))["summary"]["SM86_RTX3070"]["kernels_compared"]
    simulate(sim, [1, 2, 3])
    after = json_of(api.get(f"/api/runs/{run.id}/comparison"))["summary"]["SM86_RTX3070"]["kernels_compared"]
    assert (before, after) == (0, 3)


def test_new_real_times_show_in_an_ended_run(api: Client, run: Run, sim: Sim) -> None:
    simulate(sim, [1000, 1000, 1000])
    end(run)
    body_of(api.get(f"/api/runs/{run.id}/comparison"))
    run.trace.set_real_times({1: RealTime(2000)}, {"set_at": "now"})
    first = json_of(api.get(f"/api/runs/{run.id}/comparison"))["kernels"][0]
    assert (first["real_ns"], first["configs"]["SM86_RTX3070"]["error"]) == (2000, -0.5)


def test_a_full_disk_costs_an_ended_run_nothing(
    api: Client, run: Run, sim: Sim, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    simulate(sim, [1, 2, 3])
    end(run)
    (tmp_path / "file").touch()
    monkeypatch.setattr(bodies, "_folder", lambda: tmp_path / "file" / "below")
    assert json_of(api.get(f"/api/runs/{run.id}/kernels"))[0]["sim_id"] == sim.id


@pytest.mark.parametrize(("form", "start"), [("csv", b"index,name,real_ns"), ("parquet", b"PAR1")])
def test_a_comparison_comes_as_a_file_for_spreadsheets_and_notebooks(
    api: Client, run: Run, form: str, start: bytes
) -> None:
    answer = api.get(f"/api/runs/{run.id}/comparison", {"format": form})
    assert answer.status_code == 200
    assert answer.content.startswith(start)
    assert "attachment" in answer["Content-Disposition"]


def test_a_comparison_in_an_unknown_form_is_refused(api: Client, run: Run) -> None:
    answer = api.get(f"/api/runs/{run.id}/comparison", {"format": "xlsx"})
    assert answer.status_code == 422
