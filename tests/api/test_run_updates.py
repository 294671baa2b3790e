"""What of a run can be changed after its launch, and what it came to at its end."""

import pytest
from django.test import Client

from runs.models import Run
from runs.stream.journal import position_of
from runs.tasks import compare_again
from sims.models import Sim, SimKernel
from sims.models.states import Report
from tests.api.conftest import json_of
from traces.models import RealTime, Trace

STARTS_NS = [0, 1500, 3000]
LAUNCHES: list[dict[str, object]] = [
    {"name": "k", "duration_ns": 1000, "start_ns": start_ns, "trace_kernel": index}
    for index, start_ns in enumerate(STARTS_NS, start=1)
]
"""A real run of three kernels, with half a microsecond of idle time behind each."""


def end(run: Run, factor: float, state: str = "finished") -> None:
    """Every sim takes ``factor`` times the real 1000 ns of each kernel."""
    for sim in run.sims.all():
        SimKernel.objects.bulk_create(
            SimKernel(sim=sim, index=index, name="k", cycles=6000, instructions=320, simulated_ns=factor * 1000)
            for index in (1, 2, 3)
        )
        sim.heartbeat(Report("running"))
        sim.heartbeat(Report(state))


def give_times(run: Run, launches: list[dict[str, object]]) -> None:
    run.trace.set_real_times({index: RealTime(1000) for index in (1, 2, 3)}, {"set_at": "now"}, launches)
    compare_again(run.trace_id)


def predicted_starts_ns(api: Client, run: Run) -> list[list[float]]:
    """Of each sim that has a step timeline."""
    return [
        [kernel["predicted_start_ns"] for kernel in posted["timeline"]["steps"][0]["kernels"]]
        for posted in json_of(api.get(f"/api/runs/{run.id}/step-timelines"))
    ]


def again(run: Run) -> Run:
    return Run.objects.get(pk=run.pk)


def patch(api: Client, run: Run, body: dict[str, object]) -> int:
    return api.patch(f"/api/runs/{run.id}", body, content_type="application/json").status_code


def test_a_run_is_renamed(api: Client, run: Run) -> None:
    assert patch(api, run, {"name": "before the fix"}) == 200
    assert json_of(api.get(f"/api/runs/{run.id}"))["name"] == "before the fix"


def test_what_is_not_sent_stays(api: Client, run: Run) -> None:
    run.rename("kept")
    assert patch(api, run, {}) == 200
    assert again(run).name == "kept"


def test_a_trace_has_one_baseline(api: Client, run: Run, trace: Trace) -> None:
    other = Run.objects.create(trace=trace, simulator="replay", status="finished")
    end(run, 1.1)
    for one in (run, other):
        assert patch(api, one, {"is_baseline": True}) == 200
    assert list(Run.objects.filter(is_baseline=True)) == [other]


def test_a_baseline_can_be_given_up(api: Client, run: Run) -> None:
    end(run, 1.1)
    patch(api, run, {"is_baseline": True})
    patch(api, run, {"is_baseline": False})
    assert not again(run).is_baseline


def test_only_a_finished_run_can_be_the_baseline(api: Client, run: Run) -> None:
    assert patch(api, run, {"is_baseline": True}) == 409
    assert not again(run).is_baseline


@pytest.mark.parametrize("body", [{"status": "finished"}, {"is_baseline": "yes"}, {"name": 5}, {"name": "x" * 201}])
def test_nothing_else_can_be_changed(api: Client, run: Run, body: dict[str, object]) -> None:
    assert patch(api, run, body) == 422


def test_a_run_that_goes_on_has_no_figures(run: Run) -> None:
    assert set(run.figures.values()) == {None}


def test_figures_are_taken_when_the_last_sim_has_ended(run: Run, trace: Trace) -> None:
    end(run, 1.1)
    figures = again(run).figures
    assert figures["fastest_ns"] == pytest.approx(3300)
    assert figures["mape"] == pytest.approx(0.1)
    assert figures["geomean_ratio"] == pytest.approx(1.1)
    assert figures["error"] == pytest.approx(0.1)
    assert all(figures[name] is not None for name in ("wall_s", "instructions_per_s", "slowdown"))


def test_an_error_is_only_that_of_the_gpu_the_times_are_of(run: Run, trace: Trace) -> None:
    Trace.objects.update(gpu="NVIDIA A100")
    end(again(run), 1.1)
    assert again(run).error is None


def test_a_sim_that_is_queued_again_takes_the_figures_with_it(run: Run) -> None:
    end(run, 1.1)
    sim = Sim.objects.filter(run=run).first()
    assert sim is not None
    sim.requeue()
    assert set(again(run).figures.values()) == {None}


def test_figures_follow_other_real_times(run: Run) -> None:
    end(run, 1.1)
    run.trace.set_real_times({index: RealTime(2000) for index in (1, 2, 3)}, {})
    compare_again(run.trace_id)
    assert again(run).mape == pytest.approx(0.45)
    assert again(run).sims.first().error == pytest.approx(-0.45)


def test_a_sim_that_has_ended_before_the_others_follows_too(run: Run) -> None:
    sim = run.sims.get(position=0)
    SimKernel.objects.create(sim=sim, index=1, name="k", cycles=6000, instructions=320, simulated_ns=1100)
    sim.heartbeat(Report("finished"))
    run.trace.set_real_times({1: RealTime(2000)}, {})
    compare_again(run.trace_id)
    assert run.sims.get(position=0).error == pytest.approx(-0.45)


def test_starts_that_become_known_give_ended_sims_a_step_timeline(api: Client, run: Run) -> None:
    end(run, 0.5)
    give_times(run, LAUNCHES)
    assert predicted_starts_ns(api, run) == [[0, 1000, 2000]] * 2


def test_a_step_timeline_follows_other_real_times(api: Client, run: Run) -> None:
    end(run, 0.5)
    give_times(run, LAUNCHES)
    give_times(run, [launch | {"start_ns": 2 * start} for launch, start in zip(LAUNCHES, STARTS_NS, strict=True)])
    assert predicted_starts_ns(api, run) == [[0, 2500, 5000]] * 2


def test_a_step_timeline_stays_where_other_times_tell_no_starts(api: Client, run: Run) -> None:
    end(run, 0.5)
    give_times(run, LAUNCHES)
    give_times(run, [])
    assert predicted_starts_ns(api, run) == [[0, 1000, 2000]] * 2


def test_a_step_timeline_that_its_simulator_has_posted_stays(api: Client, run: Run) -> None:
    end(run, 0.5)
    own = {"timeline": {"steps": [{"kernels": [{"predicted_start_ns": 7}]}]}, "comparison": {}}
    path = f"/api/sims/{run.sims.get(position=0).id}/step-timeline"
    assert api.post(path, own, content_type="application/json").status_code == 200
    give_times(run, LAUNCHES)
    assert predicted_starts_ns(api, run) == [[7], [0, 1000, 2000]]


def test_a_step_timeline_that_its_runner_has_predicted_follows(api: Client, run: Run) -> None:
    end(run, 0.5)
    predicted = {"timeline": {"steps": []}, "comparison": {}, "origin": "predicted"}
    path = f"/api/sims/{run.sims.get(position=0).id}/step-timeline"
    assert api.post(path, predicted, content_type="application/json").status_code == 200
    give_times(run, LAUNCHES)
    assert predicted_starts_ns(api, run) == [[0, 1000, 2000]] * 2


def test_a_sim_that_goes_on_has_none_yet(api: Client, run: Run) -> None:
    give_times(run, LAUNCHES)
    assert predicted_starts_ns(api, run) == []


def test_a_kernel_that_another_stands_in_for_is_not_told_as_simulated(api: Client, run: Run) -> None:
    end(run, 0.5)
    run.sims.update(stand_ins={"of": {"2": 1}})
    give_times(run, LAUNCHES)
    step = json_of(api.get(f"/api/runs/{run.id}/step-timelines"))[0]["timeline"]["steps"][0]
    assert [kernel["source"] for kernel in step["kernels"]] == ["simulated", "propagated", "simulated"]


def test_the_events_of_an_ended_run_still_end_with_it(run: Run) -> None:
    end(run, 0.5)
    before = position_of(run.id)
    give_times(run, LAUNCHES)
    assert position_of(run.id) == before


def test_a_sim_with_a_config_of_an_earlier_version_holds_nothing_up(api: Client, run: Run) -> None:
    end(run, 0.5)
    run.sims.filter(position=0).update(config={"core_clock_mhz": 1000, "gone_since": 1})
    give_times(run, LAUNCHES)
    assert predicted_starts_ns(api, run) == [[0, 1000, 2000]]
    assert again(run).mape == pytest.approx(0.5)
