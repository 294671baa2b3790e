"""What a run's page changes: its name, and whether it is its trace's baseline, as ``PATCH /api/runs/{run_id}`` does."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from cascade_site.fields import storable_text
from cascade_site.pages import page
from runs.models import NotFinishedError
from runs.pages.frame import run_of

LONGEST_NAME = 200


@page("POST")
def rename(request: HttpRequest, run_id: str) -> HttpResponse:
    run = run_of(run_id)
    run.rename(storable_text(request.POST.get("name", "")).strip()[:LONGEST_NAME])
    return redirect(f"/runs/{run.id}")


@page("POST")
def baseline(request: HttpRequest, run_id: str) -> HttpResponse:
    run = run_of(run_id)
    wanted = request.POST.get("is_baseline") == "1"
    try:
        run.make_baseline(wanted)
    except NotFinishedError as error:
        messages.error(request, str(error), extra_tags="bad")
    else:
        text = f"The baseline of {run.trace_id} now" if wanted else f"No longer the baseline of {run.trace_id}"
        messages.success(request, f"{text}. The list of runs and Compare go by it.", extra_tags="good")
    return redirect(f"/runs/{run.id}")
