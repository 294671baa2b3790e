"""The stacked timelines of a comparison: the real run and every side, launch by launch, as numbers for the browser."""

from math import isfinite
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse

from cascade_site.pages import page
from runs.grouping import group_codes
from runs.pages.compared import Comparison, Side, comparison_of, sims_of
from traces.models import TraceKernel
from traces.spellings import spelling

MOST_BARS = 400_000
"""What a browser draws without a pause; of longer comparisons the first launches are shown."""


@page()
def lanes(request: HttpRequest) -> HttpResponse:
    sims = sims_of(request)
    if not sims:
        raise Http404
    return JsonResponse(stacked(comparison_of(request, sims)))


def stacked(compared: Comparison) -> dict[str, Any]:
    """``index`` and ``name`` of each launch that a side of the baseline's trace has, ``names`` as [short, whole], and
    ``lanes``: the real run, where its times are known, then the sides; ``ns`` holds null where there is no time.
    """
    trace_id = compared.baseline.times.trace_id
    sides = [side for side in compared.sides if side.times.trace_id == trace_id]
    every = sorted(set().union(*(side.times.by_index for side in sides)))
    indexes = every[: MOST_BARS // (len(sides) + 1)]
    names, real_ns = dict(compared.names), {}
    for index, name, time_ns in TraceKernel.objects.filter(trace=trace_id).values_list("index", "name", "real_ns"):
        names[index], real_ns[index] = name, time_ns
    distinct, codes = group_codes([names.get(index, "") for index in indexes])
    real = [real_ns.get(index) for index in indexes]
    known = [{"label": "real", "ns": real}] if any(time_ns is not None for time_ns in real) else []
    return {
        "index": indexes,
        "name": codes.tolist(),
        "names": [spelling(name) for name in distinct],
        "lanes": [*known, *(_lane(side, indexes, compared) for side in sides)],
        "left_out": len(every) - len(indexes),
    }


def _lane(side: Side, indexes: list[int], compared: Comparison) -> dict[str, Any]:
    times_ns = (side.times.by_index.get(index) for index in indexes)
    return {
        "label": side.label,
        "sim_id": side.sim.id,
        "colour": side.colour,
        "is_baseline": side is compared.baseline,
        # A hundredth of a nanosecond is finer than any clock here, and the digits behind it are most of the answer.
        "ns": [round(time_ns, 2) if time_ns is not None and isfinite(time_ns) else None for time_ns in times_ns],
    }
