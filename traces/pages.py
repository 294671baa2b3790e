"""The pages of traces: list, one trace, upload."""

from pathlib import PurePosixPath
from typing import Any, BinaryIO, cast

import numpy as np
from django.contrib import messages
from django.db.models import Count, Min
from django.db.models.functions import Abs
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.html import format_html
from django.utils.safestring import SafeString
from numpy.typing import NDArray

from cascade_site.pages import page
from cascade_site.tables import Column, Table
from runs.grouping import group_codes, spreads
from runs.models import Run
from runs.samples import sample_trace
from traces.models import Trace, TraceStatus

LIST_COLUMNS = [
    Column("id", "Trace", "link"),
    Column("status", "State", "state"),
    Column("workload", "Workload"),
    Column("gpu", "Captured on"),
    Column("kernels_total", "Kernels", "number"),
    Column("real_ns", "Real time", "duration", help="Sum over its kernels where known, launch gaps left out"),
    Column("size_bytes", "Size", "size"),
    Column("runs_total", "Runs", "number", show=lambda row: _runs_cell(row)),
    Column("best_error", "Best error", "percent", help="The smallest that any of its runs came to, either way"),
    Column("created_at", "Added", "when"),
    Column("new_run", "Simulate", sorts=False, export_as=None, show=lambda row: _new_run_cell(row)),
]

KERNEL_COLUMNS = [
    Column("index", "#", "number"),
    Column("name", "Name", "name"),
    Column("grid", "Grid", "dim3"),
    Column("block", "Block", "dim3"),
    Column("shared_memory_bytes", "Shared memory", "size", help="Static and dynamic, per CTA"),
    Column("registers_per_thread", "Registers", "number", help="Per thread"),
    Column("stream", "Stream"),
    Column("instructions", "Warp instructions", "si"),
    Column("real_ns", "Real time", "duration"),
    Column("share", "Time", "percent"),
    Column("identical_to", "Same as #", "number", help="The first kernel with the same content"),
]

GROUP_COLUMNS = [
    Column("share", "Time", "percent"),
    Column("total_ns", "Total", "duration"),
    Column("instances", "Instances", "number"),
    Column("avg_ns", "Avg", "duration"),
    Column("med_ns", "Med", "duration"),
    Column("min_ns", "Min", "duration"),
    Column("max_ns", "Max", "duration"),
    Column("stddev_ns", "StdDev", "duration"),
    Column("instructions", "Warp instructions", "si"),
    Column("name", "Name", "name"),
]


STEP_COLUMNS = [
    Column("step", "Step", "number"),
    Column("phase", "Phase"),
    Column("kernels", "Kernels", "number"),
    Column("busy_ns", "Kernel time", "duration", help="Summed over its kernels"),
    Column("span_ns", "Step time", "duration", help="From the first kernel's start to the last one's end"),
    Column("idle", "Idle", "percent", help="Of the step, without a kernel; nothing where streams overlap"),
]

KERNEL_FIELDS = (
    *(column.key for column in KERNEL_COLUMNS if column.key != "share"),
    "start_ns",
    "step",
    "phase",
)


@page("GET", "HEAD", "POST")
def trace_list(request: HttpRequest) -> HttpResponse:
    if request.method == "POST":
        # The trace that ships with Cascade, for a first look: as if its archive had been uploaded.
        return redirect(f"/traces/{sample_trace().id}") if "sample" in request.POST else _upload(request)
    runs = _runs_by_trace()
    rows = [_list_row(trace, runs.get(trace.pk, {})) for trace in Trace.objects.newest_first()]
    table = Table(request, LIST_COLUMNS, rows, search=("id", "workload", "gpu", "status"), title="traces")
    context = {"section": "traces", "table": table}
    return table.export() or render(request, "traces/list.html", context)


def _runs_by_trace() -> dict[str, dict[str, Any]]:
    """How many runs were made of each trace, and the smallest error that any of them came to; in one query."""
    found = Run.objects.order_by().values("trace_id").annotate(n=Count("*"), best=Min(Abs("error")))
    return {row["trace_id"]: {"runs_total": row["n"], "best_error": row["best"]} for row in found}


def _list_row(trace: Trace, runs: dict[str, Any]) -> dict[str, Any]:
    fields = ("id", "status", "workload", "gpu", "kernels_total", "real_ns", "size_bytes", "created_at")
    row = {field: getattr(trace, field) for field in fields}
    return row | {"runs_total": 0, "best_error": None, **runs, "href": f"/traces/{trace.id}"}


def _runs_cell(row: dict[str, Any]) -> SafeString:
    return format_html('<a href="/runs?trace={}">{}</a>', row["id"], row["runs_total"])


def _new_run_cell(row: dict[str, Any]) -> SafeString | str:
    ready = row["status"] == TraceStatus.READY
    return format_html('<a class="nowrap" href="/runs/new?trace={}">New run</a>', row["id"]) if ready else ""


def _upload(request: HttpRequest) -> HttpResponse:
    """The form's way in, for browsers without JavaScript: the same function as ``POST /api/traces``."""
    from traces.ingest import IngestError, ingest_upload

    upload = request.FILES.get("file")
    if upload is None:
        messages.error(request, "Choose an archive first.", extra_tags="bad")
        return redirect("/traces")
    try:
        trace = ingest_upload(upload, request.POST.get("name", "").strip() or None)
    except IngestError as error:
        messages.error(request, str(error), extra_tags="bad")
        return redirect("/traces")
    return redirect(f"/traces/{trace.id}")


@page()
def trace_detail(request: HttpRequest, trace_id: str) -> HttpResponse:
    trace = get_object_or_404(Trace, pk=trace_id)
    grouped = request.GET.get("view") == "names"
    fold = request.GET.get("fold") == "1" and not grouped
    kernels = list(trace.kernels.order_by("index").values(*KERNEL_FIELDS))
    if grouped:
        table = Table(request, GROUP_COLUMNS, _groups(kernels), sort="-total_ns", title=f"{trace.id}-names")
    else:
        shown = [kernel for kernel in kernels if not (fold and kernel["identical_to"])]
        table = Table(request, KERNEL_COLUMNS, _kernel_rows(shown, trace.real_ns), title=f"{trace.id}-kernels")
    context: dict[str, Any] = {
        "section": "traces",
        "trace": trace,
        "table": table,
        "grouped": grouped,
        "fold": fold,
        "counted": any(kernel["instructions"] is not None for kernel in kernels),
        "identical": sum(1 for kernel in kernels if kernel["identical_to"]),
        "steps": Table(request, STEP_COLUMNS, _steps(kernels), name="steps", title=f"{trace.id}-steps", page_rows=20),
        "provenance": sorted(trace.metadata.items()),
        "runs": trace.runs.newest_first().with_sims()[:20],
    }
    export = context["steps"].export() or table.export()
    return export or render(request, "traces/detail.html", context)


def _kernel_rows(kernels: list[dict[str, Any]], real_ns: int | None) -> list[dict[str, Any]]:
    return [
        kernel
        | {
            "stream": int(kernel["stream"]),
            "share": kernel["real_ns"] / real_ns if real_ns and kernel["real_ns"] is not None else None,
            "anchor": f"k{kernel['index']}",
            "css_class": "folded" if kernel["identical_to"] is not None else "",
        }
        for kernel in kernels
    ]


def _times(kernels: list[dict[str, Any]]) -> NDArray[np.float64]:
    """Real times in ns, NaN where none is known."""
    return np.array([np.nan if kernel["real_ns"] is None else kernel["real_ns"] for kernel in kernels], dtype=float)


def _groups(kernels: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Kernels of one name together, in the columns of ``nsys stats``' kernel summary."""
    names, codes = group_codes([kernel["name"] for kernel in kernels])
    rows = spreads(codes, len(names), _times(kernels))
    instructions = np.bincount(codes, [kernel["instructions"] or 0 for kernel in kernels], minlength=len(names))
    instances = np.bincount(codes, minlength=len(names))
    total = sum(row["total_ns"] or 0 for row in rows)
    return [
        row
        | {
            "name": name,
            "instances": int(instances[place]),
            "instructions": int(instructions[place]) or None,
            "share": row["total_ns"] / total if total and row["total_ns"] else None,
        }
        for place, (name, row) in enumerate(zip(names, rows, strict=True))
    ]


def _steps(kernels: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The real run's steps: kernels, their summed time, and the span from the first one's start to the last one's end."""
    steps: dict[int, list[dict[str, Any]]] = {}
    for kernel in kernels:
        if kernel["step"] is not None:
            steps.setdefault(kernel["step"], []).append(kernel)
    return [_step(step, of) for step, of in sorted(steps.items())]


def _step(step: int, kernels: list[dict[str, Any]]) -> dict[str, Any]:
    timed = [kernel for kernel in kernels if kernel["start_ns"] is not None and kernel["real_ns"] is not None]
    busy_ns = sum(kernel["real_ns"] or 0 for kernel in kernels)
    ends = [kernel["start_ns"] + kernel["real_ns"] for kernel in timed]
    span_ns = max(ends) - min(kernel["start_ns"] for kernel in timed) if timed else None
    return {
        "step": step,
        "phase": kernels[0]["phase"],
        "kernels": len(kernels),
        "busy_ns": busy_ns,
        "span_ns": span_ns,
        # Streams may overlap: then more is done than time passes, and nothing is idle for certain.
        "idle": max(0.0, 1 - busy_ns / span_ns) if span_ns else None,
    }


@page("POST")
def trace_times(request: HttpRequest, trace_id: str) -> HttpResponse:
    """Real times from a profiler's file: what ``PATCH /api/traces/{trace_id}`` does, for a form."""
    from traces.real_times import set_times
    from traces.times import TimesError, read_times

    trace = get_object_or_404(Trace, pk=trace_id)
    upload = request.FILES.get("times")
    if upload is None or upload.file is None:
        messages.error(request, "Choose a file first.", extra_tags="bad")
        return redirect(f"/traces/{trace.id}#times")
    name = PurePosixPath(upload.name or "times").name
    try:
        set_times(trace, read_times(cast(BinaryIO, upload.file), name), name)
    except TimesError as error:
        messages.error(request, f"The times stayed as they were. {error}", extra_tags="bad")
    else:
        messages.success(request, f"Real times were read from {name}.", extra_tags="good")
    return redirect(f"/traces/{trace.id}#times")
