"""One simulated kernel: its statistics, alone or beside the same launch in other sims."""

import csv
import io

import pytest
from django.test import Client

from cascade_site.packing import packed
from runs.launch import LaunchRequest, launch
from runs.models import Run
from sims.models import Sim, SimKernel
from tests.pages.conftest import CONFIGS, finish, make_trace

STATS = {
    "SM86_RTX3070": {"gpu_sim_cycle": 6000, "n_rd": 400, "cascade_share_dram": 0.8, "cascade_share_issue": 0.2},
    "SM80_A100": {"gpu_sim_cycle": 6000, "n_rd": 300, "cascade_share_issue": 1.0},
}


@pytest.fixture
def sims(finished: Run) -> list[Sim]:
    """A run's sims, which differ in what they counted of each kernel."""
    sims = [finished.sims.get(gpu_config=config) for config in CONFIGS]
    for sim in sims:
        SimKernel.objects.filter(sim=sim).update(stats_packed=packed(STATS[sim.gpu_config]))
    return sims


def page_of(browser: Client, sim: Sim, **query: object) -> str:
    answer = browser.get(f"/sims/{sim.id}/kernels/2", query)
    assert answer.status_code == 200
    return answer.content.decode()


def rows_of(browser: Client, sim: Sim, **query: object) -> dict[str, list[str]]:
    lines = csv.reader(io.StringIO(page_of(browser, sim, format="csv", **query)))
    return {line[0]: line[1:] for line in lines}


def test_a_kernel_is_shown_beside_the_same_launch_in_another_sim(browser: Client, sims: list[Sim]) -> None:
    here, there = sims
    assert rows_of(browser, here, **{"with": there.id})["n_rd"] == ["400", "300", "-0.25"]


def test_a_kernel_is_shown_beside_the_other_sims_of_a_run(browser: Client, sims: list[Sim]) -> None:
    here, there = sims
    assert f'href="/sims/{there.id}/kernels/2"' in page_of(browser, here, **{"with": here.run_id})


def test_a_kernel_of_a_run_with_several_sims_offers_them(browser: Client, sims: list[Sim]) -> None:
    assert f'href="?with={sims[0].run_id}"' in page_of(browser, sims[0])


def test_where_the_cycles_went_is_drawn_for_each_sim(browser: Client, sims: list[Sim]) -> None:
    page = page_of(browser, sims[0], **{"with": sims[1].id})
    assert "SM86_RTX3070: issue 20.0 %, DRAM 80.0 %" in page
    assert "SM80_A100: issue 100.0 %" in page


def test_statistics_that_are_equal_can_be_left_out(browser: Client, sims: list[Sim]) -> None:
    rows = rows_of(browser, sims[0], **{"with": sims[1].id, "values": "differing"})
    assert set(rows) == {"name", "n_rd", "cascade_share_dram", "cascade_share_issue"}


def test_sims_of_another_trace_have_no_such_launch(browser: Client, sims: list[Sim]) -> None:
    run = launch(make_trace("prefill"), LaunchRequest(["SM80_A100"], simulator="replay"))
    finish(run)
    assert "Side by side" not in page_of(browser, sims[0], **{"with": run.id})


def test_one_goes_from_kernel_to_kernel_with_the_same_sims_beside(browser: Client, sims: list[Sim]) -> None:
    page = page_of(browser, sims[0], **{"with": sims[1].id})
    assert f'href="/sims/{sims[0].id}/kernels/1?with={sims[1].id}" rel="prev"' in page
    assert f'href="/sims/{sims[0].id}/kernels/3?with={sims[1].id}" rel="next"' in page


def test_a_row_of_a_runs_kernels_leads_to_all_its_sims(browser: Client, sims: list[Sim]) -> None:
    page = browser.get(f"/runs/{sims[0].run_id}/kernels").content.decode()
    assert f"/kernels/2?with={sims[0].run_id}" in page


def test_a_row_of_a_comparison_leads_to_the_sims_compared(browser: Client, sims: list[Sim]) -> None:
    page = browser.get("/compare", {"sim": [sim.id for sim in sims]}).content.decode()
    assert f"/sims/{sims[0].id}/kernels/2?with={sims[1].id}" in page
