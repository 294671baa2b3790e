"""Up to twenty runs, or forty sims, side by side: what differs between them, and what it did to the times."""

from typing import Any
from urllib.parse import urlencode

import numpy as np
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from cascade_site.charts.bars import BarInput, bar_chart
from cascade_site.charts.scatter import Series, scatter_chart
from cascade_site.charts.stack import stack_chart
from cascade_site.formats import MISSING, duration, signed_percent
from cascade_site.pages import page
from cascade_site.tablerows import ColumnRows
from cascade_site.tables import Column, Table
from runs.models import Run
from runs.pages.compared import Comparison, Side, comparison_of, sims_of
from runs.sides import Difference, matrix, matrix_by_name
from sims.limiters import PLACES, Spent
from sims.models import Sim
from sims.shown import differing_names, software_rows, value_names, value_of
from traces.models import TraceKernel
from traces.times.names import demangled

MOST_OPEN = 15


@page()
def compare(request: HttpRequest) -> HttpResponse:
    sims = sims_of(request)
    if not sims:
        recent = Run.objects.newest_first().with_sims()[:50]
        return render(request, "runs/compare_choose.html", {"section": "compare", "runs": recent})
    compared = comparison_of(request, sims)
    table = _kernel_table(request, compared)
    scatter, axis = _scatter(compared)
    every = request.GET.get("config") == "all"
    differences = _differences(compared.sides, every)
    context = {
        "section": "compare",
        "runs": list({sim.run_id: sim.run for sim in sims}.values()),
        "sides": compared.sides,
        "baseline": compared.baseline,
        "rows": [_metrics(request, compared, place) for place in range(len(compared.sides))],
        "saved": _saved_elsewhere(sims),
        "every": every,
        "differences": differences,
        "differing_total": sum(1 for row in differences if row["differs"]),
        "many": len(differences) > MOST_OPEN,
        "bars": bar_chart("Time of all kernels", [_bar(compared, *row) for row in compared.rows]),
        "limits": [(side, Spent(side.sim.spent)) for side in compared.sides if side.sim.spent],
        "stack": stack_chart(
            "Where the cycles went", PLACES, [(side.label, side.sim.spent) for side in compared.sides]
        ),
        "scatter": scatter,
        "axis": axis,
        "table": table,
        "packed": request.GET.get("timeline") == "packed",
        "by_name": request.GET.get("view") == "names",
        "threshold": request.GET.get("threshold", "0"),
        "traces": sorted({sim.run.trace_id for sim in sims}),
        "markdown": _markdown(compared),
        "kept": [
            (name, value)
            for name in ("run", "sim", "view", "config", "timeline")
            for value in request.GET.getlist(name)
        ],
    }
    return table.export() or render(request, "runs/compare.html", context)


def _saved_elsewhere(sims: list[Sim]) -> Run | None:
    """The saved baseline of the first sim's trace, where it is not among the sides."""
    saved = Run.objects.filter(trace=sims[0].run.trace_id, is_baseline=True).first()
    return saved if saved and all(sim.run_id != saved.id for sim in sims) else None


def _metrics(request: HttpRequest, compared: Comparison, place: int) -> dict[str, Any]:
    """A side's row, with the addresses that move it or take it out."""
    side, found = compared.rows[place]
    ids = [one.sim.id for one in compared.sides]

    def href(order: list[str]) -> str:
        kept = [
            (name, value) for name in ("view", "config", "timeline", "threshold") for value in request.GET.getlist(name)
        ]
        baseline = compared.baseline.sim.id
        return "?" + urlencode(
            [("sim", sim_id) for sim_id in order] + ([("baseline", baseline)] if baseline in order else []) + kept
        )

    def swapped(other: int) -> str:
        order = ids.copy()
        order[place], order[other] = order[other], order[place]
        return href(order)

    return {
        "side": side,
        "found": found,
        "is_baseline": side is compared.baseline,
        "earlier": swapped(place - 1) if place else None,
        "later": swapped(place + 1) if place + 1 < len(ids) else None,
        "without": href(ids[:place] + ids[place + 1 :]) if len(ids) > 1 else None,
    }


def _bar(compared: Comparison, side: Side, found: Difference) -> BarInput:
    note = "baseline" if side is compared.baseline else "" if found.delta is None else signed_percent(found.delta)
    return BarInput(side.label, found.total_ns, side.colour, note, f"/sims/{side.sim.id}")


def _differences(sides: list[Side], every: bool) -> list[dict[str, Any]]:
    """The values in which the sims differ, those of the launch first; all of them on request."""
    configs = [side.sim.config for side in sides]
    launches = [_launch_values(side.sim) for side in sides]
    rows: list[dict[str, Any]] = [
        {"name": name, "values": [launch.get(name, MISSING) for launch in launches]}
        for name in dict.fromkeys(name for launch in launches for name in launch)
    ]
    rows += [
        {"name": f"software.{row['name']}", "values": row["values"]}
        for row in software_rows([side.sim.software for side in sides])
    ]
    rows += [{"name": name, "values": [value_of(config, name) for config in configs]} for name in value_names(configs)]
    differing = differing_names(configs)
    for row in rows:
        row["differs"] = row["name"] in differing or len(set(row["values"])) > 1
    return [row for row in rows if every or row["differs"]]


def _launch_values(sim: Sim) -> dict[str, str]:
    chosen = f"{len(sim.kernel_indices)} chosen" if sim.kernel_indices else "all"
    options = {f"options.{name}": str(value) for name, value in sim.options.items() if name != "set"}
    return {"trace": sim.run.trace_id, "simulator": sim.simulator, "kernels": chosen, **options}


def _scatter(compared: Comparison) -> tuple[Any, str]:
    """Every side's times over the real ones; over the baseline's where no real time is known. And which it is."""
    trace_id = compared.baseline.times.trace_id
    known = TraceKernel.objects.filter(trace=trace_id, real_ns__isnull=False)
    reference: dict[int, float] = {index: float(ns or 0) for index, ns in known.values_list("index", "real_ns")}
    axis = "real" if reference else "baseline"
    sides = [side for side in compared.sides if side.times.trace_id == trace_id]
    if not reference:
        reference = dict(compared.baseline.times.by_index)
        sides = [side for side in sides if side is not compared.baseline]
    names = compared.names
    return scatter_chart([_series(side, reference, axis, names) for side in sides]), axis


def _series(side: Side, reference: dict[int, float], axis: str, names: dict[int, str]) -> Series:
    indexes = [index for index in side.times.by_index if index in reference]
    x = np.array([reference[index] for index in indexes], dtype=np.float64)
    y = np.array([side.times.by_index[index] for index in indexes], dtype=np.float64)

    def describe(at: int) -> tuple[str, str]:
        name = demangled(names.get(indexes[at], ""))[:120]
        title = f"#{indexes[at]} {name}: {duration(y[at])} in {side.label}, {duration(x[at])} {axis}"
        return title, f"/sims/{side.sim.id}/kernels/{indexes[at]}"

    return Series(side.colour, x, y, describe)


def _kernel_table(request: HttpRequest, compared: Comparison) -> Table:
    """Kernels of the baseline's trace, the worst differences first; ``?threshold=`` hides what differs by less."""
    by_name = request.GET.get("view") == "names"
    sim_id = compared.baseline.sim.id
    first = [Column("launches", "Launches", "number")] if by_name else [Column("index", "#", "number")]
    columns = [
        *first,
        Column("name", "Name", "name"),
        Column("base", "Baseline", "duration", help=compared.baseline.label),
    ]
    for place, side in enumerate(compared.others):
        label, config = side.label, side.sim.gpu_config
        columns += [
            Column(
                f"ns{place}", label, "duration", config=config, colour=side.colour, export_as=f"{label} simulated_ns"
            ),
            Column(
                f"delta{place}",
                "Difference",
                "delta",
                help=f"{label} against the baseline",
                export_as=f"{label} difference",
            ),
        ]
    columns.append(Column("worst", "Largest", "percent", help="The largest difference of all sides"))
    make = matrix_by_name if by_name else matrix
    beside = urlencode([("with", side.sim.id) for side in compared.others])
    rows = make(compared.names, compared.baseline.times, [side.times for side in compared.others], _threshold(request))
    return Table(
        request,
        columns,
        ColumnRows(rows),
        sort="-worst",
        title="comparison",
        dress=None if by_name else lambda row: {"href": f"/sims/{sim_id}/kernels/{row['index']}?{beside}"},
    )


def _threshold(request: HttpRequest) -> float:
    try:
        value = float(request.GET.get("threshold", "0"))
    except ValueError:
        return 0.0
    return value / 100 if 0 <= value <= 1000 else 0.0


def _markdown(compared: Comparison) -> str:
    """The metrics as a Markdown table, for a pull request."""
    lines = [
        "| config | time | against baseline | geomean | kernels in common | error against real |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for side, found in compared.rows:
        label = side.label.replace("|", "\\|")
        delta = "baseline" if side is compared.baseline else signed_percent(found.delta)
        geomean = f"{found.geomean:.3f}" if found.geomean else MISSING
        error = signed_percent(side.error)
        lines.append(f"| {label} | {duration(found.total_ns)} | {delta} | {geomean} | {found.common} | {error} |")
    return "\n".join(lines)
