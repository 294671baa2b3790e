"""The step timeline: names, gaps and keys."""

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Site

LABEL_PX, REAL_LANE_PX = 132, 35


@pytest.fixture
def plot(page: Page, site: Site) -> Locator:
    """The first sim's timeline, drawn."""
    page.goto(f"/runs/{site.run['id']}/timeline")
    plot = page.locator("[data-timeline]").first
    expect(plot).to_have_attribute("data-drawn", "6")
    return plot


def test_keys_work_at_once_and_names_are_demangled(page: Page, plot: Locator) -> None:
    page.keyboard.press(".")
    expect(plot.locator(".tip")).to_contain_text("void init_kernel<double>(double*")
    page.keyboard.press(".")
    expect(plot.locator(".tip")).to_contain_text("void copy_kernel<double>(double const*")
    page.keyboard.press(",")
    expect(plot.locator(".tip")).to_contain_text("init_kernel")


def test_keys_of_a_form_are_not_taken(page: Page, plot: Locator) -> None:
    page.get_by_label("Theme").focus()
    page.keyboard.press(".")
    expect(plot.locator(".tip")).to_be_hidden()


def test_a_gap_says_how_long_it_is_and_what_is_around_it(page: Page, plot: Locator) -> None:
    expect(plot).to_have_attribute("data-gaps", "10")
    box = plot.locator("canvas").bounding_box()
    assert box is not None
    tip = plot.locator(".tip")
    found = ""
    for x in range(LABEL_PX, int(box["width"]), 2):
        page.mouse.move(box["x"] + x, box["y"] + REAL_LANE_PX)
        if tip.is_visible() and "idle" in (found := tip.inner_text()):
            break
    length, before, after = found.split("\n")
    assert length == "1.25 µs idle: no kernel ran"
    assert before.startswith("after void init_kernel<double>")
    assert after.startswith("before void copy_kernel<double>")


def test_the_gaps_of_the_step_are_summed_up(page: Page, plot: Locator) -> None:
    expect(page.get_by_text("In the real step no kernel ran for 6.25 µs").first).to_be_visible()
