"""The form of a new run does what a client's request would."""

from django.test import Client

from runs.models import Run
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


def test_it_says_when_the_same_was_computed_already(browser: Client, trace: Trace) -> None:
    from tests.pages.conftest import finish

    browser.post("/runs/new", {"trace": trace.id, **FORM})
    finish(Run.objects.get())
    page = browser.get("/runs/new", {"trace": trace.id, **{k: v for k, v in FORM.items() if k != "launch"}})
    assert "Already computed" in page.content.decode()
