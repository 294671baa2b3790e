"""What a run's pages show, whole without JavaScript."""

import json

import pytest
from django.test import Client

from runs.launch import LaunchRequest, launch
from runs.models import Run
from sims.models import GpuConfig, Sim, SimKernel
from tests.pages.conftest import CONFIGS, finish, make_trace
from traces.models import Trace

TABS = ["", "/kernels", "/correlation", "/timeline", "/log", "/files", "/config", "/events"]


@pytest.mark.parametrize("tab", TABS)
def test_each_tab_has_its_own_address(browser: Client, finished: Run, tab: str) -> None:
    answer = browser.get(f"/runs/{finished.id}{tab}")
    assert answer.status_code == 200
    assert 'aria-current="page"' in answer.content.decode()


@pytest.mark.parametrize("tab", TABS)
def test_a_run_without_results_says_what_comes_next(browser: Client, run: Run, tab: str) -> None:
    assert browser.get(f"/runs/{run.id}{tab}").status_code == 200


@pytest.mark.parametrize(("kernels_done", "told"), [(0, True), (1, False)])
def test_until_a_first_kernel_the_built_in_simulator_is_said_to_compile(
    browser: Client, trace: Trace, kernels_done: int, told: bool
) -> None:
    run = launch(trace, LaunchRequest(CONFIGS, simulator="builtin"))
    run.sims.update(status="running", kernels_done=kernels_done)
    assert ("compiles its code" in browser.get(f"/runs/{run.id}").content.decode()) is told


def test_the_summary_answers_in_one_sentence(browser: Client, finished: Run) -> None:
    page = browser.get(f"/runs/{finished.id}").content.decode()
    assert "would take 6.60 µs" in page
    assert "10.0 % too slow" in page


def test_a_sim_that_failed_half_way_is_no_answer(browser: Client, run: Run) -> None:
    finish(run)
    cut = run.sims.get(gpu_config="SM80_A100")
    cut.kernels.filter(index__gt=1).delete()
    Sim.objects.filter(pk=cut.pk).update(status="failed", simulated_ns=1100)
    page = browser.get(f"/runs/{run.id}").content.decode()
    assert "GeForce RTX 3070 would take 6.60 µs" in page
    assert '<a class="label" href="/sims/' in page
    assert f'<a class="label" href="/sims/{cut.id}">' not in page


def test_a_run_of_failed_sims_says_that_its_figures_are_of_a_part(browser: Client, run: Run) -> None:
    finish(run)
    run.sims.update(status="failed")
    Run.objects.filter(pk=run.pk).update(status="failed")
    page = browser.get(f"/runs/{run.id}").content.decode()
    assert "No sim has finished" in page
    assert "would take" not in page


def test_the_real_bar_is_of_the_kernels_that_were_chosen(browser: Client, trace: Trace) -> None:
    run = launch(trace, LaunchRequest(["SM86_RTX3070"], simulator="replay", kernels="1"))
    finish(run)
    run.sims.get().kernels.filter(index__gt=1).delete()
    page = browser.get(f"/runs/{run.id}").content.decode()
    assert '<span class="value">1.00 µs</span>' in page


def test_an_error_is_only_shown_for_the_gpu_the_real_times_are_of(browser: Client, finished: Run) -> None:
    assert "no real times of this GPU" in browser.get(f"/runs/{finished.id}").content.decode()


def test_the_summary_begins_with_the_kernels_that_make_the_error(browser: Client, trace: Trace) -> None:
    run = launch(trace, LaunchRequest(CONFIGS, simulator="replay"))
    finish(run, 1.0)
    # kernel_0 is the shorter one, and the only one that is off on the captured GPU; on the other GPU all are.
    SimKernel.objects.filter(sim__gpu_config="SM86_RTX3070", name="kernel_0").update(simulated_ns=4000)
    SimKernel.objects.filter(sim__gpu_config="SM80_A100").update(simulated_ns=1)
    page = browser.get(f"/runs/{run.id}").content.decode()
    assert page.index(">kernel_0<") < page.index(">kernel_1<")
    assert "100.0 %" in page


def test_what_another_gpu_differs_by_is_not_among_the_furthest_off(browser: Client, finished: Run) -> None:
    page = browser.get(f"/runs/{finished.id}/correlation").content.decode()
    _, _, worst = page.partition("Furthest off")
    assert "SM86_RTX3070" in worst
    assert "SM80_A100" not in worst


def test_kernels_of_one_name_are_one_point_of_the_correlation(browser: Client, finished: Run) -> None:
    page = browser.get(f"/runs/{finished.id}/correlation", {"view": "names", "scale": "linear"}).content.decode()
    assert page.count("<circle") == 2 * len(CONFIGS)
    assert "view=names&amp;q=kernel_1" in page


def test_an_unknown_run_is_a_404(browser: Client) -> None:
    assert browser.get("/runs/run-000000000000").status_code == 404


def test_kernels_are_exported_as_filtered(browser: Client, finished: Run) -> None:
    answer = browser.get(f"/runs/{finished.id}/kernels", {"q": "kernel_1", "format": "json"})
    rows = json.loads(answer.content)
    assert [(row["index"], row["SM86_RTX3070 simulated_ns"]) for row in rows] == [(1, 1100), (3, pytest.approx(3300))]


def test_a_kernel_that_is_linked_to_is_on_the_page(browser: Client) -> None:
    run = launch(make_trace("long", kernels=250), LaunchRequest(["SM80_A100"], simulator="replay"))
    finish(run)
    assert 'id="k230"' in browser.get(f"/runs/{run.id}/kernels", {"index": "230"}).content.decode()


def test_a_running_run_can_be_cancelled(browser: Client, run: Run) -> None:
    browser.post(f"/runs/{run.id}/cancel")
    run.refresh_from_db()
    assert run.status == "cancelled"


def test_a_run_is_renamed(browser: Client, run: Run) -> None:
    browser.post(f"/runs/{run.id}/name", {"name": " before the fix "})
    assert "<h1>before the fix" in browser.get(f"/runs/{run.id}").content.decode()


def test_a_finished_run_becomes_the_baseline_and_gives_it_up(browser: Client, finished: Run) -> None:
    browser.post(f"/runs/{finished.id}/baseline", {"is_baseline": "1"})
    assert "No longer the baseline</button>" in browser.get(f"/runs/{finished.id}").content.decode()
    browser.post(f"/runs/{finished.id}/baseline", {"is_baseline": "0"})
    assert "Set as baseline</button>" in browser.get(f"/runs/{finished.id}").content.decode()


def test_a_run_that_has_not_finished_cannot_become_the_baseline(browser: Client, run: Run) -> None:
    answer = browser.post(f"/runs/{run.id}/baseline", {"is_baseline": "1"}, follow=True)
    assert "only a finished run can be the baseline" in answer.content.decode()


def test_a_run_leads_to_its_comparison_with_the_baseline(browser: Client, finished: Run, trace: Trace) -> None:
    finished.make_baseline()
    other = launch(trace, LaunchRequest(["SM80_A100"], simulator="replay"))
    assert f"/compare?run={finished.id}&amp;run={other.id}" in browser.get(f"/runs/{other.id}").content.decode()


def test_a_form_from_another_site_changes_nothing(run: Run) -> None:
    from cascade_site.auth import sign_in_code

    client = Client(enforce_csrf_checks=True)
    client.get("/sign-in", {"code": sign_in_code()})
    answer = client.post(f"/runs/{run.id}/cancel")
    assert answer.status_code == 403
    assert "The form has expired" in answer.content.decode()
    run.refresh_from_db()
    assert run.status == "queued"


@pytest.mark.parametrize("path", ["/sims/{sim}", "/sims/{sim}/kernels/1"])
def test_a_sim_and_its_kernels_have_pages(browser: Client, finished: Run, path: str) -> None:
    sim = finished.sims.first()
    assert sim is not None
    assert browser.get(path.format(sim=sim.id)).status_code == 200


@pytest.mark.parametrize("path", ["/sims/{sim}", "/sims/{sim}/kernels/2"])
def test_a_sim_and_a_kernel_are_off_on_the_captured_gpu_and_faster_on_another(
    browser: Client, finished: Run, path: str
) -> None:
    here, elsewhere = (
        browser.get(path.format(sim=finished.sims.get(gpu_config=config).id)).content.decode() for config in CONFIGS
    )
    assert "+10.0 % ↑" in here
    assert "% ↑" not in elsewhere
    assert "0.909×" in elsewhere


def test_without_the_captured_gpu_no_kernel_is_said_to_make_an_error(browser: Client, trace: Trace) -> None:
    run = launch(trace, LaunchRequest(["SM80_A100"], simulator="replay"))
    finish(run)
    page = browser.get(f"/runs/{run.id}").content.decode()
    assert "The longest kernels" in page
    assert "Of the error" not in page


def test_a_config_of_the_captured_gpu_with_other_values_makes_no_error(browser: Client, trace: Trace) -> None:
    run = launch(trace, LaunchRequest([CONFIGS[0]], simulator="replay", overrides={"sms": 20}))
    finish(run)
    run.refresh_from_db()
    assert run.error is None
    page = browser.get(f"/sims/{run.sims.get().id}").content.decode()
    assert "% ↑" not in page
    assert "0.909×" in page


def test_without_real_times_there_is_no_column_for_what_they_would_tell(browser: Client, finished: Run) -> None:
    finished.trace.kernels.update(real_ns=None)
    Trace.objects.update(real_ns=None)
    page = browser.get(f"/runs/{finished.id}").content.decode()
    assert "The longest kernels" in page
    assert "Of the error" not in page
    assert "0, 0" not in page


def test_a_live_sim_names_its_kernels_as_people_read_them(browser: Client, trace: Trace) -> None:
    trace.kernels.filter(index=1).update(name="_Z9vectorAddPKfS0_Pfi")
    run = launch(trace, LaunchRequest(["SM80_A100"], simulator="replay"))
    page = browser.get(f"/sims/{run.sims.get().id}")
    assert page.context["names"]["_Z9vectorAddPKfS0_Pfi"][0] == "vectorAdd"
    assert 'id="kernel-names"' in page.content.decode()


def test_ipc_is_shown_in_three_digits(browser: Client, finished: Run) -> None:
    finished.sims.get(gpu_config=CONFIGS[0]).kernels.update(ipc=133.3212)
    page = browser.get(f"/sims/{finished.sims.get(gpu_config=CONFIGS[0]).id}").content.decode()
    assert '<span title="133.3212">133</span>' in page


def test_a_bandwidth_is_shown_in_whole_gigabytes(browser: Client) -> None:
    assert ">2,039</td>" in browser.get("/gpu-configs").content.decode()


def test_many_remarks_about_a_config_take_no_more_than_a_count_in_the_table(browser: Client) -> None:
    GpuConfig.objects.filter(pk="SM80_A100").update(warnings=["The first of them.", "The second one."])
    assert (
        '<td class="words"><a href="/gpu-configs/SM80_A100">2</a></td>' in browser.get("/gpu-configs").content.decode()
    )
    assert "The second one." in browser.get("/gpu-configs?format=csv").content.decode()


def test_a_config_leads_to_a_run_on_it_of_any_trace(browser: Client, trace: Trace) -> None:
    assert 'href="/runs/new?config=SM80_A100"' in browser.get("/gpu-configs/SM80_A100").content.decode()
    chosen = browser.get("/runs/new?config=SM80_A100").content.decode()
    assert '<input type="hidden" name="config" value="SM80_A100">' in chosen


def test_a_run_that_has_ended_leads_to_where_it_is_deleted(
    browser: Client, finished: Run, admin_client: Client
) -> None:
    address = f"/admin/runs/run/{finished.id}/delete/"
    assert f'href="{address}"' in browser.get(f"/runs/{finished.id}").content.decode()
    assert admin_client.get(address).status_code == 200


def test_a_run_at_work_cannot_be_deleted(browser: Client, run: Run) -> None:
    assert "/delete/" not in browser.get(f"/runs/{run.id}").content.decode()


def test_a_speed_up_is_over_the_captured_gpu_in_the_same_simulation(browser: Client, trace: Trace) -> None:
    run = launch(trace, LaunchRequest(CONFIGS, simulator="replay"))
    finish(run, 2.0)
    SimKernel.objects.filter(sim__run=run, sim__gpu_config="SM80_A100").update(simulated_ns=1000)
    page = browser.get(f"/runs/{run.id}").content.decode()
    assert "Time on the GeForce RTX 3070 over this one, both simulated" in page
    assert "4.00× as fast as the GeForce RTX 3070" in page


def test_a_speed_up_is_over_the_real_run_where_the_captured_gpu_was_not_simulated(
    browser: Client, trace: Trace
) -> None:
    run = launch(trace, LaunchRequest(["SM80_A100"], simulator="replay"))
    finish(run, 0.5)
    assert "2.00× as fast as the real run" in browser.get(f"/runs/{run.id}").content.decode()
