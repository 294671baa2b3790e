"""The timeline tab: each step as it was and as it is predicted."""

from typing import Any

from django.http import HttpRequest, HttpResponse

from cascade_site.pages import page
from runs.pages.frame import render_tab, run_of
from runs.reading import step_timelines_of
from traces.times.names import demangled, kernel_name

MOST_CHARACTERS = 300


@page()
def timeline(request: HttpRequest, run_id: str) -> HttpResponse:
    run = run_of(run_id)
    posted = step_timelines_of(run)
    steps = max((len(row["timeline"].get("steps", [])) for row in posted), default=0)
    wanted = request.GET.get("step", "0")
    step = min(int(wanted), max(steps - 1, 0)) if wanted.isascii() and wanted.isdigit() and len(wanted) < 9 else 0
    shown = []
    for row in posted:
        every = row["timeline"].get("steps", [])
        if step < len(every):
            shown.append(row | {"step": every[step], "colour": run.colours[row["gpu_config"]]})
    context = {
        "posted": posted,
        "shown": shown,
        "step": step,
        "steps": range(steps),
        "names": shown_names(kernel for row in shown for kernel in row["step"].get("kernels", [])),
    }
    return render_tab(request, run, "timeline", context)


def shown_names(kernels: Any) -> dict[str, list[str]]:
    """Each name as it is posted -> the bare function for a label, and the C++ spelling for a tooltip."""
    names = {str(kernel.get("name")) for kernel in kernels}
    return {name: [kernel_name(name).short[:MOST_CHARACTERS], demangled(name)[:MOST_CHARACTERS]] for name in names}
