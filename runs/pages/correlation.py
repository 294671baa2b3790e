"""Simulated against real times: how well they agree, and the kernels for which they do not."""

import json
from typing import Any

import numpy as np
import pyarrow as pa
from django.http import HttpRequest, HttpResponse
from numpy.typing import NDArray

from cascade_site.charts.scatter import Series, scatter_chart
from cascade_site.colours import colour_of
from cascade_site.formats import duration, signed_percent
from cascade_site.pages import page
from runs import bodies
from runs.columns import kernel_columns
from runs.comparison import REAL
from runs.models import Run
from runs.pages.frame import configs_elsewhere, render_tab, run_of
from runs.reading import overview_json_of
from traces.times.names import demangled

FURTHEST_OFF = 20


@page()
def correlation(request: HttpRequest, run_id: str) -> HttpResponse:
    run = run_of(run_id)
    configs = [sim.gpu_config for sim in run.sims.all()]
    columns = kernel_columns(run, REAL)
    elsewhere = configs_elsewhere(run)
    compared = [place for place, config in enumerate(configs) if config not in elsewhere]
    chart = scatter_chart([_series(run, columns, place, config) for place, config in enumerate(configs)])
    context = {
        "chart": chart,
        "summary": json.loads(bodies.whole(run, "overview", overview_json_of))["summary"],
        "excluded": columns["real_ns"].null_count,
        "worst": _furthest_off(columns, configs, compared),
        "configs": [(config, colour_of(config)) for config in configs],
        "elsewhere": elsewhere,
    }
    return render_tab(request, run, "correlation", context)


def _floats(columns: pa.Table, name: str) -> NDArray[np.float64]:
    """NaN where there is no value."""
    return columns[name].to_numpy().astype(np.float64)


def _series(run: Run, columns: pa.Table, place: int, config: str) -> Series:
    real_ns, simulated_ns = _floats(columns, "real_ns"), _floats(columns, f"ns{place}")

    def describe(at: int) -> tuple[str, str]:
        index, name = columns["index"][at].as_py(), columns["name"][at].as_py()
        title = (
            f"#{index} {demangled(name)[:120]}: {duration(simulated_ns[at])} simulated on {config}, "
            f"{duration(real_ns[at])} real ({signed_percent(simulated_ns[at] / real_ns[at] - 1)})"
        )
        return title, f"/runs/{run.id}/kernels?index={index}#k{index}"

    return Series(colour_of(config), real_ns, simulated_ns, describe)


def _furthest_off(columns: pa.Table, configs: list[str], places: list[int]) -> list[dict[str, Any]]:
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
                "name": row["name"],
                "config": configs[place],
                "real_ns": row["real_ns"],
                "simulated_ns": row[f"ns{place}"],
                "error": row[f"error{place}"],
            }
        )
    return rows
