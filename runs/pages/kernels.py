"""A run's kernels as a table: every launch, or those of one name together."""

import json
from typing import Any, cast

from django.http import HttpRequest, HttpResponse

from cascade_site.pages import page
from cascade_site.tablerows import ColumnRows
from cascade_site.tables import Column, Table
from runs import bodies
from runs.columns import kernel_columns
from runs.comparison import REAL
from runs.models import Run
from runs.pages.frame import configs_elsewhere, render_tab, run_of
from runs.reading import overview_json_of


@page()
def kernels(request: HttpRequest, run_id: str) -> HttpResponse:
    run = run_of(run_id)
    configs = [sim.gpu_config for sim in run.sims.all()]
    wanted = request.GET.get("baseline", REAL)
    baseline = wanted if wanted in configs else REAL
    by_name = request.GET.get("view") == "names"
    table = _name_table(request, run, configs) if by_name else _kernel_table(request, run, configs, baseline)
    context = {"table": table, "by_name": by_name, "baseline": baseline, "configs": configs}
    return table.export() or render_tab(request, run, "kernels", context)


def _kernel_table(request: HttpRequest, run: Run, configs: list[str], baseline: str) -> Table:
    elsewhere = configs_elsewhere(run)
    alone = len(configs) == 1
    columns = [
        Column("index", "#", "number"),
        Column("name", "Name", "name"),
        Column("real_ns", "Real", "duration"),
        Column("real_share", "Time", "percent", help="Share of the real time"),
    ]
    for place, (config, colour) in enumerate(run.colours.items()):
        as_ = f"{config} {{}}".format
        columns.append(
            Column(
                f"ns{place}",
                config,
                "duration",
                config=config,
                colour=colour,
                help="Simulated time",
                export_as=as_("simulated_ns"),
            )
        )
        columns.append(_against_real(f"error{place}", config, config in elsewhere, run))
        if baseline not in (REAL, config):
            columns.append(
                Column(
                    f"speedup{place}",
                    f"vs {baseline}",
                    "ratio",
                    help=f"Time on {baseline} over time on {config}",
                    export_as=as_(f"speedup over {baseline}"),
                )
            )
        columns += [
            Column(f"cycles{place}", "Cycles", "number", help=config, shown=alone, export_as=as_("cycles")),
            Column(
                f"share{place}",
                "Of total error",
                "percent",
                help=config,
                shown=alone and config not in elsewhere,
                export_as=as_("share_of_error"),
            ),
            Column(f"limiter{place}", "Limited by", "words", help=config, shown=alone, export_as=as_("limiter")),
        ]
    first_sim = next((sim.id for sim in run.sims.all()), None)
    beside = "" if alone else f"?with={run.id}"

    def dress(row: dict[str, Any]) -> dict[str, Any]:
        return {
            "anchor": f"k{row['index']}",
            "href": f"/sims/{first_sim}/kernels/{row['index']}{beside}",
            "css_class": "wanted" if str(row["index"]) == request.GET.get("index") else "",
        }

    rows = ColumnRows(kernel_columns(run, baseline))
    table = Table(request, columns, rows, title=f"{run.id}-kernels", dress=dress)
    wanted = request.GET.get("index", "")
    if wanted.isascii() and wanted.isdigit() and len(wanted) < 10:
        # Wherever sorting has put it.
        table.turn_to(cast(ColumnRows, table.sorted).place_of("index", int(wanted)))
    return table


def _against_real(key: str, config: str, elsewhere: bool, run: Run) -> Column:
    if elsewhere:
        of = f"{config} against the real times, which are of {run.trace.gpu}"
        return Column(key, "vs real", "delta", help=of, export_as=f"{config} vs real")
    return Column(key, "Error", "error", help=f"{config} against real", export_as=f"{config} error")


def _name_table(request: HttpRequest, run: Run, configs: list[str]) -> Table:
    elsewhere = configs_elsewhere(run)
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
    for place, (config, colour) in enumerate(run.colours.items()):
        total = Column(
            f"ns{place}",
            config,
            "duration",
            config=config,
            colour=colour,
            help="Simulated, in total",
            export_as=f"{config} simulated_ns",
        )
        columns.append(total)
        columns.append(_against_real(f"error{place}", config, config in elsewhere, run))
        mape = Column(
            f"mape{place}",
            "MAPE",
            "percent",
            help=f"{config}, over its launches",
            shown=False,
            export_as=f"{config} mape",
        )
        columns.append(mape)
    columns.append(Column("name", "Name", "name"))
    groups = json.loads(bodies.whole(run, "overview", overview_json_of))["groups"]
    return Table(request, columns, [_name_row(group, configs) for group in groups], title=f"{run.id}-names")


def _name_row(group: dict[str, Any], configs: list[str]) -> dict[str, Any]:
    row: dict[str, Any] = {"name": group["name"], "launches": group["launches"], "real_share": group["real_share"]}
    row |= {key: group["real"][key] for key in ("total_ns", "avg_ns", "med_ns", "min_ns", "max_ns", "stddev_ns")}
    for place, config in enumerate(configs):
        cell = group["configs"].get(config, {})
        row[f"ns{place}"], row[f"error{place}"] = cell.get("simulated_ns"), cell.get("error")
        row[f"mape{place}"] = cell.get("mape")
    return row
