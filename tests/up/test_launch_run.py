"""``manage.py launch_run``: what it makes, what it prints, what it refuses."""

import io
import json
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from runs.models import Run
from sims.models import GpuConfig, Sim, SimStatus
from sims.models.states import Report
from traces.ingest import Wishes, ingest_folder
from traces.sample import SAMPLE_LOG, SAMPLE_RUN_DIRECTORY

pytestmark = pytest.mark.django_db(transaction=True)
CONFIG = "SM86_RTX3070"


@pytest.fixture(autouse=True)
def _ready_to_launch(settings: Any) -> None:
    settings.CASCADE_REPLAY_LOG = str(SAMPLE_LOG)
    GpuConfig.objects.sync_from_files()
    ingest_folder(SAMPLE_RUN_DIRECTORY, Wishes(name="sample", replace=True))


def launch_run(*arguments: str) -> str:
    out = io.StringIO()
    call_command("launch_run", *arguments, stdout=out)
    return out.getvalue()


def test_it_queues_one_sim_per_config() -> None:
    launch_run("sample", CONFIG, "SM7_QV100", "--simulator", "replay", "--name", "first look")
    run = Run.objects.get()
    assert run.name == "first look"
    assert [sim.gpu_config for sim in run.sims.order_by("position")] == [CONFIG, "SM7_QV100"]


def test_it_prints_the_run_as_json() -> None:
    body = json.loads(launch_run("sample", CONFIG, "--simulator", "replay", "--json"))
    assert body["run"]["id"] == Run.objects.get().id


def test_it_selects_kernels_and_changes_and_sweeps_values() -> None:
    arguments = ["--kernels", "2-3", "--set", "l2_rop_latency_cycles=200", "--sweep", "core_clock_mhz=1000,1500"]
    launch_run("sample", CONFIG, "--simulator", "replay", *arguments)
    sims = list(Sim.objects.order_by("position"))
    assert [sim.kernel_indices for sim in sims] == [[2, 3], [2, 3]]
    assert [sim.config["core_clock_mhz"] for sim in sims] == [1000, 1500]
    assert {sim.config["l2_rop_latency_cycles"] for sim in sims} == {200}


def test_it_passes_switches_on() -> None:
    launch_run("sample", CONFIG, "--simulator", "replay", "--option", "replay_seconds=2")
    assert Sim.objects.get().options["replay_seconds"] == 2


def test_waiting_prints_a_table_of_the_ended_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sims.tasks.simulate.delay", end_with(SimStatus.FINISHED))
    table = launch_run("sample", CONFIG, "--simulator", "replay", "--wait")
    assert CONFIG in table
    assert " init_kernel " in table  # not as it is mangled in the trace
    assert "total" in table


def test_without_a_terminal_waiting_draws_no_progress(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sims.tasks.simulate.delay", end_with(SimStatus.FINISHED))
    launch_run("sample", CONFIG, "--simulator", "replay", "--wait")
    assert capsys.readouterr().err == ""


def test_waiting_for_a_run_that_fails_is_a_failure_with_its_reason(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sims.tasks.simulate.delay", end_with(SimStatus.FAILED))
    with pytest.raises(CommandError, match="failed"):
        launch_run("sample", CONFIG, "--simulator", "replay", "--wait")


def end_with(status: SimStatus) -> Any:
    return lambda sim_id: Sim.objects.get(pk=sim_id).heartbeat(Report(status, detail="As the test wants it."))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nothing", CONFIG], "There is no trace 'nothing'"),
        (["sample", "SM1_TOASTER"], "There is no GPU config 'SM1_TOASTER'"),
        (["sample", CONFIG, "--kernels", "7-99"], "outside the trace"),
        (["sample", CONFIG, "--set", "wings=2"], "wings"),
        (["sample", CONFIG, "--set", "l2_bytes"], "NAME=VALUE"),
        (["sample", CONFIG, "--sweep", "core_clock_mhz="], "is no sweep"),
        (["sample", CONFIG, "--option", "exact"], "is no option"),
        (["sample", CONFIG, "--option", "warp=9"], "warp is no option"),
    ],
)
def test_what_cannot_be_launched_is_one_sentence(arguments: list[str], sentence: str) -> None:
    with pytest.raises(CommandError) as refused:
        launch_run(*arguments, "--simulator", "replay")
    assert sentence in str(refused.value)
    assert "\n" not in str(refused.value)
    assert not Run.objects.exists()


def test_a_simulator_that_is_not_set_up_is_refused(settings: Any) -> None:
    settings.CASCADE_REPLAY_LOG = None
    with pytest.raises(CommandError, match="CASCADE_REPLAY_LOG"):
        launch_run("sample", CONFIG, "--simulator", "replay")
