"""The form of a new run does what a client's request would."""

from urllib.parse import urlencode

import pytest
from django.http import QueryDict
from django.test import Client

from runs.body import LaunchForm, launch_body
from runs.models import Run
from sims.models import GpuConfig
from tests.pages.conftest import finish
from traces.models import Trace

FORM = {"config": ["SM86_RTX3070", "SM80_A100"], "simulator": "replay", "launch": "1", "key": "k1"}


def test_it_launches_what_was_chosen(browser: Client, trace: Trace) -> None:
    answer = browser.post("/runs/new", {"trace": trace.id, **FORM})
    run = Run.objects.get()
    assert answer["Location"] == f"/runs/{run.id}"
    assert [sim.gpu_config for sim in run.sims.order_by("position")] == FORM["config"]


def test_a_double_click_is_one_run(browser: Client, trace: Trace) -> None:
    for _ in range(2):
        browser.post("/runs/new", {"trace": trace.id, **FORM})
    assert Run.objects.count() == 1


def test_it_says_what_is_missing(browser: Client, trace: Trace) -> None:
    answer = browser.post("/runs/new", {"trace": trace.id, "launch": "1"})
    assert answer.status_code == 422
    assert "Choose at least one GPU config" in answer.content.decode()


def test_it_names_a_value_that_no_config_has(browser: Client, trace: Trace) -> None:
    answer = browser.post("/runs/new", {"trace": trace.id, **FORM, "set": "l2_bites=1"})
    assert answer.status_code == 422
    assert "l2_bites" in answer.content.decode()


def test_a_sweep_makes_a_sim_per_value(browser: Client, trace: Trace) -> None:
    browser.post("/runs/new", {"trace": trace.id, **FORM, "config": ["SM80_A100"], "sweep": "sms=54,108"})
    assert [sim.options["set"] for sim in Run.objects.get().sims.order_by("position")] == [{"sms": 54}, {"sms": 108}]


def test_a_clone_opens_the_form_filled(browser: Client, run: Run) -> None:
    run.request = {"gpu_configs": ["SM80_A100"], "name": "again", "options": {"exact": True}}
    run.save()
    page = browser.get("/runs/new", {"trace": run.trace_id, "clone": run.id}).content.decode()
    assert 'value="SM80_A100" checked' in page
    assert 'value="again"' in page


OPTIONS = {"exact": True, "l2": "warm", "representatives": True, "shards": 2, "gaps": "closed", "threads": 3}


def test_running_again_asks_for_the_same_options(browser: Client, trace: Trace) -> None:
    body = {"trace_id": trace.id, "gpu_configs": ["SM80_A100"], "simulator": "replay", "options": OPTIONS}
    body |= {"set": {"units.tensor": [16, 8]}, "kernels": "1-2"}
    assert launch_body(trace.id, LaunchForm.from_query(LaunchForm.from_body(body).as_query())) == {
        **body,
        "set": {"units.tensor": "16,8"},
    }


def test_shorthands_of_the_api_are_options_too() -> None:
    assert LaunchForm.from_body({"exact": True, "l2": "cold"}).options == {"exact": True, "l2": "cold"}


@pytest.mark.parametrize("further", ["", "nonsense", "[1]", "null"])
def test_a_hidden_field_that_was_tampered_with_is_empty(further: str) -> None:
    assert LaunchForm.from_query(QueryDict(urlencode({"further": further}))).options == {}


def test_it_shows_what_a_what_if_changes(browser: Client, trace: Trace) -> None:
    page = browser.post("/runs/new", {"trace": trace.id, "config": ["SM80_A100"], "set": "sms=54", "preview": "1"})
    text = page.content.decode()
    assert "What changes" in text
    assert ">108</td>" in text
    assert "<strong>54</strong>" in text


def test_a_what_if_that_cannot_be_is_said_at_its_field(browser: Client, trace: Trace) -> None:
    page = browser.post("/runs/new", {"trace": trace.id, "config": ["SM80_A100"], "set": "sms=-1", "preview": "1"})
    assert '<span class="error">' in page.content.decode()


def test_it_says_when_the_same_was_computed_already(browser: Client, trace: Trace) -> None:
    browser.post("/runs/new", {"trace": trace.id, **FORM})
    finish(Run.objects.get())
    page = browser.get("/runs/new", {"trace": trace.id, **{k: v for k, v in FORM.items() if k != "launch"}})
    assert "Already computed" in page.content.decode()


def test_what_was_computed_of_a_config_that_is_another_now_is_not_the_same(browser: Client, trace: Trace) -> None:
    browser.post("/runs/new", {"trace": trace.id, **FORM})
    finish(Run.objects.get())
    for config in GpuConfig.objects.filter(pk__in=FORM["config"]):
        config.spec |= {"sms": 7}
        config.save()
    page = browser.get("/runs/new", {"trace": trace.id, **{k: v for k, v in FORM.items() if k != "launch"}})
    assert "Already computed" not in page.content.decode()


def test_sizes_and_ranges_are_written_as_people_do(browser: Client, trace: Trace) -> None:
    sweep = "sms=20:60:20\nl2_bytes=20M,40M"
    browser.post("/runs/new", {"trace": trace.id, "config": ["SM80_A100"], "sweep": sweep, "launch": "1"})
    assert Run.objects.get().request["sweep"] == {"sms": [20, 40, 60], "l2_bytes": [20 << 20, 40 << 20]}


def test_a_wrong_value_is_told_at_its_own_field(browser: Client, trace: Trace) -> None:
    asked = {"trace": trace.id, **FORM, "config": ["SM80_A100"], "launch": "1"}
    wrong_set = browser.post("/runs/new", {**asked, "set": "nosuch=3", "sweep": "sms=54,108"})
    wrong_sweep = browser.post("/runs/new", {**asked, "set": "sms=54", "sweep": "nosuch=3"})
    assert (list(wrong_set.context["problems"]), list(wrong_sweep.context["problems"])) == (["set"], ["sweep"])
