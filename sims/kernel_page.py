"""The page of one simulated kernel, alone or beside the same launch in other sims."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.html import format_html
from django.utils.safestring import SafeString

from cascade_site.charts.stack import stack_chart
from cascade_site.colours import colours_of
from cascade_site.fields import storable_text
from cascade_site.pages import page
from cascade_site.tables import Column, Table
from sims.limiters import PLACES, Spent, cycles_by_place
from sims.models import Sim, SimKernel
from sims.pages import against_real

MOST_BESIDE = 11


@dataclass(frozen=True, slots=True)
class Side:
    """One sim's result for the launch."""

    kernel: SimKernel
    label: str
    colour: int
    stats: dict[str, float]
    delta: float | None
    """Its time against the page's own sim."""

    @property
    def href(self) -> str:
        return f"/sims/{self.kernel.sim_id}/kernels/{self.kernel.index}"

    @property
    def spent(self) -> Spent | None:
        cycles = cycles_by_place(self.stats)
        return Spent(cycles) if cycles else None


@page()
def kernel_detail(request: HttpRequest, sim_id: str, index: int) -> HttpResponse:
    kernel = SimKernel.objects.select_related("sim", "sim__run__trace").filter(sim_id=sim_id, index=index).first()
    if kernel is None:
        raise Http404
    wanted = list(dict.fromkeys(map(storable_text, request.GET.getlist("with"))))
    beside = _beside(kernel, wanted)
    sides = _sides([kernel, *beside[:MOST_BESIDE]])
    only_differing = request.GET.get("values") == "differing"
    table = _table(request, sides, only_differing)
    real = kernel.sim.run.trace.kernels.filter(index=index).first()
    real_ns = real.real_ns if real else None
    error = kernel.simulated_ns / real_ns - 1 if real_ns and kernel.simulated_ns is not None else None
    siblings = kernel.sim.run.sims.exclude(pk=sim_id).count()
    context = {
        "section": "runs",
        "kernel": kernel,
        "sim": kernel.sim,
        "real": real,
        "against": against_real(kernel.sim, error),
        "sides": sides,
        "others": sides[1:],
        "left_out": len(beside[MOST_BESIDE:]),
        "can_be_beside": siblings if len(sides) == 1 else 0,
        "only_differing": only_differing,
        "stack": stack_chart(
            "Where its cycles went", PLACES, [(side.label, cycles_by_place(side.stats)) for side in sides]
        ),
        "table": table,
        "earlier": _neighbour(kernel, wanted, -1),
        "later": _neighbour(kernel, wanted, 1),
    }
    return table.export() or render(request, "sims/kernel.html", context)


def _beside(kernel: SimKernel, wanted: list[str]) -> list[SimKernel]:
    """The same launch in the sims that ``?with=`` names, or in those of the runs that it names."""
    trace = kernel.sim.run.trace_id
    sims = Sim.objects.filter(Q(pk__in=wanted) | Q(run__in=wanted), run__trace=trace).exclude(pk=kernel.sim_id)
    found = SimKernel.objects.filter(sim__in=sims, index=kernel.index).select_related("sim", "sim__run")

    def place(other: SimKernel) -> tuple[int, int]:
        named = other.sim_id if other.sim_id in wanted else other.sim.run_id
        return wanted.index(named), other.sim.position

    return sorted(found, key=place)


def _sides(kernels: list[SimKernel]) -> list[Side]:
    several = len({kernel.sim.run_id for kernel in kernels}) > 1
    colours = colours_of([kernel.sim.gpu_config for kernel in kernels])
    own_ns = kernels[0].simulated_ns

    def delta(kernel: SimKernel) -> float | None:
        if kernel is kernels[0] or not own_ns or kernel.simulated_ns is None:
            return None
        return kernel.simulated_ns / own_ns - 1

    return [
        Side(
            kernel,
            f"{kernel.sim.gpu_config} · {kernel.sim.run.name or kernel.sim.run_id}"
            if several
            else kernel.sim.gpu_config,
            colour,
            kernel.stats,
            delta(kernel),
        )
        for kernel, colour in zip(kernels, colours, strict=True)
    ]


def _table(request: HttpRequest, sides: list[Side], only_differing: bool) -> Table:
    first, others = sides[0], sides[1:]
    columns = [Column("name", "Statistic", "words", show=_statistic)]
    if others:
        columns.append(Column("value", first.label, "number", colour=first.colour, export_as=first.label))
    else:
        columns.append(Column("value", "Value", "number"))
    for place, side in enumerate(others):
        columns.append(Column(f"value{place}", side.label, "number", colour=side.colour, export_as=side.label))
        columns.append(
            Column(
                f"change{place}",
                "Difference",
                "change",
                help=f"{side.label} against {first.label}",
                export_as=f"{side.label} difference",
            )
        )
    rows = []
    for name in sorted({name for side in sides for name in side.stats}):
        values = [side.stats.get(name) for side in sides]
        if only_differing and len(set(values)) == 1:
            continue
        row: dict[str, Any] = {"name": name, "value": values[0]}
        for place, value in enumerate(values[1:]):
            row[f"value{place}"] = value
            row[f"change{place}"] = value / values[0] - 1 if value is not None and values[0] else None
        rows.append(row)
    return Table(request, columns, rows, title=f"{first.kernel.sim_id}-kernel-{first.kernel.index}", page_rows=500)


def _statistic(row: dict[str, Any]) -> SafeString:
    """In full: the names differ at their ends."""
    return format_html('<span class="mono">{}</span>', row["name"])


def _neighbour(kernel: SimKernel, wanted: list[str], direction: int) -> str | None:
    """The address of the sim's previous or next kernel, with the same sims beside it."""
    kernels = SimKernel.objects.filter(sim=kernel.sim_id).values_list("index", flat=True)
    if direction < 0:
        index = kernels.filter(index__lt=kernel.index).order_by("-index").first()
    else:
        index = kernels.filter(index__gt=kernel.index).order_by("index").first()
    query = urlencode([("with", one) for one in wanted])
    return None if index is None else f"/sims/{kernel.sim_id}/kernels/{index}" + (f"?{query}" if query else "")
