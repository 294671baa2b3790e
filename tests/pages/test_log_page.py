"""The log tab: which lines it shows, under which numbers."""

import re
from collections.abc import Callable

import pytest
from django.test import Client

from cascade_site.terminal import Span, spans
from runs.models import Run
from sims.loglines import LogLines, level_of
from sims.models import Sim
from sims.models.log import append_log, compact_log
from sims.models.states import Report

Shown = Callable[..., list[tuple[int, str]]]
LINE = re.compile(r'data-number="(\d+)"></a>(.*?)</div>', re.DOTALL)


@pytest.fixture
def sim(run: Run) -> Sim:
    return run.sims.order_by("position")[0]


def write(sim: Sim, text: str) -> Sim:
    """Append to the log; the sim as it is now."""
    append_log(sim, text.encode(), None, None)
    sim.refresh_from_db()
    return sim


def numbered(first: int, last: int) -> str:
    return "".join(f"line {number}\n" for number in range(first, last + 1))


@pytest.fixture
def shown(browser: Client, sim: Sim) -> Shown:
    """The numbers and texts of the lines on the page."""

    def shown(part: bool = False, **query: object) -> list[tuple[int, str]]:
        headers = {"X-Part": "lines"} if part else {}
        answer = browser.get(f"/runs/{sim.run_id}/log", query, headers=headers)
        assert answer.status_code == 200
        return [(int(number), text) for number, text in LINE.findall(answer.content.decode())]

    return shown


def test_the_last_five_hundred_lines_come_first(shown: Shown, sim: Sim) -> None:
    write(sim, numbered(1, 1200))
    lines = shown()
    assert (len(lines), lines[0], lines[-1]) == (500, (701, "line 701"), (1200, "line 1200"))


def test_lines_are_counted_through_pieces_that_were_cut_anywhere_and_moved_to_storage(shown: Shown, sim: Sim) -> None:
    text = numbered(1, 900)
    for place in range(0, len(text), 777):
        write(sim, text[place : place + 777])
        if place == 777 * 4:
            compact_log(sim)
    assert shown()[0] == (401, "line 401")
    assert (3, "line 3") in shown(line=3)


def test_a_line_is_shown_among_its_neighbours(shown: Shown, sim: Sim) -> None:
    write(sim, numbered(1, 2000))
    lines = shown(line=1000)
    assert (1000, "line 1000") in lines
    assert (lines[0][0], lines[-1][0]) == (750, 1249)


def test_a_line_that_is_not_there_leads_to_the_end(shown: Shown, sim: Sim) -> None:
    write(sim, numbered(1, 3))
    assert shown(line=5000)[-1] == (3, "line 3")


def test_a_line_without_its_end_is_shown_and_comes_again_when_it_is_longer(shown: Shown, sim: Sim) -> None:
    write(sim, "first\nsec")
    assert shown() == [(1, "first"), (2, "sec")]
    assert LogLines(sim).tail().end == 6
    write(sim, "ond\n")
    assert shown(part=True, **{"from": 6, "number": 2}) == [(2, "second")]


def test_older_lines_follow_upwards_without_a_gap(shown: Shown, sim: Sim) -> None:
    write(sim, numbered(1, 1200))
    start = LogLines(sim).tail().start
    older = shown(part=True, before=start)
    assert (older[0][0], older[-1][0]) == (201, 700)
    assert shown(part=True, until=201)[-1] == (200, "line 200")


def test_a_search_finds_lines_anywhere_in_any_case(shown: Shown, sim: Sim) -> None:
    write(sim, "Needle here\n" + numbered(2, 1500))
    assert shown(q="needle") == [(1, "Needle here")]


def test_a_level_shows_what_is_at_least_that_bad(shown: Shown, sim: Sim) -> None:
    write(sim, "all is well\nWARNING: cold\nERROR: hot\n")
    assert [number for number, _ in shown(level="warning")] == [2, 3]
    assert [number for number, _ in shown(level="error")] == [3]


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("GPGPU-Sim uArch: ERROR ** deadlock detected", "error"),
        ("accel-sim.out: trace.cc:30: Assertion `x' failed.", "error"),
        ("GPGPU-Sim PTX: Warning -- ignoring", "warning"),
        ("L1D_total_cache_reservation_fails = 12", ""),
        ("gpgpu_n_error_lines = 0", ""),
    ],
)
def test_a_lines_words_tell_its_level(text: str, level: str) -> None:
    assert level_of(text) == level


def test_a_log_that_was_cut_says_both_sizes(browser: Client, sim: Sim) -> None:
    write(sim, "x\n[Cascade: this log was cut, 10000 of 50000000 bytes were kept]\n")
    page = re.sub("<[^>]*>", "", browser.get(f"/runs/{sim.run_id}/log").content.decode())
    assert "The simulator wrote 47.7 MiB; the first 9.77 KiB were kept" in page


def test_an_earlier_attempts_log_has_its_page(shown: Shown, sim: Sim) -> None:
    write(sim, "of the first attempt\n")
    sim.heartbeat(Report("failed"))
    sim.requeue()
    sim.refresh_from_db()
    write(sim, "of the second\n")
    assert shown() == [(1, "of the second")]
    assert shown(attempt=1) == [(1, "of the first attempt")]


def test_a_line_that_is_longer_than_a_page_is_cut_with_a_note(browser: Client, sim: Sim) -> None:
    write(sim, "x" * 12_000 + "\n")
    assert "2000 more characters in the download" in browser.get(f"/runs/{sim.run_id}/log").content.decode()


@pytest.mark.parametrize(
    "query", ["line=0", "line=x", "line=99999999999999999999", "sim=nonsense", "attempt=77", "level=x"]
)
def test_the_page_takes_any_address(browser: Client, sim: Sim, query: str) -> None:
    write(sim, "a line\n")
    assert browser.get(f"/runs/{sim.run_id}/log?{query}").status_code == 200


def test_colours_are_kept_and_every_other_escape_is_dropped() -> None:
    text = "\x1b]8;;javascript:alert(1)\x07link\x1b]8;;\x07 \x1b[2J\x1b[1;31mred\x1b[0m\x1b[10;10H!"
    assert spans(text) == [Span("", "link "), Span("ansi-bold ansi-red", "red"), Span("", "!")]


def test_colours_never_reach_the_page_as_anything_but_known_classes(browser: Client, sim: Sim) -> None:
    write(sim, "\x1b[38;2;1;2;3;31m<b>\x1b[999mx\n")
    page = browser.get(f"/runs/{sim.run_id}/log").content.decode()
    assert '<span class="ansi-bold ansi-red">&lt;b&gt;x</span>' in page
