"""Simulated against real times: how well they agree, and the kernels for which they do not."""

import json
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pyarrow as pa
from django.http import HttpRequest, HttpResponse
from numpy.typing import NDArray

from cascade_site.charts.scatter import Series, scatter_chart
from cascade_site.formats import duration, signed_percent
from cascade_site.pages import page
from runs import bodies
from runs.columns import kernel_columns
from runs.comparison import REAL
from runs.models import Run
from runs.pages.frame import configs_elsewhere, render_tab, run_of
from runs.reading import overview_json_of
from traces.spellings import spellings
from traces.times.names import demangled

FURTHEST_OFF = 20


@page()
def correlation(request: HttpRequest, run_id: str) -> HttpResponse:
    run = run_of(run_id)
    configs = [sim.gpu_config for sim in run.sims.all()]
    overview = json.loads(bodies.whole(run, "overview", overview_json_of))
    by_name = request.GET.get("view") == "names"
    linear = request.GET.get("scale") == "linear"
    columns = _names(overview["groups"], configs) if by_name else kernel_columns(run, REAL)
    elsewhere = configs_elsewhere(run)
    compared = [place for place, config in enumerate(configs) if config not in elsewhere]
    series = [_series(run, columns, place, config, run.colours[config]) for place, config in enumerate(configs)]
    context = {
        "chart": scatter_chart(series, logarithmic=not linear),
        "summary": overview["summary"],
        "excluded": columns["real_ns"].null_count,
        "worst": _furthest_off(run, columns, configs, compared),
        "configs": list(run.colours.items()),
        "elsewhere": elsewhere,
        "names": spellings(columns["name"].unique().drop_null().to_pylist()),
        "by_name": by_name,
        "linear": linear,
    }
    return render_tab(request, run, "correlation", context)


def _names(groups: list[dict[str, Any]], configs: list[str]) -> pa.Table:
    """Kernels of one name as if they were one: the columns of ``kernel_columns`` that this page reads."""
    real = [group["real"]["total_ns"] for group in groups]
    columns = {
        "index": pa.nulls(len(groups), pa.int64()),
        "name": pa.array([group["name"] for group in groups], pa.string()),
        "real_ns": pa.array(real, pa.float64()),
    }
    for place, config in enumerate(configs):
        errors = [group["configs"].get(config, {}).get("error") for group in groups]
        # Of the kernels that have both times, whichever others there are.
        times = [None if ns is None or off is None else ns * (1 + off) for ns, off in zip(real, errors, strict=True)]
        columns[f"ns{place}"], columns[f"error{place}"] = (pa.array(values, pa.float64()) for values in (times, errors))
    return pa.table(columns)


def _row_href(run: Run, index: int | None, name: str) -> str:
    """Where the kernels tab has a kernel, or those of a name."""
    if index is None:
        return f"/runs/{run.id}/kernels?" + urlencode({"view": "names", "q": name})
    return f"/runs/{run.id}/kernels?index={index}#k{index}"


def _floats(columns: pa.Table, name: str) -> NDArray[np.float64]:
    """NaN where there is no value."""
    return columns[name].to_numpy().astype(np.float64)


def _series(run: Run, columns: pa.Table, place: int, config: str, colour: int) -> Series:
    real_ns, simulated_ns = _floats(columns, "real_ns"), _floats(columns, f"ns{place}")

    def describe(at: int) -> tuple[str, str]:
        index, name = columns["index"][at].as_py(), columns["name"][at].as_py()
        title = (
            f"{f'#{index} ' if index else ''}{demangled(name)[:120]}: {duration(simulated_ns[at])} simulated on {config}, "
            f"{duration(real_ns[at])} real ({signed_percent(simulated_ns[at] / real_ns[at] - 1)})"
        )
        return title, _row_href(run, index, name)

    return Series(colour, real_ns, simulated_ns, describe)


def _furthest_off(run: Run, columns: pa.Table, configs: list[str], places: list[int]) -> list[dict[str, Any]]:
    """The kernels with the largest errors, of the configs at these places together."""
    if not places:
        return []
    errors = np.abs(np.stack([_floats(columns, f"error{place}") for place in places]))
    sizes = np.where(np.isnan(errors), -1.0, errors).ravel()
    worst = np.argsort(-sizes, kind="stable")[:FURTHEST_OFF]
    rows = []
    for flat in worst[sizes[worst] >= 0].tolist():
        row_of_errors, at = divmod(flat, columns.num_rows)
        place = places[row_of_errors]
        row = columns.slice(at, 1).to_pylist()[0]
        rows.append(
            {
                "index": row["index"],
                "href": _row_href(run, row["index"], row["name"]),
                "name": row["name"],
                "config": configs[place],
                "real_ns": row["real_ns"],
                "simulated_ns": row[f"ns{place}"],
                "error": row[f"error{place}"],
            }
        )
    return rows
