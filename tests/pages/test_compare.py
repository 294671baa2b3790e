"""Compare: sides in the address's order, held against a baseline."""

import json
import re

import pytest
from django.test import Client

from runs.launch import LaunchRequest, launch
from runs.models import Run
from tests.pages.conftest import CONFIGS, finish, make_trace
from traces.models import Trace


@pytest.fixture
def pair(trace: Trace) -> tuple[Run, Run]:
    """Two runs on one config, the second one half slower and with another launch latency."""
    return run_of(trace, "before", 1.0), run_of(trace, "after", 1.5, {"launch_latency_cycles": 0})


def run_of(trace: Trace, name: str, factor: float, overrides: dict[str, object] | None = None) -> Run:
    run = launch(trace, LaunchRequest(["SM80_A100"], simulator="replay", name=name, overrides=overrides or {}))
    finish(run, factor)
    return Run.objects.get(pk=run.pk)


def text_of(browser: Client, query: dict[str, object]) -> str:
    answer = browser.get("/compare", query)
    assert answer.status_code == 200
    return answer.content.decode()


def order_of(page: str) -> list[str]:
    return re.findall(r"SM80_A100[^<]* · (\w+)</a></td><td><span class=\"chip", page)


def sim_of(run: Run) -> str:
    sim = run.sims.first()
    assert sim is not None
    return sim.id


def ids(runs: tuple[Run, Run]) -> list[str]:
    return [run.id for run in runs]


def test_the_first_is_the_baseline_unless_another_is_chosen(browser: Client, pair: tuple[Run, Run]) -> None:
    assert "+50.0 % slower" in text_of(browser, {"run": ids(pair)})
    assert "-33.3 % faster" in text_of(browser, {"run": ids(pair), "baseline": sim_of(pair[1])})


def test_the_traces_saved_baseline_is_the_baseline(browser: Client, pair: tuple[Run, Run]) -> None:
    pair[1].make_baseline()
    assert "-33.3 % faster" in text_of(browser, {"run": ids(pair)})


def test_a_saved_baseline_that_is_not_there_is_offered(browser: Client, pair: tuple[Run, Run]) -> None:
    pair[1].make_baseline()
    page = text_of(browser, {"run": pair[0].id})
    assert f"&amp;run={pair[1].id}&amp;baseline={pair[1].id}" in page


def test_sides_are_moved_by_links(browser: Client, pair: tuple[Run, Run]) -> None:
    page = text_of(browser, {"run": ids(pair)})
    assert order_of(page) == ["before", "after"]
    down = re.search(r'href="([^"]+)" aria-label="Move [^"]*before down"', page)
    assert down is not None
    moved = browser.get("/compare" + down[1].replace("&amp;", "&")).content.decode()
    assert order_of(moved) == ["after", "before"]
    assert "+50.0 % slower" in moved


def test_a_side_is_taken_out_by_a_link(browser: Client, pair: tuple[Run, Run]) -> None:
    out = re.search(r'href="([^"]+)" aria-label="Take [^"]*after out"', text_of(browser, {"run": ids(pair)}))
    assert out is not None
    assert order_of(browser.get("/compare" + out[1].replace("&amp;", "&")).content.decode()) == []


def test_only_what_differs_is_shown_until_all_is_asked_for(browser: Client, pair: tuple[Run, Run]) -> None:
    few, every = (text_of(browser, {"run": ids(pair), **more}) for more in ({}, {"config": "all"}))
    assert "launch_latency_cycles" in few
    assert "core_clock_mhz" not in few
    assert "core_clock_mhz" in every


def test_another_engine_is_a_difference(browser: Client, pair: tuple[Run, Run]) -> None:
    for run, digest in zip(pair, ("3f2a91c0b7de4410", "77d0c3aa5be91f02"), strict=True):
        run.sims.update(software={"engine": digest, "numba": "0.68.1"})
    page = text_of(browser, {"run": ids(pair)})
    assert all(text in page for text in ("software.engine", "3f2a91c0b7de4410", "77d0c3aa5be91f02"))
    assert "software.numba" not in page


def test_the_worst_kernels_come_first_and_small_differences_can_be_hidden(browser: Client, finished: Run) -> None:
    page = text_of(browser, {"run": finished.id, "threshold": "50"})
    assert "No kernel differs by that much" in page


@pytest.mark.parametrize("threshold", ["", "x", "nan", "-1", "1e9"])
def test_any_threshold_is_taken(browser: Client, finished: Run, threshold: str) -> None:
    text_of(browser, {"run": finished.id, "threshold": threshold})


def test_the_kernels_are_exported_as_shown_with_all_runs_in_the_links(browser: Client, pair: tuple[Run, Run]) -> None:
    page = text_of(browser, {"run": ids(pair)})
    assert f"run={pair[0].id}&amp;run={pair[1].id}&amp;format=csv" in page
    rows = json.loads(browser.get("/compare", {"run": ids(pair), "view": "names", "format": "json"}).content)
    assert {row["name"]: row["launches"] for row in rows} == {"kernel_0": 1, "kernel_1": 2}


def test_runs_of_two_traces_say_so(browser: Client, pair: tuple[Run, Run]) -> None:
    other = run_of(make_trace("prefill"), "other", 1.0)
    assert "Of 2 different traces" in text_of(browser, {"run": [pair[0].id, other.id]})


def test_there_is_a_table_for_a_pull_request(browser: Client, pair: tuple[Run, Run]) -> None:
    assert re.search(
        r"\| SM80_A100 \S+ · after \| 9.00 µs \| \+50.0 % \| 1.500 \| 3 \|", text_of(browser, {"run": ids(pair)})
    )


def test_a_run_of_several_configs_is_compared_within_itself(browser: Client, finished: Run) -> None:
    page = text_of(browser, {"run": finished.id})
    assert all(config in page for config in CONFIGS)
    assert "core_clock_mhz" in page


def test_unknown_ids_lead_to_the_choice(browser: Client, finished: Run) -> None:
    assert "Choose two to twenty runs" in text_of(browser, {"run": "run-000000000000", "sim": "nonsense"})


def test_what_limits_each_side_is_told(browser: Client, pair: tuple[Run, Run]) -> None:
    for run, spent in zip(pair, ({"DRAM": 60, "issue": 40}, {"issue": 100}), strict=True):
        run.sims.update(spent=spent)
    page = text_of(browser, {"run": ids(pair)})
    assert "before: issue 40.0 %, DRAM 60.0 %" in page
    assert "the issue slots: the SMs are busy issuing instructions (100.0 % of the cycles)" in " ".join(
        re.sub(r"<[^>]+>", "", page).split()
    )
