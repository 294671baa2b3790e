"""One run's page: tabs, each its own address, all read from the same answers that the API gives."""

import heapq
import json
from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django_eventstream.models import Event

from cascade_site.charts.bars import BarInput, bar_chart
from cascade_site.charts.line import line_chart
from cascade_site.charts.scatter import MOST_POINTS, Point, scatter_chart
from cascade_site.charts.stack import stack_chart
from cascade_site.colours import colour_of
from cascade_site.formats import duration, ratio, signed_percent
from cascade_site.pages import page
from cascade_site.tables import Column, Table
from runs import bodies
from runs.answer import answer, is_captured_gpu
from runs.comparison import REAL
from runs.events import channel_of
from runs.models import ENDED, Run
from runs.reading import comparison_json_of, files_of, overview_json_of, step_timelines_of
from sims.limiters import PLACES, Spent
from sims.models import Sim
from sims.models.log import read_log
from sims.shown import differing_names, value_names, value_of

TABS = [
    ("", "Summary"),
    ("kernels", "Kernels"),
    ("correlation", "Correlation"),
    ("timeline", "Timeline"),
    ("log", "Log"),
    ("files", "Files"),
    ("config", "Config"),
    ("events", "Events"),
]
LOG_TAIL_BYTES = 64 * 1024
CONTRIBUTORS = 10
FURTHEST_OFF = 20
EVENTS_SHOWN = 500


def _run(run_id: str) -> Run:
    run = Run.objects.with_sims().select_related("trace").filter(pk=run_id).first()
    if run is None:
        raise Http404
    return run


def _render(request: HttpRequest, run: Run, tab: str, context: dict[str, Any]) -> HttpResponse:
    sims = list(run.sims.all())
    base = {
        "section": "runs",
        "run": run,
        "sims": sims,
        "tab": tab,
        "tabs": [(name, title, f"/runs/{run.id}" + (f"/{name}" if name else "")) for name, title in TABS],
        "live": run.status not in ENDED,
    }
    return render(request, f"runs/{tab or 'summary'}.html", base | context)


@page()
def summary(request: HttpRequest, run_id: str) -> HttpResponse:
    run = _run(run_id)
    comparison = json.loads(bodies.whole(run, "overview", overview_json_of))
    sims = list(Sim.objects.filter(run=run).order_by("position"))
    names = {sim.gpu_config: sim.config.get("name", sim.gpu_config) for sim in sims}
    rows = [_summary_row(run, sim, comparison["summary"].get(sim.gpu_config, {})) for sim in sims]
    spent = {sim.id: Spent(sim.spent) for sim in sims if sim.spent}
    context = {
        "answer": answer(comparison["summary"], names, run.trace.gpu, run.trace.real_ns),
        "rows": rows,
        "bars": _time_bars(run, rows),
        "contributors": _contributors(comparison),
        "limits": [(sim, spent[sim.id]) for sim in sims if sim.id in spent],
        "stack": stack_chart(
            "Where the cycles went", PLACES, [(sim.gpu_config, spent[sim.id].cycles) for sim in sims if sim.id in spent]
        ),
        "sweep": _sweep(run, rows),
    }
    return _render(request, run, "", context)


def _summary_row(run: Run, sim: Sim, figures: dict[str, Any]) -> dict[str, Any]:
    """A sim with its figures. An error is one only on the GPU that the real times are of; elsewhere two times differ
    because the GPUs do."""
    elsewhere = bool(run.trace.gpu) and not is_captured_gpu(run.trace.gpu, sim.config.get("name", ""))
    real_ns, simulated_ns = figures.get("real_ns"), figures.get("simulated_ns")
    speedup = real_ns / simulated_ns if real_ns and simulated_ns else None
    return {"sim": sim, "figures": figures, "elsewhere": elsewhere, "speedup": speedup}


def _time_bars(run: Run, rows: list[dict[str, Any]]) -> Any:
    real_ns = run.trace.real_ns
    inputs = [BarInput("real run", real_ns, colour=7)] if real_ns else []
    for row in rows:
        sim, figures = row["sim"], row["figures"]
        error = figures.get("error")
        note = f"{signed_percent(error)} against real" if error is not None else ""
        if row["elsewhere"] and row["speedup"]:
            note = f"{ratio(row['speedup'])} the real run's speed"
        inputs.append(
            BarInput(sim.gpu_config, figures.get("simulated_ns") or sim.simulated_ns, note, f"/sims/{sim.id}")
        )
    return bar_chart("Time of all kernels", inputs)


def _contributors(comparison: dict[str, Any]) -> list[dict[str, Any]]:
    """The kernels, by name, that make most of the total error; of the total time where no real times are known."""
    groups = comparison["groups"]

    def weight(group: dict[str, Any]) -> float:
        off = [
            abs((c["predicted_ns"] or 0) - (c["reference_ns"] or 0))
            for c in group["configs"].values()
            if c.get("reference_ns")
        ]
        return max(off, default=0.0)

    return sorted(groups, key=weight, reverse=True)[:CONTRIBUTORS]


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
            curves.setdefault(sim.gpu_config.split(" ")[0], []).append((float(value), time_ns, f"/sims/{sim.id}"))
    return line_chart(name, list(curves.items()), run.trace.real_ns)


@page()
def kernels(request: HttpRequest, run_id: str) -> HttpResponse:
    run = _run(run_id)
    baseline = request.GET.get("baseline", REAL)
    configs = [sim.gpu_config for sim in run.sims.all()]
    comparison = _comparison(run, baseline if baseline in configs else REAL)
    by_name = request.GET.get("view") == "names"
    make: Callable[[HttpRequest, Run, dict[str, Any]], Table] = _name_table if by_name else _kernel_table
    table = make(request, run, comparison)
    context = {"table": table, "by_name": by_name, "baseline": comparison["baseline"], "configs": configs}
    return table.export() or _render(request, run, "kernels", context)


def _kernel_table(request: HttpRequest, run: Run, comparison: dict[str, Any]) -> Table:
    configs = [sim.gpu_config for sim in run.sims.all()]
    sim_of = {sim.gpu_config: sim.id for sim in run.sims.all()}
    columns = [
        Column("index", "#", "number"),
        Column("name", "Name", "name"),
        Column("real_ns", "Real", "duration"),
        Column("real_share", "Time", "percent", help="Share of the real time"),
    ]
    for place, config in enumerate(configs):
        columns.append(Column(f"ns{place}", config, "duration", config=config, help="Simulated time"))
        columns.append(Column(f"error{place}", "Error", "error", help=f"{config} against real"))
        if len(configs) == 1:
            columns.append(Column(f"cycles{place}", "Cycles", "number"))
            columns.append(Column(f"share{place}", "Of total error", "percent"))
        if comparison["baseline"] != REAL and config != comparison["baseline"]:
            columns.append(Column(f"speedup{place}", f"vs {comparison['baseline']}", "ratio"))
    rows = []
    for kernel in comparison["kernels"]:
        row: dict[str, Any] = {key: kernel[key] for key in ("index", "name", "real_ns", "real_share")}
        row["anchor"] = f"k{kernel['index']}"
        for place, config in enumerate(configs):
            cell = kernel["configs"].get(config, {})
            row[f"ns{place}"] = cell.get("simulated_ns")
            row[f"error{place}"] = cell.get("error")
            row[f"cycles{place}"] = cell.get("cycles")
            row[f"share{place}"] = cell.get("share_of_error")
            row[f"speedup{place}"] = cell.get("speedup")
        row["href"] = f"/sims/{sim_of[configs[0]]}/kernels/{kernel['index']}" if configs else ""
        rows.append(row)
    table = Table(request, columns, rows, title=f"{run.id}-kernels")
    return _at_index(request, table)


def _at_index(request: HttpRequest, table: Table) -> Table:
    """``?index=`` turns to the page that has the kernel, wherever the sorting has put it."""
    wanted = request.GET.get("index", "")
    if wanted.isascii() and wanted.isdigit() and "page" not in request.GET:
        place = next((n for n, row in enumerate(table.sorted) if row["index"] == int(wanted)), None)
        if place is not None:
            query = request.GET.copy()
            query["page"] = str(place // table.page_rows + 1)
            request.GET = query  # type: ignore[assignment]
    return table


def _name_table(request: HttpRequest, run: Run, comparison: dict[str, Any]) -> Table:
    configs = [sim.gpu_config for sim in run.sims.all()]
    columns = [
        Column("real_share", "Time", "percent"),
        Column("total_ns", "Total real", "duration"),
        Column("launches", "Instances", "number"),
        Column("avg_ns", "Avg", "duration"),
        Column("med_ns", "Med", "duration"),
        Column("min_ns", "Min", "duration"),
        Column("max_ns", "Max", "duration"),
        Column("stddev_ns", "StdDev", "duration"),
    ]
    for place, config in enumerate(configs):
        columns.append(Column(f"ns{place}", config, "duration", config=config, help="Simulated, in total"))
        columns.append(Column(f"error{place}", "Error", "error"))
    columns.append(Column("name", "Name", "name"))
    rows = []
    for group in comparison["groups"]:
        row: dict[str, Any] = {"name": group["name"], "launches": group["launches"], "real_share": group["real_share"]}
        row |= {key: group["real"][key] for key in ("total_ns", "avg_ns", "med_ns", "min_ns", "max_ns", "stddev_ns")}
        for place, config in enumerate(configs):
            cell = group["configs"].get(config, {})
            row[f"ns{place}"], row[f"error{place}"] = cell.get("simulated_ns"), cell.get("error")
        rows.append(row)
    return Table(request, columns, rows, title=f"{run.id}-names")


def _comparison(run: Run, baseline: str = REAL) -> dict[str, Any]:
    """The body that the API gives, from the same kept file."""
    body = bodies.whole(run, f"comparison {baseline} 0", lambda of: comparison_json_of(of, baseline, False))
    return dict(json.loads(body))


@page()
def correlation(request: HttpRequest, run_id: str) -> HttpResponse:
    run = _run(run_id)
    comparison = _comparison(run)
    # The still picture shows the longest kernels; only they are worth a title each.
    longest = heapq.nlargest(MOST_POINTS, comparison["kernels"], key=lambda kernel: kernel["real_ns"] or 0.0)
    points = [
        Point(
            kernel["real_ns"],
            cell["simulated_ns"],
            colour_of(config),
            f"#{kernel['index']} {kernel['name'][:120]}: {duration(cell['simulated_ns'])} simulated, "
            f"{duration(kernel['real_ns'])} real ({signed_percent(cell['error'])})",
            f"/runs/{run.id}/kernels?index={kernel['index']}#k{kernel['index']}",
        )
        for kernel in longest
        if kernel["real_ns"]
        for config, cell in kernel["configs"].items()
        if cell["simulated_ns"]
    ]
    excluded = sum(1 for kernel in comparison["kernels"] if not kernel["real_ns"])
    worst = heapq.nlargest(
        FURTHEST_OFF,
        (
            (abs(cell["error"]), kernel, config, cell)
            for kernel in comparison["kernels"]
            for config, cell in kernel["configs"].items()
            if cell["error"] is not None
        ),
        key=lambda item: item[0],
    )
    chart = scatter_chart(points)
    every = sum(len(kernel["configs"]) for kernel in comparison["kernels"] if kernel["real_ns"])
    context = {
        "chart": chart,
        "left_out": every - len(chart.dots) if chart else 0,
        "summary": comparison["summary"],
        "excluded": excluded,
        "worst": [{"kernel": kernel, "config": config, "cell": cell} for _, kernel, config, cell in worst],
        "configs": [(sim.gpu_config, colour_of(sim.gpu_config)) for sim in run.sims.all()],
    }
    return _render(request, run, "correlation", context)


@page()
def timeline(request: HttpRequest, run_id: str) -> HttpResponse:
    run = _run(run_id)
    posted = step_timelines_of(run)
    steps = max((len(row["timeline"].get("steps", [])) for row in posted), default=0)
    wanted = request.GET.get("step", "0")
    step = min(int(wanted), max(steps - 1, 0)) if wanted.isascii() and wanted.isdigit() and len(wanted) < 9 else 0
    shown = []
    for row in posted:
        every = row["timeline"].get("steps", [])
        if step < len(every):
            shown.append(row | {"step": every[step], "colour": colour_of(row["gpu_config"])})
    context = {"posted": posted, "shown": shown, "step": step, "steps": range(steps)}
    return _render(request, run, "timeline", context)


@page()
def log(request: HttpRequest, run_id: str) -> HttpResponse:
    run = _run(run_id)
    sims = list(run.sims.all())
    sim = next((candidate for candidate in sims if candidate.id == request.GET.get("sim")), sims[0] if sims else None)
    if sim is None:
        raise Http404
    start = max(0, sim.log_bytes - LOG_TAIL_BYTES)
    text = b"".join(read_log(sim, sim.attempt, start, sim.log_bytes))
    if start:
        # The tail begins in the middle of a line, perhaps of a character: it is shown from its first whole line.
        cut = text.find(b"\n") + 1
        start, text = start + cut, text[cut:]
    context = {"sim": sim, "start": start, "end": sim.log_bytes, "text": text.decode("utf-8", "replace")}
    return _render(request, run, "log", context)


@page()
def files(request: HttpRequest, run_id: str) -> HttpResponse:
    run = _run(run_id)
    return _render(request, run, "files", {"files": files_of(run)})


@page()
def config(request: HttpRequest, run_id: str) -> HttpResponse:
    run = _run(run_id)
    sims = list(Sim.objects.filter(run=run).order_by("position"))
    every = request.GET.get("view") == "all"
    configs = [sim.config for sim in sims]
    differing = differing_names(configs)
    rows = [
        {"name": name, "values": [value_of(config, name) for config in configs], "differs": name in differing}
        for name in value_names(configs)
        if every or len(sims) == 1 or name in differing
    ]
    return _render(
        request, run, "config", {"rows": rows, "every": every, "config_sims": sims, "request_body": run.request}
    )


@page()
def events(request: HttpRequest, run_id: str) -> HttpResponse:
    run = _run(run_id)
    found = Event.objects.filter(channel=channel_of(run.id), eid__gt=0).exclude(type__in=["log", "kernel"])
    rows = [_event_row(event) for event in found.order_by("-eid")[:EVENTS_SHOWN]]
    return _render(request, run, "events", {"rows": rows, "shown": EVENTS_SHOWN})


def _event_row(event: Any) -> dict[str, Any]:
    data = json.loads(event.data)
    return {
        "id": event.eid,
        "at": event.created,
        "type": event.type,
        "of": data.get("gpu_config") or data.get("sim_id") or data.get("id"),
        "status": data.get("status"),
        "attempt": data.get("attempt"),
        "worker": data.get("worker"),
        "detail": data.get("detail") or data.get("name"),
    }


@page("POST")
def cancel(request: HttpRequest, run_id: str) -> HttpResponse:
    run = _run(run_id)
    run.cancel()
    messages.success(request, "Cancel was asked for. A sim that is running ends as soon as its runner hears of it.")
    return redirect(f"/runs/{run.id}")
