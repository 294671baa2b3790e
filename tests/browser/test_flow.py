"""The whole job in a browser: sign in, upload, launch, watch, compare, download."""

import json
import re
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.browser.conftest import Site
from tests.servers import flow


def test_the_whole_flow(page: Page, tmp_path: Path) -> None:
    archive = tmp_path / "mine.tar.gz"
    archive.write_bytes(flow.sample_archive())

    page.get_by_role("link", name="Traces").click()
    page.get_by_label("Archive").set_input_files(archive)
    page.get_by_label("Name").fill("mine")
    page.get_by_role("button", name="Upload").click()
    page.wait_for_url("**/traces/mine")
    expect(page.get_by_text("copy_kernel")).to_be_visible()

    page.get_by_role("link", name="New run").click()
    page.get_by_label("GeForce RTX 3070").check()
    page.get_by_label("A100 SXM 80 GB").check()
    page.get_by_label("Simulator").select_option("replay")
    page.get_by_role("button", name="Launch").click()
    page.wait_for_url(re.compile(r"/runs/run-[0-9a-f]{12}$"))

    expect(page.locator(".head .chip")).to_have_text("finished", timeout=60_000)
    page.reload()
    expect(page.locator(".answer")).to_contain_text("would take")

    page.get_by_role("link", name="Kernels", exact=True).click()
    expect(page.get_by_role("row")).to_have_count(7)

    with page.expect_download() as download:
        page.get_by_role("link", name="Results").click()
    assert json.loads(Path(download.value.path()).read_text())["comparison"]["kernels"]


def test_progress_is_live_without_reloading(page: Page, site: Site) -> None:
    run = flow.launch(site.web.http, "sample", options={"replay_seconds": 6})
    page.goto(f"/runs/{run['id']}")
    page.evaluate("window.neverReloaded = true")
    expect(page.locator(".live")).to_have_attribute("data-state", "live")
    expect(page.locator(".head .chip")).to_have_text("running", timeout=30_000)
    expect(page.locator(".head .chip")).to_have_text("finished", timeout=60_000)
    expect(page.get_by_text("The run has ended.")).to_be_visible()
    assert page.evaluate("window.neverReloaded")


def test_what_only_a_running_run_has_goes_with_its_end(page: Page, site: Site) -> None:
    run = flow.launch(site.web.http, "sample", options={"replay_seconds": 6})
    page.goto(f"/runs/{run['id']}")
    expect(page.get_by_role("button", name="Cancel")).to_be_visible()
    expect(page.get_by_text("The run has ended.")).to_be_visible(timeout=60_000)
    expect(page.get_by_role("button", name="Cancel")).to_be_hidden()
    expect(page.get_by_text("The answer comes with the first sim")).to_be_hidden()


def test_the_list_of_runs_counts_on_without_reloading(page: Page, site: Site) -> None:
    run = flow.launch(site.web.http, "sample", options={"replay_seconds": 6})
    page.goto("/runs")
    cell = page.locator(f"td:has(progress[data-run={run['id']}])")
    expect(cell).not_to_contain_text("12 / 12")
    expect(cell).to_contain_text("12 / 12", timeout=60_000)


def test_the_log_follows_only_a_reader_who_is_at_its_end(page: Page, site: Site) -> None:
    run = flow.launch(site.web.http, "sample", configs=["SM86_RTX3070"], options={"replay_seconds": 8})
    page.goto(f"/runs/{run['id']}/log")
    log = page.locator("[data-log]")
    expect(log).to_contain_text("GPGPU-Sim", timeout=30_000)
    page.wait_for_function("document.querySelector('[data-log]').scrollHeight > 3000")
    log.evaluate("box => { box.scrollTop = 500; }")
    expect(page.locator("[data-log-more]")).to_be_visible(timeout=30_000)
    assert abs(log.evaluate("box => box.scrollTop") - 500) < 50


def test_cancel_ends_a_running_run(page: Page, site: Site) -> None:
    run = flow.launch(site.web.http, "sample", options={"replay_seconds": 60})
    page.goto(f"/runs/{run['id']}")
    expect(page.locator(".head .chip")).to_have_text("running", timeout=30_000)
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator(".head .chip")).to_have_text("cancelled", timeout=30_000)


def test_a_point_of_the_correlation_leads_to_its_row(page: Page, site: Site) -> None:
    page.goto(f"/runs/{site.run['id']}/correlation")
    plot = page.locator("[data-correlation]")
    expect(plot).to_have_attribute("data-drawn", "12")
    page.locator("[data-correlation] canvas").focus()
    page.keyboard.press("ArrowRight")
    expect(plot.locator(".tip")).to_contain_text("_kernel<double>(")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"/kernels\?index=\d+#k\d+$"))


def test_a_name_of_the_linear_correlation_leads_to_its_row(page: Page, site: Site) -> None:
    page.goto(f"/runs/{site.run['id']}/correlation?view=names&scale=linear")
    expect(page.locator("[data-correlation]")).to_have_attribute("data-drawn", "12")
    page.locator("[data-correlation] canvas").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"/kernels\?view=names&q=.+$"))
    expect(page.locator("table[data-rows] tbody tr")).to_have_count(1)


def test_rows_are_walked_and_opened_with_keys(page: Page, site: Site) -> None:
    page.goto("/runs")
    page.keyboard.press("j")
    page.keyboard.press("x")
    expect(page.locator("tr.current input[type=checkbox]")).to_be_checked()
    page.keyboard.press("c")
    page.wait_for_url("**/compare?run=*")
    page.keyboard.press("g")
    page.keyboard.press("t")
    page.wait_for_url("**/traces")


def test_the_keys_are_listed(page: Page) -> None:
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()


def test_the_theme_stays_as_chosen(page: Page) -> None:
    page.get_by_label("Theme").select_option("dark")
    page.reload()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
