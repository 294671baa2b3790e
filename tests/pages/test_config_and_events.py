"""The config and the events tab: how to do a run again, and who did what to it."""

import argparse
import shlex
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from runs.launch import LaunchRequest, launch
from runs.management.commands.launch_run import Command, request_from
from runs.models import Run
from runs.pages.config import launch_command
from runs.pages.events import changes
from sims.models import GpuConfig, Sim
from sims.models.states import Report
from traces.models import Trace

REQUEST = LaunchRequest(
    ["SM86_RTX3070", "SM80_A100"],
    simulator="replay",
    name="what if, 'quoted'",
    kernels="1-2",
    overrides={"scheduler": "lrr"},
    sweep={"sms": [40, 60]},
    options={"exact": True, "l2": "warm"},
)


def test_the_command_asks_for_the_same_run(trace: Trace) -> None:
    run = launch(trace, REQUEST)
    words = shlex.split(launch_command(run.request))
    assert words[:3] == ["python", "manage.py", "launch_run"]
    parser = argparse.ArgumentParser()
    Command().add_arguments(parser)
    asked = vars(parser.parse_args(words[3:]))
    assert (asked["trace"], request_from(asked)) == (trace.id, REQUEST)


def test_a_run_that_a_command_launched_can_be_done_again_too(browser: Client, run: Run) -> None:
    page = browser.get(f"/runs/{run.id}/config").content.decode()
    assert "launch_run decode SM86_RTX3070 SM80_A100 --simulator=replay --name=first --wait" in page


def test_what_the_sims_were_computed_with_is_shown(browser: Client, run: Run) -> None:
    first = run.sims.first()
    assert first is not None
    Sim.objects.filter(pk=first.pk).update(software={"engine": "3f2a91c0b7de4410"})
    assert values(browser, run, "")["software"] == [
        {"name": "engine", "values": ["3f2a91c0b7de4410", "–"], "differs": True}
    ]
    assert "3f2a91c0b7de4410" in browser.get(f"/sims/{first.id}").content.decode()


def values(browser: Client, run: Run, view: str) -> Any:
    return browser.get(f"/runs/{run.id}/config", {"view": view}).context


def test_a_changed_value_is_shown_against_its_preset(browser: Client, trace: Trace) -> None:
    run = launch(trace, LaunchRequest(["SM80_A100"], simulator="replay", overrides={"sms": 54}))
    (one,) = values(browser, run, "preset")["presets"]
    assert [(row["name"], row["values"]) for row in one["rows"]] == [("sms", ["108", "54"])]


def test_a_preset_that_was_changed_since_is_told_of_and_one_that_is_gone_too(browser: Client, run: Run) -> None:
    GpuConfig.objects.filter(pk="SM80_A100").delete()
    page = browser.get(f"/runs/{run.id}/config", {"view": "preset"}).content.decode()
    assert "All values are those of" in page
    assert "There is no GPU config <code>SM80_A100</code> any more" in page


def test_equal_traces_have_equal_hashes(browser: Client, run: Run) -> None:
    assert values(browser, run, "")["content_hash"] == ""
    run.trace.kernels.update(content_hash="a" * 64)
    first = values(browser, run, "")["content_hash"]
    run.trace.kernels.filter(index=2).update(content_hash="b" * 64)
    assert len(first) == 64
    assert values(browser, run, "")["content_hash"] not in ("", first)


@pytest.fixture
def sim(run: Run) -> Sim:
    return run.sims.order_by("position")[0]


def rows(browser: Client, sim: Sim) -> list[tuple[str, str, int, str]]:
    """Event, state, attempt and who it was, the oldest first, of one sim."""
    found = browser.get(f"/runs/{sim.run_id}/events").context["rows"]
    return [
        (row["type"], row["status"], row["attempt"], row["by"])
        for row in reversed(found)
        if row["of"] == sim.gpu_config
    ]


def test_every_change_names_who_made_it(browser: Client, sim: Sim) -> None:
    Sim.objects.claim(sim.id, "gpu-7")
    sim.heartbeat(Report("running", worker="gpu-7"))
    browser.post(f"/runs/{sim.run_id}/cancel")
    sim.heartbeat(Report("cancelled", detail="Cancelled."))
    assert rows(browser, sim) == [
        ("sim", "starting", 1, "task on gpu-7"),
        ("sim", "running", 1, "runner on gpu-7"),
        ("cancel asked", "running", 1, "page"),
        ("sim", "cancelled", 1, "runner on gpu-7"),
    ]


def test_a_lost_runner_shows_as_the_reapers_doing_with_the_reason(browser: Client, sim: Sim) -> None:
    sim.heartbeat(Report("running", worker="gpu-7"))
    Sim.objects.filter(pk=sim.pk).update(lease_expires_at=timezone.now() - timedelta(seconds=1))
    sim.give_up_lost()
    assert rows(browser, sim)[-1] == ("sim", "queued", 2, "reaper")
    assert "Nothing was heard of worker gpu-7" in browser.get(f"/runs/{sim.run_id}/events").content.decode()


def test_an_operator_is_named(browser: Client, sim: Sim) -> None:
    operator = Client()
    operator.force_login(User.objects.create_superuser("ada", "", "secret"))
    operator.post("/admin/sims/sim/", {"action": "mark_failed", "_selected_action": [sim.id]})
    assert rows(browser, sim)[-1] == ("sim", "failed", 1, "operator ada")


def test_a_runs_name_is_no_detail_of_what_happened() -> None:
    found = changes([(1, None, "run", '{"id": "run-1", "name": "first", "status": "queued"}')])
    assert [row["detail"] for row in found] == [None]


def test_a_file_is_named() -> None:
    found = changes([(1, None, "file", '{"sim_id": "sim-1", "name": "stderr.txt"}')])
    assert [row["detail"] for row in found] == ["stderr.txt"]


def test_progress_is_no_change_of_state(browser: Client, sim: Sim) -> None:
    for done in range(5):
        sim.heartbeat(Report("running", kernels_done=done))
    assert len(rows(browser, sim)) == 1
