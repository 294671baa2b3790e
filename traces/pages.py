"""The pages of traces: list, one trace, upload."""

from pathlib import PurePosixPath
from typing import Any, BinaryIO, cast

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from cascade_site.pages import page
from cascade_site.tables import Column, Table
from traces.models import Trace, TraceKernel

LIST_COLUMNS = [
    Column("id", "Trace", "link"),
    Column("status", "State", "state"),
    Column("workload", "Workload"),
    Column("gpu", "Captured on"),
    Column("kernels_total", "Kernels", "number"),
    Column("real_ns", "Real time", "duration", help="Sum over its kernels where known, launch gaps left out"),
    Column("size_bytes", "Size", "size"),
    Column("runs_total", "Runs", "number"),
    Column("created_at", "Added", "when"),
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


@page("GET", "HEAD", "POST")
def trace_list(request: HttpRequest) -> HttpResponse:
    if request.method == "POST":
        return _upload(request)
    rows = [_list_row(trace) for trace in Trace.objects.newest_first().with_run_counts()]
    table = Table(request, LIST_COLUMNS, rows, search=("id", "workload", "gpu", "status"), title="traces")
    context = {"section": "traces", "table": table}
    return table.export() or render(request, "traces/list.html", context)


def _list_row(trace: Any) -> dict[str, Any]:
    return {column.key: getattr(trace, column.key) for column in LIST_COLUMNS} | {"href": f"/traces/{trace.id}"}


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
    kernels = list(trace.kernels.order_by("index"))
    if grouped:
        table = Table(request, GROUP_COLUMNS, _groups(kernels), sort="-total_ns", title=f"{trace.id}-names")
    else:
        shown = [kernel for kernel in kernels if not (fold and kernel.identical_to)]
        table = Table(request, KERNEL_COLUMNS, _kernel_rows(shown, trace.real_ns), title=f"{trace.id}-kernels")
    context = {
        "section": "traces",
        "trace": trace,
        "table": table,
        "grouped": grouped,
        "fold": fold,
        "identical": sum(1 for kernel in kernels if kernel.identical_to),
        "runs": trace.runs.newest_first().with_sims()[:20],
    }
    return table.export() or render(request, "traces/detail.html", context)


def _kernel_rows(kernels: list[TraceKernel], real_ns: int | None) -> list[dict[str, Any]]:
    keys = [column.key for column in KERNEL_COLUMNS if column.key != "share"]
    return [
        {key: getattr(kernel, key) for key in keys}
        | {
            "stream": int(kernel.stream),
            "share": kernel.real_ns / real_ns if real_ns and kernel.real_ns is not None else None,
            "anchor": f"k{kernel.index}",
            "css_class": "folded" if kernel.identical_to is not None else "",
        }
        for kernel in kernels
    ]


def _groups(kernels: list[TraceKernel]) -> list[dict[str, Any]]:
    """Kernels of one name together, in the columns of ``nsys stats``' kernel summary."""
    import numpy as np

    from runs.grouping import group_codes, spreads

    names, codes = group_codes([kernel.name for kernel in kernels])
    times = np.array([np.nan if kernel.real_ns is None else kernel.real_ns for kernel in kernels], dtype=float)
    rows = spreads(codes, len(names), times)
    instructions = np.bincount(codes, [kernel.instructions or 0 for kernel in kernels], minlength=len(names))
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
