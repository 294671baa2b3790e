"""The pages of traces: the list, one trace's kernels and steps."""

import json
import re

import pytest
from django.test import Client

from runs.launch import LaunchRequest, launch
from runs.models import Run
from tests.pages.conftest import finish, make_trace
from traces.models import Trace


def text_of(browser: Client, path: str, **query: str) -> str:
    answer = browser.get(path, query)
    assert answer.status_code == 200
    return answer.content.decode()


def test_the_list_says_how_many_runs_a_trace_has_and_how_close_they_came(browser: Client, trace: Trace) -> None:
    for factor in (1.2, 0.95):
        run = launch(trace, LaunchRequest(["SM86_RTX3070"], simulator="replay"))
        finish(run, factor)
    make_trace("prefill")
    rows = {row["id"]: row for row in json.loads(browser.get("/traces", {"format": "json"}).content)}
    assert (rows["decode"]["runs_total"], rows["prefill"]["runs_total"]) == (2, 0)
    assert rows["decode"]["best_error"] == pytest.approx(0.05)
    assert rows["prefill"]["best_error"] is None


def test_each_ready_trace_leads_to_a_new_run(browser: Client, trace: Trace) -> None:
    assert "/runs/new?trace=decode" in text_of(browser, "/traces")
    Trace.objects.update(status="failed")
    assert "/runs/new?trace=decode" not in text_of(browser, "/traces")


def test_the_sample_is_one_click_away_on_an_empty_list(browser: Client) -> None:
    assert "Add the sample trace" in text_of(browser, "/traces")
    answer = browser.post("/traces", {"sample": "1"})
    assert answer["Location"] == "/traces/babelstream-sample"
    assert Trace.objects.get().status == "ready"


def test_kernels_of_one_name_are_taken_together(browser: Client, trace: Trace) -> None:
    rows = json.loads(browser.get("/traces/decode", {"view": "names", "format": "json"}).content)
    assert {row["name"]: (row["instances"], row["total_ns"]) for row in rows} == {
        "kernel_1": (2, 4000),
        "kernel_0": (1, 2000),
    }


def test_identical_launches_fold_away(browser: Client, trace: Trace) -> None:
    trace.kernels.filter(index=3).update(identical_to=1)
    rows = json.loads(browser.get("/traces/decode", {"fold": "1", "format": "json"}).content)
    assert [row["index"] for row in rows] == [1, 2]


def test_until_launches_are_counted_nothing_is_said_of_identical_ones(browser: Client, trace: Trace) -> None:
    assert "being counted" in text_of(browser, "/traces/decode")
    trace.kernels.update(instructions=5)
    assert "being counted" not in text_of(browser, "/traces/decode")


def test_steps_have_their_busy_time_and_their_span(browser: Client, trace: Trace) -> None:
    for index, start_ns in ((1, 0), (2, 2000), (3, 10_000)):
        trace.kernels.filter(index=index).update(step=0 if index < 3 else 1, phase="decode", start_ns=start_ns)
    rows = json.loads(browser.get("/traces/decode", {"steps-format": "json"}).content)
    assert [(row["step"], row["kernels"], row["busy_ns"], row["span_ns"]) for row in rows] == [
        (0, 2, 3000, 4000),
        (1, 1, 3000, 3000),
    ]
    assert rows[0]["idle"] == pytest.approx(0.25)


def test_a_trace_without_steps_has_no_table_of_them(browser: Client, trace: Trace) -> None:
    assert "<h2>Steps</h2>" not in text_of(browser, "/traces/decode")


def test_what_the_profiler_wrote_is_shown(browser: Client, trace: Trace) -> None:
    Trace.objects.update(metadata={"driver": "555.42", "tool": {"nsys": "2026.1"}})
    page = text_of(browser, "/traces/decode")
    assert "555.42" in page
    assert re.search(r"nsys.*2026\.1", page)


def test_its_runs_are_listed(browser: Client, finished: Run) -> None:
    page = text_of(browser, "/traces/decode")
    assert f"/runs/{finished.id}" in page
    assert '<a href="/traces/decode">' not in page


def test_a_trace_leads_to_where_it_is_deleted(browser: Client, trace: Trace, admin_client: Client) -> None:
    address = "/admin/traces/trace/decode/delete/"
    assert f'href="{address}"' in text_of(browser, "/traces/decode")
    assert admin_client.get(address).status_code == 200
