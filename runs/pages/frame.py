"""What every tab of a run's page has: the run, its head and its tabs."""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render

from runs.models import ENDED, Run
from sims.gpus import is_other_gpu
from sims.models import Sim

TABS = [
    ("", "Summary"),
    ("kernels", "Kernels"),
    ("correlation", "Correlation"),
    ("timeline", "Timeline"),
    ("log", "Log"),
    ("files", "Files"),
    ("config", "Config"),
    ("events", "Events"),
]


def run_of(run_id: str) -> Run:
    """The run with its sims and trace, or a 404."""
    run = Run.objects.with_sims().select_related("trace").filter(pk=run_id).first()
    if run is None:
        raise Http404
    return run


def render_tab(request: HttpRequest, run: Run, tab: str, context: dict[str, Any]) -> HttpResponse:
    """A tab's own template within the run's frame."""
    base = {
        "section": "runs",
        "run": run,
        "sims": list(run.sims.all()),
        "colours": run.colours,
        "tab": tab,
        "tabs": [(name, title, f"/runs/{run.id}" + (f"/{name}" if name else "")) for name, title in TABS],
        "live": run.status not in ENDED,
        "baseline_run": Run.objects.filter(trace=run.trace_id, is_baseline=True).exclude(pk=run.pk).first(),
    }
    return render(request, f"runs/{tab or 'summary'}.html", base | context)


def configs_elsewhere(run: Run) -> set[str]:
    """The run's configs of another GPU than the real times are of: there a difference from real is no error."""
    named = Sim.objects.filter(run=run).values_list("gpu_config", "config__name")
    return {config for config, name in named if is_other_gpu(run.trace.gpu, name or "", config)}
