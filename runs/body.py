"""The form of a new run, and the request body it stands for: pages launch exactly what a client would post."""

import json
from dataclasses import dataclass, field
from typing import Any, Self

from django.http import QueryDict

from runs.launch import LaunchRequest
from sims.gpus import value_of_text, values_of_text

SIMULATORS = ("auto", "builtin", "accelsim", "replay")
L2_CHOICES = ("chain", "cold", "warm")
GAPS_CHOICES = ("kept", "closed")
FIELDS = frozenset({"exact", "l2", "representatives", "shards", "gaps"})
"""The options that the page has a field for."""


def _text(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _object(text: str) -> dict[str, Any]:
    """A JSON object that this form has written; anything else is none."""
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


@dataclass(slots=True)
class LaunchForm:
    """What the page's fields hold."""

    gpu_configs: list[str] = field(default_factory=list)
    simulator: str = "auto"
    name: str = ""
    kernels: str = ""
    set_text: str = ""
    """``name=value`` lines."""
    sweep_text: str = ""
    """``name=v1,v2,…`` or ``name=first:last:step`` lines."""
    exact: bool = False
    l2: str = "chain"
    representatives: bool = False
    shards: str = ""
    gaps: str = "kept"
    further: dict[str, Any] = field(default_factory=dict)
    """Options of a cloned run that the page has no field for; they go along."""

    @classmethod
    def from_query(cls, query: QueryDict) -> Self:
        """From a GET or POST; unknown choices fall back, as a person may edit an address."""
        simulator, l2 = query.get("simulator", "auto"), query.get("l2", "chain")
        gaps = query.get("gaps", "kept")
        return cls(
            gpu_configs=list(dict.fromkeys(query.getlist("config"))),
            simulator=simulator if simulator in SIMULATORS else "auto",
            name=query.get("name", "").strip()[:200],
            kernels=query.get("kernels", "").strip()[:2000],
            set_text=query.get("set", "").strip()[:4000],
            sweep_text=query.get("sweep", "").strip()[:4000],
            exact=query.get("exact") == "1",
            l2=l2 if l2 in L2_CHOICES else "chain",
            representatives=query.get("representatives") == "1",
            shards=query.get("shards", "").strip()[:10],
            gaps=gaps if gaps in GAPS_CHOICES else "kept",
            further=_object(query.get("further", "")),
        )

    @classmethod
    def from_body(cls, body: dict[str, Any]) -> Self:
        """From the request that made an earlier run."""
        # The API takes these two beside the options as well.
        options = {**(body.get("options") or {}), **{name: body[name] for name in ("exact", "l2") if body.get(name)}}
        return cls(
            gpu_configs=list(body.get("gpu_configs") or []),
            simulator=body.get("simulator") or "auto",
            name=body.get("name") or "",
            kernels=body.get("kernels") or "",
            set_text="\n".join(f"{name}={_text(value)}" for name, value in (body.get("set") or {}).items()),
            sweep_text="\n".join(
                f"{name}={','.join(map(str, values))}" for name, values in (body.get("sweep") or {}).items()
            ),
            exact=bool(options.get("exact")),
            l2=options.get("l2") or "chain",
            representatives=bool(options.get("representatives")),
            shards=str(options.get("shards") or ""),
            gaps=options.get("gaps") or "kept",
            further={name: value for name, value in options.items() if name not in FIELDS},
        )

    def as_query(self) -> QueryDict:
        query = QueryDict(mutable=True)
        query.setlist("config", self.gpu_configs)
        fields = {"simulator": self.simulator, "name": self.name, "kernels": self.kernels, "l2": self.l2}
        query.update({**fields, "set": self.set_text, "sweep": self.sweep_text, "exact": "1" if self.exact else ""})
        query.update({"representatives": "1" if self.representatives else "", "shards": self.shards, "gaps": self.gaps})
        query.update({"further": self.further_text})
        return query

    def _pairs(self, text: str) -> dict[str, str]:
        lines = (line.partition("=") for line in text.splitlines() if line.strip())
        return {name.strip(): value.strip() for name, _, value in lines}

    @property
    def overrides(self) -> dict[str, Any]:
        return {name: value_of_text(name, value) for name, value in self._pairs(self.set_text).items()}

    @property
    def sweep(self) -> dict[str, list[Any]]:
        return {name: values_of_text(name, value) for name, value in self._pairs(self.sweep_text).items()}

    @property
    def options(self) -> dict[str, Any]:
        chosen = {
            "exact": self.exact,
            "l2": self.l2 if self.l2 != "chain" else None,
            "representatives": self.representatives,
            "shards": value_of_text("shards", self.shards),
            "gaps": self.gaps if self.gaps != "kept" else None,
        }
        return self.further | {name: value for name, value in chosen.items() if value}

    @property
    def further_text(self) -> str:
        """``further`` for a hidden field; empty for none."""
        return json.dumps(self.further) if self.further else ""

    @property
    def sims_total(self) -> int:
        total = len(self.gpu_configs)
        for values in self.sweep.values():
            total *= max(1, len(values))
        return total

    def problems(self) -> dict[str, str]:
        """What a person can mend before anything is asked of the server."""
        problems = {}
        if not self.gpu_configs:
            problems["gpu_configs"] = "Choose at least one GPU config."
        for name, text in (("set", self.set_text), ("sweep", self.sweep_text)):
            if any("=" not in line for line in text.splitlines() if line.strip()):
                problems[name] = "Write one name=value a line."
        return problems

    def launch_request(self) -> LaunchRequest:
        return LaunchRequest(
            gpu_configs=self.gpu_configs,
            simulator=self.simulator,
            name=self.name or None,
            kernels=self.kernels,
            overrides=self.overrides,
            sweep=self.sweep,
            options=self.options,
        )


def launch_body(trace_id: str, form: LaunchForm) -> dict[str, Any]:
    """The body of ``POST /api/runs`` that does the same as the form."""
    return form.launch_request().as_body(trace_id)
