"""The list of runs: all of them filtered, sorted and exported by the address, beside their trace's baseline."""

import json
import re
from typing import Any

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from runs.launch import LaunchRequest, launch
from runs.models import Run
from tests.pages.conftest import CONFIGS, finish, make_trace
from traces.models import Trace


def another(trace: Trace, name: str, factor: float, configs: list[str] = CONFIGS, **request: Any) -> Run:
    """A run of a trace whose simulated times are ``factor`` times the real ones."""
    run = launch(trace, LaunchRequest(configs, simulator="replay", name=name, **request))
    finish(run, factor)
    return Run.objects.get(pk=run.pk)


def listed(browser: Client, **query: str) -> list[str]:
    """The names on the page, in order, those pinned on top first."""
    return re.findall(r'<a href="/runs/run-[0-9a-f]+">([^<]+)</a>', text_of(browser, **query))


def text_of(browser: Client, **query: str) -> str:
    answer = browser.get("/runs", query)
    assert answer.status_code == 200
    return answer.content.decode()


def test_it_counts_every_state(browser: Client, finished: Run) -> None:
    assert "finished 1" in text_of(browser)


def test_it_filters_by_state(browser: Client, finished: Run) -> None:
    assert listed(browser, status="finished") == ["first"]
    assert "No row matches" in text_of(browser, status="failed")


@pytest.mark.parametrize("query", ["A100", "FIRST", "decode", "run-"])
def test_it_finds_a_run_by_config_name_trace_and_id(browser: Client, finished: Run, query: str) -> None:
    assert listed(browser, q=query) == ["first"]
    assert listed(browser, q=f"not {query}") == []


def test_chips_count_what_the_filter_leaves(browser: Client, finished: Run) -> None:
    assert "finished 0" in text_of(browser, q="nothing like it")


def test_it_filters_by_trace(browser: Client, finished: Run) -> None:
    another(make_trace("prefill"), "other", 1.1)
    assert listed(browser, trace="prefill") == ["other"]


def test_it_sorts_by_figures_and_unknown_ones_come_last(browser: Client, trace: Trace, run: Run) -> None:
    another(trace, "far", 1.5)
    another(trace, "near", 1.01)
    assert listed(browser, sort="mape") == ["near", "far", "first"]
    assert listed(browser, sort="-mape") == ["far", "near", "first"]


def test_a_sim_that_failed_half_way_is_not_the_fastest(trace: Trace) -> None:
    run = launch(trace, LaunchRequest(["SM86_RTX3070"], simulator="replay"))
    finish(run)
    run.sims.update(status="failed")
    run.take_figures()
    run.refresh_from_db()
    assert (run.fastest_ns, run.error, run.mape) == (None, None, None)


def test_it_sorts_by_several_columns(browser: Client, trace: Trace) -> None:
    for name in ("b", "a"):
        another(trace, name, 1.1)
    another(trace, "c", 1.2)
    assert listed(browser, sort="-fastest_ns,name") == ["c", "a", "b"]


@pytest.mark.parametrize(
    "key", ["name", "id", "trace_id", "status", "configs", "fastest_ns", "error", "mape", "wall_s"]
)
@pytest.mark.parametrize("sign", ["", "-"])
def test_every_column_sorts(browser: Client, finished: Run, key: str, sign: str) -> None:
    assert listed(browser, sort=sign + key) == ["first"]


@pytest.mark.parametrize("query", ["page=0", "page=x", "page=99999999999999", "sort=nonsense", "status=nonsense"])
def test_it_takes_any_address(browser: Client, finished: Run, query: str) -> None:
    name, _, value = query.partition("=")
    assert listed(browser, **{name: value}) == ["first"]


def test_it_needs_the_same_queries_for_any_number_of_runs(
    browser: Client, trace: Trace, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(5):
        another(trace, str(number), 1.1)
    Run.objects.get(name="0").make_baseline()
    with django_assert_max_num_queries(12):
        text_of(browser, q="a", sort="-mape,name")


def test_an_export_has_every_row_as_filtered(browser: Client, trace: Trace) -> None:
    for number in range(60):
        launch(trace, LaunchRequest(CONFIGS, simulator="replay", name=f"run {number:02}"))
    answer = browser.get("/runs", {"q": "run 1", "sort": "-name", "columns": "mape", "format": "json"})
    rows = json.loads(answer.content)
    assert [row["name"] for row in rows] == [f"run {number}" for number in range(19, 9, -1)]
    assert set(rows[0]) == {"id", "name", "mape"}


def test_the_baseline_is_on_top_of_any_sorting(browser: Client, trace: Trace) -> None:
    another(trace, "a", 1.1).make_baseline()
    another(trace, "b", 1.2)
    assert listed(browser, sort="-name") == ["a", "b", "a"]


def test_runs_are_held_against_their_traces_baseline(browser: Client, trace: Trace) -> None:
    another(trace, "base", 1.1).make_baseline()
    another(trace, "slow", 1.32)
    page = text_of(browser, q="slow")
    assert "+20.0 % slower" in page
    assert "+22.0 pp further" in page


def test_overrides_of_the_same_config_are_held_against_it(browser: Client, trace: Trace) -> None:
    another(trace, "base", 1.0, ["SM80_A100"]).make_baseline()
    another(trace, "less L2", 1.5, ["SM80_A100"], overrides={"l2_bytes": 7864320})
    assert "+50.0 % slower" in text_of(browser, q="less L2")


def test_runs_without_a_config_in_common_have_no_difference(browser: Client, trace: Trace) -> None:
    another(trace, "base", 1.0, ["SM80_A100"]).make_baseline()
    another(trace, "other", 1.5, ["SM7_QV100"])
    assert "slower</span>" not in text_of(browser, q="other")


def test_selected_runs_are_compared(browser: Client, run: Run) -> None:
    answer = browser.post("/runs/selected", {"run": [run.id, "run-000000000000"]})
    assert answer["Location"] == f"/compare?run={run.id}&run=run-000000000000"


def test_selected_runs_are_cancelled(browser: Client, run: Run, trace: Trace) -> None:
    done = another(trace, "done", 1.1)
    answer = browser.post("/runs/selected", {"run": [run.id, done.id], "do": "cancel", "next": "/runs?page=2"})
    assert answer["Location"] == "/runs?page=2"
    assert list(Run.objects.order_by("created_at").values_list("status", flat=True)) == ["cancelled", "finished"]


def test_selecting_leads_nowhere_else(browser: Client) -> None:
    answer = browser.post("/runs/selected", {"do": "cancel", "next": "https://elsewhere.example/"})
    assert answer["Location"] == "/runs"


@pytest.mark.parametrize("sort", ["", "name", "-mape", "error,name", "-configs"])
def test_pages_walk_over_every_run_once_in_the_order_of_the_whole(
    browser: Client, trace: Trace, monkeypatch: pytest.MonkeyPatch, sort: str
) -> None:
    for number in range(7):
        another(trace, f"run {number % 3}-{number}", 1 + number % 2 / 10)
    Run.objects.filter(name__endswith="4").update(mape=None, error=None)
    whole = listed(browser, sort=sort)
    monkeypatch.setattr("runs.pages.listing.PAGE_ROWS", 2)
    pages = [listed(browser, sort=sort, page=str(page)) for page in (1, 2, 3, 4)]
    assert [len(page) for page in pages] == [2, 2, 2, 1]
    assert [name for page in pages for name in page] == whole
