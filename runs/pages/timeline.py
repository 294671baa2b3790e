"""The timeline tab: each step as it was and as it is predicted."""

from django.http import HttpRequest, HttpResponse

from cascade_site.pages import page
from runs.pages.frame import render_tab, run_of
from runs.reading import step_timelines_of
from traces.spellings import spellings


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
        "names": spellings(str(kernel.get("name")) for row in shown for kernel in row["step"].get("kernels", [])),
    }
    return render_tab(request, run, "timeline", context)
