"""The pages of sims and of the GPU configs."""

import heapq
from collections.abc import Iterator
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.html import format_html
from django.utils.safestring import SafeString

from cascade_site.cells import NOTHING
from cascade_site.charts.roofline import MOST_POINTS, KernelPoint, roofline_chart
from cascade_site.charts.stack import stack_chart
from cascade_site.colours import colours_by_config
from cascade_site.fields import storable_text
from cascade_site.pages import page
from cascade_site.tables import Column, Table
from sims.gpus import spec_from_dict
from sims.limiters import PLACES, Spent
from sims.models import GpuConfig, Sim
from sims.models.gpu_config import Origin
from sims.shown import differing_names, value_names, value_of
from sims.simulators.registry import simulators_for
from traces.spellings import MOST_NAMES, spellings
from traces.times.names import demangled

KERNEL_COLUMNS = [
    Column("index", "#", "number"),
    Column("name", "Name", "name"),
    Column("simulated_ns", "Time", "duration", help="Without the launch latency"),
    Column("share", "Of all", "percent"),
    Column("limiter", "Limited by", "words"),
    Column("cycles", "Cycles", "number", help="As the simulator reports them, launch latency included"),
    Column("instructions", "Thread instructions", "si"),
    Column("ipc", "IPC", "si", help="Thread instructions per cycle over the whole GPU"),
    Column("occupancy", "Occupancy", "percent", help="Resident warps, of the SMs' slots"),
    Column("l1_hit_rate", "L1 hits", "percent"),
    Column("l2_hit_rate", "L2 hits", "percent"),
    Column("dram_bytes", "DRAM", "size"),
    Column("source", "Source"),
]


def _remarks_cell(row: dict[str, Any]) -> SafeString:
    """How many there are; the config's page and the exports have their text."""
    count = len(row["warnings"])
    return format_html('<a href="{}">{}</a>', row["href"], count) if count else NOTHING


CONFIG_COLUMNS = [
    Column("id", "Config", "link"),
    Column("name", "GPU"),
    Column("architecture", "Architecture"),
    Column("binary_version", "SASS", "number"),
    Column("sms", "SMs", "number"),
    Column("core_clock_mhz", "Core clock", "number", unit="MHz"),
    Column(
        "memory_bandwidth_gbs",
        "Bandwidth",
        "number",
        unit="GB/s",
        show=lambda row: f"{row['memory_bandwidth_gbs']:,.0f}",
    ),
    Column("l2_bytes", "L2", "size"),
    Column("simulators", "Simulators here"),
    Column("origin", "From"),
    Column("remark", "Remarks", "words", show=_remarks_cell),
]


@page()
def sim_detail(request: HttpRequest, sim_id: str) -> HttpResponse:
    sim = get_object_or_404(Sim.everything.select_related("run", "run__trace"), pk=sim_id)
    fields = [column.key for column in KERNEL_COLUMNS if column.key != "share"]
    rows = list(sim.kernels.order_by("index").values(*fields))
    total = sum(row["simulated_ns"] or 0 for row in rows)
    for row in rows:
        row["share"] = row["simulated_ns"] / total if total and row["simulated_ns"] is not None else None

    def dress(row: dict[str, Any]) -> dict[str, Any]:
        return {"href": f"/sims/{sim.id}/kernels/{row['index']}", "anchor": f"k{row['index']}"}

    table = Table(request, KERNEL_COLUMNS, rows, title=f"{sim.id}-kernels", dress=dress)
    spent = Spent(sim.spent)
    context = {
        "section": "runs",
        "sim": sim,
        "run": sim.run,
        "against": against_real(sim, sim.error),
        "colours": colours_by_config(sim.run.sims.values_list("gpu_config", flat=True)),
        "table": table,
        "live": not sim.has_ended,
        "names": {} if sim.has_ended else spellings(_traced_names(sim)),
        "shards": list(sim.shards),
        "roofline": _roofline(sim, rows, total),
        "spent": spent if sim.spent else None,
        "stack": stack_chart("Where the cycles went", PLACES, [(sim.gpu_config, spent.cycles)]),
    }
    return table.export() or render(request, "sims/detail.html", context)


def _traced_names(sim: Sim) -> Iterator[str]:
    names = sim.run.trace.kernels.order_by("name").values_list("name", flat=True).distinct()
    return names.iterator(chunk_size=MOST_NAMES)


def against_real(sim: Sim, error: float | None) -> dict[str, Any]:
    """How far a simulated time is off the real one; on another GPU than the real one's, how much faster it is."""
    gpu = sim.run.trace.gpu
    elsewhere = sim.is_of_other_gpu
    speedup = 1 / (1 + error) if elsewhere and error is not None and error > -1 else None
    return {"error": None if elsewhere else error, "speedup": speedup, "gpu": gpu}


def _roofline(sim: Sim, rows: list[dict[str, Any]], total_ns: float) -> Any:
    known = (row for row in rows if row["instructions"] and row["dram_bytes"] and row["simulated_ns"])
    # Only what is drawn is worth the reading of its name.
    longest = heapq.nlargest(MOST_POINTS, known, key=lambda row: row["simulated_ns"])
    points = [
        KernelPoint(
            row["index"],
            demangled(row["name"]),
            row["instructions"],
            row["dram_bytes"],
            row["simulated_ns"],
            f"/sims/{sim.id}/kernels/{row['index']}",
        )
        for row in longest
    ]
    return roofline_chart(spec_from_dict(sim.config), points, total_ns)


@page()
def gpu_configs(request: HttpRequest) -> HttpResponse:
    unreadable = GpuConfig.objects.follow_folders()
    rows = []
    for config in GpuConfig.objects.all():
        row = config.facts()
        row["simulators"] = ", ".join(simulators_for(config.as_spec)) or "none"
        row["remark"] = " ".join(row["warnings"])
        row["href"] = f"/gpu-configs/{config.id}"
        rows.append(row)
    table = Table(request, CONFIG_COLUMNS, rows, search=("id", "name", "architecture"), title="gpu-configs")
    context = {"section": "gpu-configs", "table": table, "unreadable": unreadable}
    return table.export() or render(request, "sims/gpu_configs.html", context)


@page()
def gpu_config(request: HttpRequest, config_id: str) -> HttpResponse:
    unreadable = GpuConfig.objects.follow_folders()
    config = get_object_or_404(GpuConfig, pk=config_id)
    other = GpuConfig.objects.filter(pk=storable_text(request.GET.get("against", ""))).first()
    context: dict[str, Any] = {
        "section": "gpu-configs",
        "config": config,
        "unreadable": unreadable.get(config.id) if config.origin == Origin.ACCELSIM else None,
        "facts": config.facts(),
        "others": GpuConfig.objects.exclude(pk=config.pk),
        "other": other,
        "rows": _config_rows(config, other),
    }
    return render(request, "sims/gpu_config.html", context)


def _config_rows(config: GpuConfig, other: GpuConfig | None) -> list[dict[str, Any]]:
    """Every value with its source; against another config only the values that differ."""
    sources = config.as_spec.sources
    configs = [config.spec] + ([other.spec] if other else [])
    differing = differing_names(configs)
    return [
        {
            "name": name,
            "value": value_of(config.spec, name),
            "other": value_of(other.spec, name) if other else None,
            "source": sources.get(name.partition(".")[0], ""),
        }
        for name in value_names(configs)
        if other is None or name in differing
    ]
