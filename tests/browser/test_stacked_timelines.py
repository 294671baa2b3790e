"""Compare's stacked timelines: lanes, keys, what is told of a launch."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Site
from tests.servers.processes import wait_until


@pytest.fixture
def plot(page: Page, site: Site) -> Locator:
    """Both runs' lanes, drawn and with the focus."""
    page.goto(f"/compare?run={site.run['id']}&run={site.other['id']}")
    plot = page.locator("[data-stacked]")
    expect(plot).to_have_attribute("data-drawn", "6")
    plot.locator("canvas").focus()
    return plot


@pytest.fixture
def launch(page: Page) -> Locator:
    """The table of the chosen launch."""
    return page.locator("[data-stacked-launch]")


def test_keys_go_from_launch_to_launch(page: Page, plot: Locator, launch: Locator) -> None:
    expect(launch).to_be_hidden()
    page.keyboard.press(".")
    expect(launch.locator("caption")).to_contain_text("#1 void init_kernel<double>")
    page.keyboard.press(".")
    expect(launch.locator("caption")).to_contain_text("#2 void copy_kernel<double>")
    page.keyboard.press("End")
    expect(launch.locator("caption")).to_contain_text("#6 ")
    page.keyboard.press("Escape")
    expect(launch).to_be_hidden()


def test_the_chosen_launch_has_a_row_for_each_lane(page: Page, plot: Locator, launch: Locator) -> None:
    page.keyboard.press(".")
    rows = launch.locator("tbody tr")
    expect(rows).to_have_count(1 + 2 + 2)
    expect(rows.nth(0).locator("th")).to_have_text("real")
    expect(rows.nth(1).locator("td").nth(1)).to_have_text("baseline")
    expect(rows.nth(3).locator("td").nth(1)).to_have_text(re.compile(r"^[+-]\d+\.\d %$"))


def test_what_is_chosen_is_told_to_screen_readers(page: Page, plot: Locator) -> None:
    page.keyboard.press(".")
    told = page.locator("[data-stacked-told]")
    expect(told).to_have_text(re.compile(r"^#1 void init_kernel.*SM86_RTX3070 · BabelStream: .* baseline"))
    page.keyboard.press("ArrowUp")
    expect(told).to_have_text(re.compile(r"real: .* against the baseline$"))


def test_the_largest_difference_is_one_key_away(page: Page, plot: Locator, launch: Locator) -> None:
    page.keyboard.press("n")
    expect(launch.locator("caption")).to_contain_text("#")


def test_enter_opens_the_kernel(page: Page, plot: Locator, site: Site) -> None:
    page.keyboard.press(".")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/sims/{site.run['sims'][0]['id']}/kernels/1")


def test_a_launch_under_the_mouse_says_its_differences(page: Page, plot: Locator) -> None:
    box = plot.locator("canvas").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 30, box["y"] + 50)
    expect(plot.locator(".tip")).to_contain_text("against the baseline")


def test_a_wheel_alone_scrolls_the_page(page: Page, plot: Locator) -> None:
    plot.scroll_into_view_if_needed()
    plot.hover()
    before = page.evaluate("scrollY")
    page.mouse.wheel(0, -200)
    wait_until(lambda: page.evaluate("scrollY") < before, "the page to be scrolled", every_s=0.1)


def test_one_after_the_other_is_an_address(page: Page, plot: Locator) -> None:
    page.get_by_role("link", name="one after the other").click()
    page.wait_for_url("**timeline=packed**")
    expect(page.locator("[data-stacked][data-packed]")).to_have_attribute("data-drawn", "6")
