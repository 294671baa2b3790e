"""The timeline tab: each step as it was and as it is predicted."""

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse

from cascade_site.pages import page
from runs.pages.frame import render_tab, run_of
from runs.posted import numbers, objects
from runs.reading import step_timelines_of
from traces.spellings import spellings

_OF_STEP = ("real_ns", "predicted_ns", "real_gaps_ns")
_OF_KERNEL = ("real_start_ns", "real_ns", "predicted_start_ns", "predicted_ns")
_OF_ALL = ("error", "mape", "coverage", "propagated_share")


@page()
def timeline(request: HttpRequest, run_id: str) -> HttpResponse:
    run = run_of(run_id)
    posted = step_timelines_of(run)
    steps_of = {row["sim_id"]: objects(row["timeline"].get("steps")) for row in posted}
    steps = max(map(len, steps_of.values()), default=0)
    wanted = request.GET.get("step", "0")
    step = min(int(wanted), max(steps - 1, 0)) if wanted.isascii() and wanted.isdigit() and len(wanted) < 9 else 0
    shown = [
        {
            "sim_id": row["sim_id"],
            "gpu_config": row["gpu_config"],
            "colour": run.colours[row["gpu_config"]],
            "gaps": row["timeline"].get("gaps"),
            "step": _step(steps_of[row["sim_id"]][step]),
            "comparison": _comparison(row["comparison"]),
        }
        for row in posted
        if step < len(steps_of[row["sim_id"]])
    ]
    context = {
        "posted": posted,
        "shown": shown,
        "step": step,
        "steps": range(steps),
        "names": spellings(kernel["name"] for row in shown for kernel in row["step"]["kernels"]),
    }
    return render_tab(request, run, "timeline", context)


def _step(step: Mapping[str, Any]) -> dict[str, Any]:
    kernels = [
        {
            "name": str(kernel.get("name")),
            "stream": kernel.get("stream"),
            "source": kernel.get("source"),
            **numbers(kernel, _OF_KERNEL),
        }
        for kernel in objects(step.get("kernels"))
    ]
    return {"index": step.get("index"), "phase": step.get("phase"), "kernels": kernels, **numbers(step, _OF_STEP)}


def _comparison(comparison: Mapping[str, Any]) -> dict[str, Any]:
    propagation = comparison.get("propagation")
    known = numbers(propagation if isinstance(propagation, dict) else {}, ("mape", "kernels"))
    return {**numbers(comparison, _OF_ALL), "propagation": known}
