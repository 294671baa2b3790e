"""What a comparison reads, and what it has from the last time."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from runs.kept import Kept
from runs.launch import LaunchRequest, launch
from runs.models import Run
from runs.reading import comparison_of, kernel_columns_of
from sims.models import Sim, SimKernel
from sims.models.states import Report
from tests.pages.conftest import finish, make_trace
from traces.models import RealTime, TraceKernel

KERNEL_TABLES = (SimKernel._meta.db_table, TraceKernel._meta.db_table)

pytestmark = pytest.mark.django_db


@pytest.fixture
def live(settings: Any) -> Run:
    """A run whose first sim has ended and whose second goes on; both have a result for each of three kernels."""
    settings.CASCADE_REPLAY_LOG = __file__  # any file: nothing is replayed here
    run = launch(make_trace(), LaunchRequest(["SM86_RTX3070", "SM80_A100"], simulator="replay"))
    finish(run)
    Sim.objects.filter(run=run, position=1).update(status="running", finished_at=None)
    Run.objects.filter(pk=run.pk).update(status="running", finished_at=None)
    return again(run)


def again(run: Run) -> Run:
    return Run.objects.with_sims().get(pk=run.pk)


def kernel_reads(run: Run) -> list[str]:
    """The queries for kernels of a comparison, trace's or sims'."""
    with CaptureQueriesContext(connection) as captured:
        comparison_of(run)
    return [query["sql"] for query in captured if any(f'FROM "{table}"' in query["sql"] for table in KERNEL_TABLES)]


def times(run: Run, place: int) -> list[float | None]:
    config = run.sims.all()[place].gpu_config
    return [kernel["configs"][config]["simulated_ns"] for kernel in comparison_of(run)["kernels"]]


def test_only_the_sim_that_goes_on_is_read_again(live: Run) -> None:
    ended, running = live.sims.all()
    kernel_reads(live)
    (query,) = kernel_reads(live)
    assert running.id in query
    assert ended.id not in query


def test_the_sim_that_goes_on_is_read_anew(live: Run) -> None:
    assert times(live, 1) == pytest.approx([1100, 2200, 3300])
    SimKernel.objects.filter(sim__run=live, sim__position=1, index=2).update(simulated_ns=7.0)
    assert times(again(live), 1) == pytest.approx([1100, 7, 3300])


def test_a_new_attempt_of_an_ended_sim_is_read_anew(live: Run) -> None:
    assert times(live, 0) == pytest.approx([1100, 2200, 3300])
    sim = live.sims.get(position=0)
    assert sim.requeue()
    sim.kernels.update(simulated_ns=5.0)
    Sim.objects.get(pk=sim.pk).heartbeat(Report("finished"))
    assert times(again(live), 0) == [5.0, 5.0, 5.0]


def test_other_real_times_are_seen(live: Run) -> None:
    assert [kernel["real_ns"] for kernel in comparison_of(live)["kernels"]] == [1000, 2000, 3000]
    live.trace.set_real_times({1: RealTime(10)}, {"set_at": "now"})
    assert [kernel["real_ns"] for kernel in comparison_of(again(live))["kernels"]] == [10, None, None]


def test_columns_say_what_the_body_says(live: Run) -> None:
    SimKernel.objects.filter(sim__run=live, sim__position=1, index=2).delete()
    columns, body = kernel_columns_of(live), comparison_of(live)
    for place, sim in enumerate(live.sims.all()):
        cells = [kernel["configs"].get(sim.gpu_config) for kernel in body["kernels"]]
        assert columns.cycles[place] == [cell and cell["cycles"] for cell in cells]
        for name, values in columns.figures[place].items():
            known = [value if value == value else None for value in values.tolist()]
            assert known == [cell and cell[name] for cell in cells]


def test_what_was_asked_for_longest_ago_goes_first() -> None:
    kept = Kept(most_rows=4)
    kept.keep("a", [1, 2])
    kept.keep("b", [3, 4])
    assert kept.get("a") == [1, 2]
    kept.keep("c", [5])
    assert (kept.get("a"), kept.get("b"), kept.get("c")) == ([1, 2], None, [5])


def test_what_is_larger_than_all_room_is_not_kept() -> None:
    kept = Kept(most_rows=1)
    kept.keep("a", [1, 2])
    kept.keep("b", [3])
    assert (kept.get("a"), kept.get("b")) == (None, [3])


def test_what_is_kept_twice_counts_once() -> None:
    kept = Kept(most_rows=3)
    for _ in range(5):
        kept.keep("a", [1, 2])
    kept.keep("b", [3])
    assert (kept.get("a"), kept.get("b")) == ([1, 2], [3])
