"""New run: choose configs side by side, see what it will cost and whether it is there already, then launch."""

import json
import secrets
from dataclasses import dataclass
from typing import Any

from django.db.models import Avg, F
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render

from cascade_site.fields import storable_text
from cascade_site.pages import page
from runs.body import LaunchForm, launch_body
from runs.launch import LaunchError, TraceNotReadyError, launch_once
from runs.models import Run, RunStatus
from runs.variants import variants
from sims.gpus import OverrideError, apply_overrides, is_captured_gpu
from sims.gpus.serial import spec_to_dict
from sims.gpus.spec import GpuSpec
from sims.models import GpuConfig, Sim, SimStatus
from sims.shown import value_names, value_of
from sims.simulators.registry import simulators_for
from traces.models import Trace, TraceStatus


@dataclass(frozen=True, slots=True)
class Card:
    """One config to choose."""

    config: GpuConfig
    spec: GpuSpec
    simulators: list[str]
    captured: bool
    chosen: bool


@page("GET", "HEAD", "POST")
def run_new(request: HttpRequest) -> HttpResponse:
    trace_id = storable_text(request.POST.get("trace") or request.GET.get("trace") or "")
    if not trace_id:
        context = {"section": "runs", "traces": _ready_traces(), "configs": request.GET.getlist("config")}
        return render(request, "runs/choose_trace.html", context)
    trace = get_object_or_404(Trace, pk=trace_id)
    form = LaunchForm.from_query(request.POST if request.method == "POST" else _start(request))
    problems: dict[str, str] = {}
    if request.method == "POST" and "launch" in request.POST:
        problems = form.problems()
        if not problems:
            answer = _launch(request, trace, form, problems)
            if answer is not None:
                return answer
    return render(request, "runs/new.html", _context(request, trace, form, problems), status=422 if problems else 200)


def _ready_traces() -> Any:
    return Trace.objects.filter(status=TraceStatus.READY).newest_first()[:200]


def _start(request: HttpRequest) -> QueryDict:
    """The form's first state: what the address says, or the request of the run that is cloned."""
    source = Run.objects.filter(pk=storable_text(request.GET.get("clone", ""))).first()
    if source is None:
        return request.GET
    return LaunchForm.from_body(source.request).as_query()


def _launch(request: HttpRequest, trace: Trace, form: LaunchForm, problems: dict[str, str]) -> HttpResponse | None:
    body = launch_body(trace.id, form)
    try:
        run, _ = launch_once(trace, form.launch_request(), request.POST.get("key") or secrets.token_hex(16), body)
    except LaunchError as error:
        problems[error.field] = str(error)
        return None
    except TraceNotReadyError as error:
        problems["trace"] = str(error)
        return None
    return redirect(f"/runs/{run.id}")


def _context(request: HttpRequest, trace: Trace, form: LaunchForm, problems: dict[str, str]) -> dict[str, Any]:
    GpuConfig.objects.follow_folders()
    cards = [_card(config, trace, form) for config in GpuConfig.objects.all()]
    changes: list[dict[str, Any]] = []
    try:
        changes = _changes(cards, form)
    except OverrideError as error:
        problems.setdefault("set", str(error))
    sim_s = _sim_s(trace)
    body = json.dumps(launch_body(trace.id, form), indent=1)
    return {
        "section": "runs",
        "trace": trace,
        "form": form,
        "cards": cards,
        "problems": problems,
        "body": body,
        "already": _already(trace, form),
        "changes": changes,
        "sim_s": sim_s,
        "estimate_s": sim_s * max(form.sims_total, 1) if sim_s is not None else None,
        "key": request.POST.get("key") or secrets.token_hex(16),
        "sims_total": form.sims_total,
    }


def _card(config: GpuConfig, trace: Trace, form: LaunchForm) -> Card:
    spec = config.as_spec
    return Card(
        config=config,
        spec=spec,
        simulators=simulators_for(spec),
        captured=is_captured_gpu(trace.gpu, spec.name),
        chosen=config.id in form.gpu_configs,
    )


def _already(trace: Trace, form: LaunchForm) -> list[Run]:
    """Finished runs of the same trace with the same request, of configs that are still as they were then: their answer
    is there already."""
    if not form.gpu_configs:
        return []
    wanted = launch_body(trace.id, form)
    finished = Run.objects.filter(trace=trace, status=RunStatus.FINISHED).newest_first()[:50]
    ignored = ("name",)

    def essence(body: dict[str, Any]) -> dict[str, Any]:
        kept = {key: value for key, value in body.items() if key not in ignored and value not in ("", {}, [], None)}
        kept["gpu_configs"] = sorted(kept.get("gpu_configs", []))
        return kept

    alike = [run for run in finished if essence(run.request) == essence(wanted)]
    return [run for run in alike[:3] if dict(run.sims.values_list("gpu_config", "config")) == _configs_now(form)]


def _configs_now(form: LaunchForm) -> dict[str, dict[str, Any]]:
    """What each sim of the run would be given, by its label; nothing where that cannot be."""
    specs = {config.id: config.as_spec for config in GpuConfig.objects.filter(pk__in=form.gpu_configs)}
    try:
        return {variant.label: spec_to_dict(variant.spec) for variant in variants(specs, form.overrides, form.sweep)}
    except OverrideError:
        return {}


def _sim_s(trace: Trace) -> float | None:
    """Wall seconds that a sim of this trace took so far; None before the first has finished."""
    took = Sim.objects.filter(run__trace=trace, status=SimStatus.FINISHED).aggregate(
        average=Avg(F("finished_at") - F("started_at"))
    )["average"]
    return took.total_seconds() if took is not None else None


def _changes(cards: list[Card], form: LaunchForm) -> list[dict[str, Any]]:
    """What "What if" makes of the chosen configs, value by value. Raises ``OverrideError`` for one that cannot be."""
    rows = []
    for card in cards:
        if not card.chosen or not form.overrides:
            continue
        before, after = spec_to_dict(card.spec), spec_to_dict(apply_overrides(card.spec, form.overrides))
        rows += [
            {
                "config": card.config.id,
                "name": name,
                "before": value_of(before, name),
                "after": value_of(after, name),
            }
            for name in value_names([after])
            if value_of(before, name) != value_of(after, name)
        ]
    return rows
