"""A specification as JSON data and back: as a database row and the runner hold it. Strict: errors name the field."""

from typing import Any

from sims.gpus.limits import FIELD_RULES, problem_of, problems_of
from sims.gpus.spec import GpuSpec, UnitTiming


class SpecError(ValueError):
    """Data that is no specification; ``errors`` has a sentence per field."""

    def __init__(self, errors: dict[str, str]) -> None:
        self.errors = errors
        name, why = next(iter(errors.items()))
        super().__init__(why if why.startswith(name) else f"{name}: {why}")


def spec_to_dict(spec: GpuSpec) -> dict[str, Any]:
    """Every field by name; tuples as lists, units as ``{"sp": [latency, initiation interval]}``."""
    data = {name: getattr(spec, name) for name in FIELD_RULES}
    data["units"] = {name: [timing.latency_cycles, timing.initiation_cycles] for name, timing in spec.units.items()}
    data["sources"] = dict(spec.sources)
    data["shared_memory_options_bytes"] = list(spec.shared_memory_options_bytes)
    return data


def spec_from_dict(data: Any) -> GpuSpec:
    """The specification; fields with a default may be missing. Raises :class:`SpecError`."""
    if not isinstance(data, dict):
        raise SpecError({"config": "It must be an object of field names and values."})
    errors: dict[str, str] = {}
    values: dict[str, Any] = {}
    for name, value in data.items():
        if name not in FIELD_RULES:
            errors[str(name)] = "There is no such field."
            continue
        values[name] = _from_plain(name, value)
        if problem := problem_of(name, values[name]):
            errors[name] = problem
    for name, rule in FIELD_RULES.items():
        if rule.required and name not in data:
            errors[name] = f"It is missing ({rule.allowed})."
    if errors:
        raise SpecError(errors)
    spec = GpuSpec(**values)
    if problems := problems_of(spec):
        raise SpecError({problem.split(" ", 1)[0]: problem for problem in problems})
    return spec


def _from_plain(name: str, value: Any) -> Any:
    kind = FIELD_RULES[name].kind
    if kind == "ints" and isinstance(value, list):
        return tuple(value)
    if kind == "float" and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if kind == "units" and isinstance(value, dict):
        return {
            unit: UnitTiming(*pair) if isinstance(pair, list) and len(pair) == 2 else pair
            for unit, pair in value.items()
        }
    return value
