"""The log tab while a simulator writes, which the test plays."""

import re
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Watched
from tests.servers import flow
from tests.servers.cascade import Web


def numbered(first: int, last: int) -> str:
    return "".join(f"line {number}\n" for number in range(first, last + 1))


class Log:
    """A running sim's log and the page that shows it."""

    def __init__(self, web: Web, page: Page) -> None:
        self.http, self.page = web.http, page
        self.run: dict[str, Any] = flow.launch(web.http, "sample", configs=["SM80_A100"])
        self.sim = self.run["sims"][0]["id"]
        flow.heartbeat(self.http, self.sim, "running")

    def write(self, text: str) -> None:
        flow.log(self.http, self.sim, text)

    def open(self, rest: str = "") -> None:
        self.page.goto(f"/runs/{self.run['id']}/log{rest}")
        expect(self.page.locator(".live")).to_have_attribute("data-state", "live")

    @property
    def box(self) -> Locator:
        return self.page.locator("[data-log]")

    def line(self, number: int) -> Locator:
        return self.page.locator(f"#L{number}")


@pytest.fixture
def log(quiet: Watched, quiet_site: Web) -> Log:
    return Log(quiet_site, quiet.page)


def test_new_lines_follow_with_their_numbers(log: Log) -> None:
    log.write(numbered(1, 600) + "half a li")
    log.open()
    expect(log.line(601)).to_have_text("half a li")
    log.write("ne\n" + numbered(602, 700))
    expect(log.line(601)).to_have_text("half a line")
    expect(log.line(700)).to_be_in_viewport()


def test_a_reader_who_has_scrolled_up_stays_and_is_told_how_many_lines_wait(log: Log) -> None:
    log.write(numbered(1, 600))
    log.open()
    log.box.evaluate("box => { box.scrollTop = 1000; }")
    log.write(numbered(601, 612))
    expect(log.page.locator("[data-log-more]")).to_have_text("12 new lines ↓")
    assert abs(log.box.evaluate("box => box.scrollTop") - 1000) < 50
    log.page.locator("[data-log-more]").click()
    expect(log.line(612)).to_be_in_viewport()


def test_a_flood_is_followed_without_keeping_all_of_it(log: Log) -> None:
    log.write(numbered(1, 10))
    log.open()
    for first in range(11, 40_000, 10_000):
        log.write(numbered(first, first + 9_999))
    expect(log.line(40_010)).to_be_in_viewport(timeout=15_000)
    assert log.box.evaluate("box => box.childElementCount") <= 5000


def test_scrolling_up_brings_older_lines_down_to_the_first(log: Log) -> None:
    log.write(numbered(1, 1100))
    log.open()
    for _ in range(2):
        log.page.locator("[data-log-older]").click()
        log.page.wait_for_timeout(300)
    expect(log.line(1)).to_have_text("line 1")
    expect(log.page.locator("[data-log-older]")).to_be_hidden()
    numbers = log.box.evaluate("box => Array.from(box.querySelectorAll('a'), link => Number(link.dataset.number))")
    assert numbers == list(range(1, 1101))


def test_a_number_is_a_link_that_leads_back_to_its_line(log: Log) -> None:
    log.write(numbered(1, 3000))
    log.open()
    log.line(2900).locator("a").click()
    expect(log.page).to_have_url(re.compile(r"line=2900#L2900$"))
    log.open("#L120")
    expect(log.line(120)).to_be_in_viewport()
    log.page.locator("[data-log-more]").click()
    expect(log.line(500)).to_have_count(1)


def test_a_search_leads_to_the_line_among_its_neighbours(log: Log) -> None:
    log.write(numbered(1, 900) + "ERROR: out of luck\n" + numbered(902, 2000))
    log.open()
    log.page.get_by_label("Search the log").fill("OUT OF")
    log.page.keyboard.press("Enter")
    log.page.locator(".log a").click()
    expect(log.line(901)).to_have_text("ERROR: out of luck")
    expect(log.line(900)).to_have_text("line 900")
