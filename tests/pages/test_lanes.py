"""The numbers of a comparison's stacked timelines: every launch in the real run and in each side."""

from typing import Any

import pytest
from django.test import Client

from runs.models import Run
from runs.pages import lanes
from tests.pages.conftest import CONFIGS, make_trace
from tests.pages.test_compare import run_of
from traces.models import Trace, TraceKernel


def lanes_of(browser: Client, **query: Any) -> dict[str, Any]:
    answer = browser.get("/compare/timelines", query)
    assert answer.status_code == 200
    stacked: dict[str, Any] = answer.json()
    return stacked


def test_the_real_run_stands_above_the_sides(browser: Client, finished: Run) -> None:
    stacked = lanes_of(browser, run=finished.id)
    assert [lane["label"] for lane in stacked["lanes"]] == ["real", *CONFIGS]
    assert stacked["lanes"][0]["ns"] == [1000, 2000, 3000]
    assert stacked["lanes"][1]["ns"] == [1100.0, 2200.0, 3300.0]


def test_launches_have_their_names(browser: Client, finished: Run) -> None:
    stacked = lanes_of(browser, run=finished.id)
    assert stacked["index"] == [1, 2, 3]
    assert [stacked["names"][place] for place in stacked["name"]] == [[f"kernel_{n % 2}"] * 2 for n in (1, 2, 3)]


def test_one_side_is_the_baseline(browser: Client, finished: Run) -> None:
    last = finished.sims.last()
    assert last is not None
    stacked = lanes_of(browser, run=finished.id, baseline=last.id)
    assert [lane.get("is_baseline") for lane in stacked["lanes"]] == [None, False, True]


def test_a_launch_that_a_side_lacks_has_no_time_there(browser: Client, finished: Run) -> None:
    first = finished.sims.first()
    assert first is not None
    first.kernels.filter(index=2).delete()
    assert lanes_of(browser, run=finished.id)["lanes"][1]["ns"] == [1100.0, None, 3300.0]


def test_without_real_times_there_is_no_real_lane(browser: Client, finished: Run) -> None:
    TraceKernel.objects.update(real_ns=None)
    assert [lane["label"] for lane in lanes_of(browser, run=finished.id)["lanes"]] == CONFIGS


def test_a_side_of_another_trace_has_no_lane(browser: Client, trace: Trace) -> None:
    runs = [run_of(trace, "here", 1.0), run_of(make_trace("prefill"), "elsewhere", 1.0)]
    stacked = lanes_of(browser, run=[run.id for run in runs])
    assert [lane["label"] for lane in stacked["lanes"]] == ["real", "SM80_A100 · here"]


def test_of_very_many_launches_the_first_are_given(
    browser: Client, finished: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lanes, "MOST_BARS", 6)
    stacked = lanes_of(browser, run=finished.id)
    assert (stacked["index"], stacked["left_out"]) == ([1, 2], 1)


def test_a_time_that_is_no_number_is_left_out(browser: Client, finished: Run) -> None:
    first = finished.sims.first()
    assert first is not None
    first.kernels.filter(index=1).update(simulated_ns=float("inf"))
    assert lanes_of(browser, run=finished.id)["lanes"][1]["ns"][0] is None


def test_nothing_to_compare_is_not_found(browser: Client) -> None:
    assert browser.get("/compare/timelines", {"run": "run-000000000000"}).status_code == 404


def test_the_page_asks_for_its_own_sides(browser: Client, finished: Run) -> None:
    page = browser.get("/compare", {"run": finished.id, "timeline": "packed"}).content.decode()
    assert f'data-stacked="/compare/timelines?run={finished.id}&amp;timeline=packed" data-packed' in page
