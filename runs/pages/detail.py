"""One run's page: tabs, each its own address, all read from the same answers that the API gives."""

import json
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from cascade_site.charts.bars import BarInput, bar_chart
from cascade_site.charts.line import line_chart
from cascade_site.charts.stack import stack_chart
from cascade_site.colours import REAL
from cascade_site.formats import ratio, signed_percent
from cascade_site.pages import page
from runs import bodies
from runs.answer import answer
from runs.models import Run
from runs.pages.frame import render_tab as _render
from runs.pages.frame import run_of as _run
from runs.reading import overview_json_of
from sims.limiters import PLACES, Spent
from sims.models import Sim, SimStatus

CONTRIBUTORS = 10


@page()
def summary(request: HttpRequest, run_id: str) -> HttpResponse:
    run = _run(run_id)
    comparison = json.loads(bodies.whole(run, "overview", overview_json_of))
    sims = list(Sim.objects.filter(run=run).order_by("position"))
    names = {sim.gpu_config: sim.config.get("name", sim.gpu_config) for sim in sims}
    rows = [_summary_row(sim, comparison["summary"].get(sim.gpu_config, {})) for sim in sims]
    finished = [row for row in rows if row["sim"].status == SimStatus.FINISHED]
    reference = _reference(finished) if run.trace.gpu else None
    _add_speedups(rows, reference)
    elsewhere = {row["sim"].gpu_config for row in rows if row["elsewhere"]}
    contributors = _contributors(comparison, elsewhere)
    spent = {sim.id: Spent(sim.spent) for sim in sims if sim.spent}
    context = {
        "answer": answer(
            {row["sim"].gpu_config: row["figures"] for row in finished}, names, run.trace.gpu, run.trace.real_ns
        ),
        "preparing": _is_preparing(sims),
        "partial": any(sim.simulated_ns for sim in sims),
        "rows": rows,
        "reference": names[reference["sim"].gpu_config] if reference else None,
        "bars": _time_bars(run, finished, f"the {names[reference['sim'].gpu_config]}" if reference else "the real run"),
        "contributors": contributors,
        "any_error": any(group["share_of_error"] for group in contributors),
        "elsewhere": elsewhere,
        "limits": [(sim, spent[sim.id]) for sim in sims if sim.id in spent],
        "stack": stack_chart(
            "Where the cycles went", PLACES, [(sim.gpu_config, spent[sim.id].cycles) for sim in sims if sim.id in spent]
        ),
        "sweep": _sweep(run, finished),
    }
    return _render(request, run, "", context)


def _is_preparing(sims: list[Sim]) -> bool:
    """Whether the built-in simulator is at work and has not come to a first kernel anywhere."""
    at_work = any(sim.status == SimStatus.RUNNING and sim.simulator == "builtin" for sim in sims)
    return at_work and not any(sim.kernels_done or sim.progress.get("instructions_per_s") for sim in sims)


def _summary_row(sim: Sim, figures: dict[str, Any]) -> dict[str, Any]:
    """A sim with its figures. An error is one only on the GPU that the real times are of; elsewhere two times differ
    because the GPUs do."""
    return {"sim": sim, "figures": figures, "elsewhere": sim.is_of_other_gpu}


def _reference(finished: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The row of the GPU that the trace was captured on."""
    here = (row for row in finished if not row["elsewhere"])
    return next((row for row in here if row["figures"].get("simulated_ns")), None)


def _add_speedups(rows: list[dict[str, Any]], reference: dict[str, Any] | None) -> None:
    """How much faster each is than the captured GPU in the same simulation, whose own error cancels out that way; than
    the real run where that GPU was not simulated."""
    for row in rows:
        against_ns = reference["figures"]["simulated_ns"] if reference else row["figures"].get("real_ns")
        simulated_ns = row["figures"].get("simulated_ns")
        row["speedup"] = against_ns / simulated_ns if against_ns and simulated_ns else None


def _real_ns(rows: list[dict[str, Any]]) -> float | None:
    """The real time of the kernels that were simulated, which a run may have chosen some of."""
    return next((row["figures"]["real_ns"] for row in rows if row["figures"].get("real_ns")), None)


def _time_bars(run: Run, rows: list[dict[str, Any]], against: str) -> Any:
    real_ns, colours = _real_ns(rows), run.colours
    inputs = [BarInput("real run", real_ns, REAL)] if real_ns else []
    for row in rows:
        sim, figures = row["sim"], row["figures"]
        error = figures.get("error")
        note = f"{signed_percent(error)} against real" if error is not None else ""
        if row["elsewhere"] and row["speedup"]:
            note = f"{ratio(row['speedup'])} as fast as {against}"
        inputs.append(
            BarInput(
                sim.gpu_config,
                figures.get("simulated_ns") or sim.simulated_ns,
                colours[sim.gpu_config],
                note,
                f"/sims/{sim.id}",
            )
        )
    return bar_chart("Time of all kernels", inputs)


def _contributors(comparison: dict[str, Any], elsewhere: set[str]) -> list[dict[str, Any]]:
    """The kernels, by name, that make most of the total error, with their share of it on the config that has most;
    of the total time where no error is known."""
    groups = comparison["groups"]
    configs = [config for config in comparison["summary"] if config not in elsewhere]

    def off_ns(group: dict[str, Any], config: str) -> float:
        return group["configs"].get(config, {}).get("absolute_difference_ns") or 0.0

    totals = {config: sum(off_ns(group, config) for group in groups) for config in configs}

    def share(group: dict[str, Any]) -> float:
        return max((off_ns(group, config) / totals[config] for config in configs if totals[config]), default=0.0)

    # Groups come with the longest first, which stays the order of those that are off by the same.
    first = sorted(groups, key=share, reverse=True)[:CONTRIBUTORS]
    return [group | {"share_of_error": share(group) or None} for group in first]


def _sweep(run: Run, rows: list[dict[str, Any]]) -> Any:
    """The curve over a swept value, where the run swept exactly one."""
    sweep = run.request.get("sweep") or {}
    if len(sweep) != 1:
        return None
    name = next(iter(sweep))
    curves: dict[str, list[tuple[float, float, str]]] = {}
    for row in rows:
        sim = row["sim"]
        value = (sim.options.get("set") or {}).get(name)
        time_ns = row["figures"].get("simulated_ns") or sim.simulated_ns
        if isinstance(value, int | float) and time_ns:
            curves.setdefault(sim.label.config_id, []).append((float(value), time_ns, f"/sims/{sim.id}"))
    return line_chart(name, list(curves.items()), _real_ns(rows))


@page("POST")
def cancel(request: HttpRequest, run_id: str) -> HttpResponse:
    run = _run(run_id)
    run.cancel(by="page")
    messages.success(request, "Cancel was asked for. A sim that is running ends as soon as its runner hears of it.")
    return redirect(f"/runs/{run.id}")
