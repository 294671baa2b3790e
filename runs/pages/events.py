"""The events tab: every change of state, when, of what, by whom and why."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from django.http import HttpRequest, HttpResponse
from django_eventstream.models import Event

from cascade_site.pages import page
from runs.events import channel_of
from runs.pages.frame import render_tab, run_of

EVENTS_SHOWN = 500
EVENTS_READ = 20_000
_STATE = ("status", "attempt", "worker", "stop_requested", "detail")


@page()
def events(request: HttpRequest, run_id: str) -> HttpResponse:
    run = run_of(run_id)
    found = Event.objects.filter(channel=channel_of(run.id), eid__gt=0).exclude(type__in=["log", "kernel"])
    newest = list(found.order_by("-eid").values_list("eid", "created", "type", "data")[:EVENTS_READ])
    rows = list(changes(reversed(newest)))[-EVENTS_SHOWN:]
    return render_tab(request, run, "events", {"rows": rows[::-1], "shown": EVENTS_SHOWN})


def changes(found: Iterable[tuple[int, Any, str, str]]) -> Iterator[dict[str, Any]]:
    """Rows for events in their order. Most events of a sim only count its kernels on: those are left out."""
    states: dict[str, tuple[Any, ...]] = {}
    for event_id, created, kind, text in found:
        data = json.loads(text)
        if kind == "sim":
            state = tuple(data.get(name) for name in _STATE)
            if states.get(data["id"]) == state:
                continue
            before = states.get(data["id"])
            states[data["id"]] = state
        yield {
            "id": event_id,
            "at": created,
            "type": _what(kind, data, before if kind == "sim" else None),
            "of": data.get("gpu_config") or data.get("sim_id") or data.get("id"),
            "status": data.get("status"),
            "attempt": data.get("attempt"),
            "by": _who(data),
            "detail": data.get("detail") or (data.get("name") if kind == "file" else None),
        }


def _who(data: dict[str, Any]) -> str:
    by, worker = str(data.get("by") or ""), data.get("worker")
    return f"{by} on {worker}" if by in ("runner", "task") and worker else by


def _what(kind: str, data: dict[str, Any], before: tuple[Any, ...] | None) -> str:
    if kind != "sim":
        return kind
    was_asked = bool(before and before[_STATE.index("stop_requested")])
    return "cancel asked" if data.get("stop_requested") and not was_asked else "sim"
