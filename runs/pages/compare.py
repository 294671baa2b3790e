"""Two to twenty runs side by side: what differs between them, and what it did to the times."""

import math
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from cascade_site.charts.bars import BarInput, bar_chart
from cascade_site.colours import colour_of
from cascade_site.formats import duration, signed_percent
from cascade_site.pages import page
from cascade_site.tables import Column, Table
from runs.models import Run
from sims.models import Sim, SimKernel
from sims.shown import differing_names, value_names, value_of

MOST_RUNS = 20
MOST_SIMS = 40


@dataclass(slots=True)
class Side:
    """One sim in the comparison, with its kernels' times by kernel index."""

    sim: Sim
    label: str
    times_ns: dict[int, float]

    @property
    def total_ns(self) -> float:
        return math.fsum(self.times_ns.values())


@page()
def compare(request: HttpRequest) -> HttpResponse:
    ids = list(dict.fromkeys(request.GET.getlist("run")))[:MOST_RUNS]
    found = Run.objects.with_sims().select_related("trace").in_bulk(ids)
    runs = [found[run_id] for run_id in ids if run_id in found]
    if len(runs) < 1:
        recent = Run.objects.newest_first().with_sims()[:50]
        return render(request, "runs/compare_choose.html", {"section": "compare", "runs": recent})
    sides = _sides(runs)
    baseline = next((side for side in sides if side.sim.id == request.GET.get("baseline")), sides[0])
    table = _kernel_table(request, sides, baseline)
    context = {
        "section": "compare",
        "runs": runs,
        "sides": sides,
        "baseline": baseline,
        "metrics": [_metrics(side, baseline) for side in sides],
        "differences": _differences(sides),
        "bars": bar_chart("Time of all kernels", [_bar(side, baseline) for side in sides]),
        "table": table,
        "traces": sorted({run.trace_id for run in runs}),
        "markdown": _markdown(sides, baseline),
        "order": [(place, side) for place, side in enumerate(sides)],
    }
    return table.export() or render(request, "runs/compare.html", context)


def _sides(runs: list[Run]) -> list[Side]:
    several = len(runs) > 1
    sims = list(Sim.objects.filter(run__in=runs).select_related("run", "run__trace").order_by("position")[:MOST_SIMS])
    place = {run.id: number for number, run in enumerate(runs)}
    sims.sort(key=lambda sim: (place[sim.run_id], sim.position))
    times: dict[str, dict[int, float]] = {sim.id: {} for sim in sims}
    rows = SimKernel.objects.filter(sim__in=sims, simulated_ns__isnull=False)
    for sim_id, index, time_ns in rows.values_list("sim_id", "index", "simulated_ns").iterator(chunk_size=5000):
        times[sim_id][index] = float(time_ns or 0.0)
    return [
        Side(sim, f"{sim.gpu_config} · {sim.run.name or sim.run_id}" if several else sim.gpu_config, times[sim.id])
        for sim in sims
    ]


def _common(side: Side, baseline: Side) -> list[int]:
    """Kernels that both have, where both are of one trace: indexes of different traces mean different kernels."""
    if side.sim.run.trace_id != baseline.sim.run.trace_id:
        return []
    return [index for index in baseline.times_ns if index in side.times_ns]


def _metrics(side: Side, baseline: Side) -> dict[str, Any]:
    common = _common(side, baseline)
    own = math.fsum(side.times_ns[index] for index in common)
    other = math.fsum(baseline.times_ns[index] for index in common)
    logs = [
        math.log(side.times_ns[index] / baseline.times_ns[index])
        for index in common
        if side.times_ns[index] > 0 and baseline.times_ns[index] > 0
    ]
    return {
        "side": side,
        "is_baseline": side is baseline,
        "kernels": len(side.times_ns),
        "common": len(common),
        "missing": len(baseline.times_ns) - len(common) if common else None,
        "total_ns": side.total_ns or None,
        "delta": (own - other) / other if other else None,
        "geomean": math.exp(math.fsum(logs) / len(logs)) if logs else None,
        "error": side.sim.error,
    }


def _bar(side: Side, baseline: Side) -> BarInput:
    delta = _metrics(side, baseline)["delta"]
    note = f"{signed_percent(delta)}" if delta is not None and side is not baseline else ""
    colour = colour_of(side.sim.gpu_config)
    return BarInput(side.label, side.total_ns or None, note, f"/sims/{side.sim.id}", colour)


def _differences(sides: list[Side]) -> list[dict[str, Any]]:
    """Only the config values in which the sims differ."""
    configs = [side.sim.config for side in sides]
    differing = differing_names(configs)
    return [
        {"name": name, "values": [value_of(config, name) for config in configs]}
        for name in value_names(configs)
        if name in differing
    ]


def _kernel_table(request: HttpRequest, sides: list[Side], baseline: Side) -> Table:
    """Kernels of the baseline's trace, the worst differences first; ``?threshold=`` hides what differs by less."""
    threshold = _threshold(request)
    names = dict(baseline.sim.kernels.values_list("index", "name"))
    columns = [Column("index", "#", "number"), Column("name", "Name", "name"), Column("base", "Baseline", "duration")]
    others = [side for side in sides if side is not baseline and _common(side, baseline)]
    for place, side in enumerate(others):
        columns.append(Column(f"ns{place}", side.label, "duration", config=side.sim.gpu_config))
        columns.append(Column(f"delta{place}", "Difference", "error"))
    columns.append(Column("worst", "Largest", "percent"))
    rows = []
    for index, base in baseline.times_ns.items():
        row: dict[str, Any] = {"index": index, "name": names.get(index, ""), "base": base, "worst": None}
        row["href"] = f"/sims/{baseline.sim.id}/kernels/{index}"
        for place, side in enumerate(others):
            own = side.times_ns.get(index)
            row[f"ns{place}"] = own
            row[f"delta{place}"] = (own - base) / base if own is not None and base else None
        sizes = [abs(row[f"delta{place}"]) for place in range(len(others)) if row[f"delta{place}"] is not None]
        row["worst"] = max(sizes, default=None)
        if threshold == 0 or (row["worst"] or 0) >= threshold:
            rows.append(row)
    return Table(request, columns, rows, sort="-worst", title="comparison")


def _threshold(request: HttpRequest) -> float:
    try:
        value = float(request.GET.get("threshold", "0"))
    except ValueError:
        return 0.0
    return value / 100 if 0 <= value <= 1000 else 0.0


def _markdown(sides: list[Side], baseline: Side) -> str:
    """The metrics as a Markdown table, for a pull request."""
    lines = ["| config | time | against baseline | geomean | kernels |", "| --- | ---: | ---: | ---: | ---: |"]
    for row in (_metrics(side, baseline) for side in sides):
        label = row["side"].label.replace("|", "\\|")
        delta = "baseline" if row["is_baseline"] else signed_percent(row["delta"])
        geomean = f"{row['geomean']:.3f}" if row["geomean"] else "–"
        lines.append(f"| {label} | {duration(row['total_ns'])} | {delta} | {geomean} | {row['common']} |")
    return "\n".join(lines)
