"""Following a run from a terminal: a progress bar while it goes, a table when it has ended."""

import time
from collections.abc import Callable
from typing import Any

from tqdm import tqdm

from runs.models import ENDED, Run
from runs.reading import comparison_of
from traces.times.names import short_name

LOOK_S = 0.5
NAME_WIDTH = 40

_REAL_NOTE = (
    "Times in microseconds; in brackets the difference from the real time, an error only on the GPU that it is of."
)


def watch(run: Run, on_look: Callable[[], None] = lambda: None, show: bool = True) -> Run:
    """Show a run's progress, where a terminal looks, until it has ended; the run as it then is."""
    hidden = None if show else True
    with tqdm(total=run.kernels_total or None, desc=run.id, unit="kernel", disable=hidden, leave=False) as bar:
        while True:
            run = Run.objects.with_sims().get(pk=run.pk)
            bar.total = run.kernels_total or None
            bar.n = run.kernels_done
            bar.set_postfix_str(", ".join(f"{sim.gpu_config} {sim.status}" for sim in run.sims.all()))
            if run.status in ENDED:
                return run
            on_look()
            time.sleep(LOOK_S)


def describe_end(run: Run) -> list[str]:
    """A line for each sim that did not simply finish."""
    return [
        f"{sim.gpu_config}: {sim.status}. {sim.detail or ''}".rstrip()
        for sim in run.sims.all()
        if sim.status != "finished" or sim.detail
    ]


def comparison_table(run: Run) -> str:
    """Real and simulated microseconds of every kernel, a column per config, and the totals below."""
    body = comparison_of(run)
    configs = list(body["summary"])
    has_real = any(kernel["real_ns"] is not None for kernel in body["kernels"])
    rows = [["#", "kernel", *(["real"] if has_real else []), *configs]]
    rows += [_kernel_row(kernel, configs, has_real) for kernel in body["kernels"]]
    rows.append(_total_row(body["summary"], configs, has_real))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "  ".join(_aligned(cell, width, n) for n, (cell, width) in enumerate(zip(row, widths, strict=True)))
        for row in rows
    ]
    rule = "-" * len(lines[0])
    return "\n".join(
        [
            lines[0],
            rule,
            *lines[1:-1],
            rule,
            lines[-1],
            _REAL_NOTE if has_real else "Times in microseconds.",
        ]
    )


def _aligned(text: str, width: int, column: int) -> str:
    return text.ljust(width) if column == 1 else text.rjust(width)


def _kernel_row(kernel: dict[str, Any], configs: list[str], has_real: bool) -> list[str]:
    cells = [str(kernel["index"]), short_name(kernel["name"], NAME_WIDTH)]
    if has_real:
        cells.append(_us(kernel["real_ns"]))
    for config in configs:
        found = kernel["configs"].get(config) or {}
        cells.append(_with_error(found.get("simulated_ns"), found.get("error")))
    return cells


def _total_row(summary: dict[str, Any], configs: list[str], has_real: bool) -> list[str]:
    cells = ["", "total"]
    if has_real:
        cells.append(_us(max((summary[config]["real_ns"] or 0 for config in configs), default=0)))
    return cells + [_with_error(summary[config]["simulated_ns"], summary[config]["error"]) for config in configs]


def _with_error(ns: float | None, error: float | None) -> str:
    return _us(ns) + (f" ({error:+.0%})" if error is not None else "")


def _us(ns: float | None) -> str:
    return "-" if ns is None else f"{ns / 1000:,.1f}"
