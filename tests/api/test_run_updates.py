"""What of a run can be changed after its launch, and what it came to at its end."""

import pytest
from django.test import Client

from runs.models import Run
from runs.tasks import compare_again
from sims.models import Sim, SimKernel
from sims.models.states import Report
from tests.api.conftest import json_of
from traces.models import RealTime, Trace


def end(run: Run, factor: float, state: str = "finished") -> None:
    """Every sim takes ``factor`` times the real 1000 ns of each kernel."""
    for sim in run.sims.all():
        SimKernel.objects.bulk_create(
            SimKernel(sim=sim, index=index, name="k", cycles=6000, instructions=320, simulated_ns=factor * 1000)
            for index in (1, 2, 3)
        )
        sim.heartbeat(Report("running"))
        sim.heartbeat(Report(state))


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
