"""The list of runs: filtered, sorted and paged by the address, with each trace's baseline on top."""

from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.http import url_has_allowed_host_and_scheme

from cascade_site.fields import storable_text
from cascade_site.pages import page
from cascade_site.tablerows import Row
from cascade_site.tables import Column, Table
from runs.baseline import error_delta, time_delta
from runs.models import ENDED, Run, RunStatus
from runs.pages import run_cells as cells
from runs.pages.rows import RunRows, row_of

PAGE_ROWS = 50
MOST_PINNED = 20
MOST_CANCELLED = 200
FILTERS = ("trace", "simulator")


def _columns(against_baseline: bool) -> list[Column]:
    return [
        Column("name", "Run", show=cells.run),
        Column("id", "Id", shown=False),
        Column("trace_id", "Trace", show=cells.trace),
        Column("status", "State", show=cells.status),
        Column("progress", "Progress", sorts=False, export_as=None, show=cells.progress),
        Column("configs", "Configs: simulated time", show=cells.configs),
        Column(
            "time_delta", "Time vs baseline", "number", sorts=False, export_as=None, shown=against_baseline,
            show=cells.time_delta, help="Over the configs that both simulated",
        ),
        Column("fastest_ns", "Fastest", "duration", shown=False, help="Simulated time on the fastest config"),
        Column("error", "Error", "error", help="Of the step, on the config of the GPU that the real times are of"),
        Column(
            "error_delta", "Error vs baseline", "number", sorts=False, export_as=None, shown=against_baseline,
            show=cells.error_delta, help="In percentage points",
        ),
        Column("mape", "MAPE", "percent", help="Mean absolute error over the kernels of that config"),
        Column("geomean_ratio", "Geomean", "ratio", shown=False, help="Geometric mean of simulated over real, of its kernels"),
        Column("wall_s", "Took", "wall", show=cells.took, help="Wall time"),
        Column("instructions_per_s", "Speed", "si", unit="instr/s", help="Thread instructions per wall second of a sim"),
        Column("slowdown", "Slowdown", "si", unit="×", shown=False, help="Wall time over the GPU time simulated"),
        Column("simulator", "Simulator", shown=False),
        Column("created_at", "Created", "when", shown=False),
        Column("started_at", "Started", "when"),
        Column("finished_at", "Ended", "when", shown=False),
    ]  # fmt: skip


@page()
def run_list(request: HttpRequest) -> HttpResponse:
    status = request.GET.get("status", "")
    status = status if status in RunStatus.values else ""
    given = {name: storable_text(request.GET[name]) for name in FILTERS if request.GET.get(name)}
    runs = Run.objects.filter(**{{"trace": "trace_id"}.get(name, name): value for name, value in given.items()})
    table = Table(
        request,
        _columns(runs.filter(is_baseline=True).exists()),
        RunRows(runs, status),
        title="runs",
        page_rows=PAGE_ROWS,
        select="run",
        export_also=("id", "name"),
    )
    if (export := table.export()) is not None:
        return export
    _hold_against_baselines(table)
    counts = table.filtered.counts  # type: ignore[attr-defined] # rows of runs stay such when they are filtered
    context = {
        "section": "runs",
        "table": table,
        "chips": list(counts.items()),
        "status": status,
        "filters": [(name, value, table.href(**{name: None, "page": None})) for name, value in given.items()],
        "any_run": any(counts.values()) or Run.objects.exists(),
        "live": "1" if any(row["status"] not in ENDED for row in table.shown) else "0",
    }
    return render(request, "runs/list.html", context)


def _hold_against_baselines(table: Table) -> None:
    """Pin the baselines of the traces that the page shows, and give each row its differences from its own."""
    traces = {row["trace_id"] for row in table.shown}
    found = Run.objects.filter(is_baseline=True, trace__in=traces).newest_first().with_sims()
    baselines = {run.trace_id: run for run in found}
    for row in table.shown:
        row |= _deltas(row["run"], baselines.get(row["trace_id"]))
    table.pinned = [row_of(run) | {"css_class": "pinned"} for run in list(baselines.values())[:MOST_PINNED]]


def _deltas(run: Run, baseline: Run | None) -> Row:
    if baseline is None or baseline.pk == run.pk:
        return {}
    return {"time_delta": time_delta(run, baseline), "error_delta": error_delta(run, baseline)}


@page("POST")
def selected(request: HttpRequest) -> HttpResponse:
    """What the list's buttons do with the selected runs: compare them, or cancel each as the API would."""
    chosen = [storable_text(run_id) for run_id in request.POST.getlist("run")]
    if request.POST.get("do") != "cancel":
        return redirect("/compare?" + urlencode([("run", run_id) for run_id in chosen]))
    going = list(Run.objects.filter(pk__in=chosen[:MOST_CANCELLED]).exclude(status__in=ENDED))
    for run in going:
        run.cancel(by="page")
    messages.success(request, f"Cancel was asked for {len(going)} of {len(chosen)} selected; the others had ended.")
    back = request.POST.get("next", "")
    return redirect(back if url_has_allowed_host_and_scheme(back, allowed_hosts=None) else "/runs")
