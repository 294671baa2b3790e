"""The config tab: what was simulated with which values, and how to do it again."""

import hashlib
import json
import shlex
from typing import Any

from django.http import HttpRequest, HttpResponse

from cascade_site.pages import page
from runs.models import Run
from runs.pages.frame import render_tab, run_of
from sims.models import GpuConfig, Sim
from sims.shown import differing_names, software_rows, value_names, value_of

VIEWS = {"": "what differs", "preset": "against the presets", "all": "everything"}


@page()
def config(request: HttpRequest, run_id: str) -> HttpResponse:
    run = run_of(run_id)
    sims = list(Sim.objects.filter(run=run).order_by("position"))
    view = request.GET.get("view", "")
    view = view if view in VIEWS else ""
    context = {
        "views": VIEWS.items(),
        "view": view,
        "config_sims": sims,
        "rows": [] if view == "preset" else _rows([sim.config for sim in sims], every=view == "all" or len(sims) == 1),
        "presets": _presets(sims) if view == "preset" else [],
        "command": launch_command(run.request) if run.request.get("gpu_configs") else "",
        "content_hash": content_hash(run),
        "software": software_rows([sim.software for sim in sims]),
        "config_hashes": [(sim, _hash(sim.config)) for sim in sims],
    }
    return render_tab(request, run, "config", context)


def _rows(configs: list[dict[str, Any]], every: bool) -> list[dict[str, Any]]:
    differing = differing_names(configs)
    return [
        {"name": name, "values": [value_of(config, name) for config in configs], "differs": name in differing}
        for name in value_names(configs)
        if every or name in differing
    ]


def _presets(sims: list[Sim]) -> list[dict[str, Any]]:
    """Each sim's values that are not those of the GPU config of that id as it is now."""
    known = GpuConfig.objects.in_bulk([str(sim.config.get("id")) for sim in sims])
    return [
        {"sim": sim, "preset": preset, "rows": _rows([preset.spec, sim.config], every=False) if preset else []}
        for sim in sims
        for preset in [known.get(str(sim.config.get("id")))]
    ]


def launch_command(body: dict[str, Any]) -> str:
    """The ``manage.py launch_run`` that asks for the same as a request.

    >>> launch_command({"trace_id": "decode", "gpu_configs": ["SM80_A100"], "options": {"exact": True}})
    'python manage.py launch_run decode SM80_A100 --option exact=true --wait'
    """
    words = ["python", "manage.py", "launch_run", str(body["trace_id"]), *map(str, body["gpu_configs"])]
    for name, without in (("simulator", "auto"), ("kernels", ""), ("name", None)):
        if body.get(name) and body[name] != without:
            words.append(f"--{name}={body[name]}")
    for name, value in (body.get("set") or {}).items():
        words += ["--set", f"{name}={_text(value)}"]
    for name, values in (body.get("sweep") or {}).items():
        words += ["--sweep", f"{name}={','.join(map(_text, values))}"]
    for name, value in (body.get("options") or {}).items():
        words += ["--option", f"{name}={_text(value)}"]
    return shlex.join([*words, "--wait"])


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def content_hash(run: Run) -> str:
    """One SHA-256 over what the trace's kernels are; empty while not all of them have been read."""
    hashes = list(run.trace.kernels.order_by("index").values_list("content_hash", flat=True))
    return hashlib.sha256("\n".join(hashes).encode()).hexdigest() if hashes and all(hashes) else ""


def _hash(config: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(config, sort_keys=True).encode()).hexdigest()
