"""The log tab: the last lines first, any other by its number, and those with some words or a level in them."""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render

from cascade_site.pages import page
from runs.models import Run
from runs.pages.frame import render_tab, run_of
from sims.loglines import SEARCHED_BYTES, Level, LogLines
from sims.models import Sim

LEVELS: list[tuple[Level, str]] = [("", "every line"), ("warning", "warnings and errors"), ("error", "errors")]
MOST_WORDS = 200


@page()
def log(request: HttpRequest, run_id: str) -> HttpResponse:
    run = run_of(run_id)
    sim = _chosen_sim(request, run)
    lines = LogLines(sim, _whole(request, "attempt", sim.attempt))
    if request.headers.get("X-Part") == "lines":
        return _part(request, lines, sim)
    level: Level = next((known for known, _ in LEVELS if known == request.GET.get("level")), "")
    words = request.GET.get("q", "")[:MOST_WORDS]
    context: dict[str, Any] = {
        "sim": sim,
        "attempt": lines.attempt,
        "size_bytes": lines.size_bytes,
        "attempts": range(1, sim.attempt + 1) if sim.attempt > 1 else [],
        "levels": LEVELS,
        "level": level,
        "query": words,
        "cut": lines.cut_sizes(),
    }
    if words or level:
        found = lines.search(words, level)
        context |= {"found": found, "lines": found.lines, "searched_bytes": SEARCHED_BYTES}
    else:
        number = _whole(request, "line")
        stretch = lines.around(number) if number else lines.tail()
        context |= {"stretch": stretch, "lines": stretch.lines}
    return render_tab(request, run, "log", context)


def _part(request: HttpRequest, lines: LogLines, sim: Sim) -> HttpResponse:
    """The lines before or after a place, for a page that is open."""
    if (before := _whole(request, "before")) is not None:
        stretch = lines.before(before)
    elif (number := _whole(request, "until")) is not None:
        stretch = lines.before_line(number)
    else:
        stretch = lines.after(_whole(request, "from") or 0, _whole(request, "number"))
    context = {"sim": sim, "attempt": lines.attempt, "lines": stretch.lines, "stretch": stretch}
    return render(request, "runs/log_part.html", context)


def _chosen_sim(request: HttpRequest, run: Run) -> Sim:
    sims = list(run.sims.all())
    if not sims:
        raise Http404
    return next((sim for sim in sims if sim.id == request.GET.get("sim")), sims[0])


def _whole(request: HttpRequest, name: str, most: int = 2**62) -> int | None:
    """A whole number from 1 to ``most`` out of the address; None for anything else."""
    text = request.GET.get(name, "")
    if not (text.isascii() and text.isdigit() and len(text) < 20):
        return None
    return int(text) if 1 <= int(text) <= most else None
