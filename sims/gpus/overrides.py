"""What-if: a specification with some values replaced by name, and the difference of two."""

import difflib
import re
from dataclasses import dataclass
from typing import Any

from sims.gpus.limits import FIELD_RULES, SCHEDULERS, SET_INDEX_FUNCTIONS, UNIT_CLASSES, problem_of, problems_of
from sims.gpus.spec import LINE_BYTES, GpuSpec, UnitTiming
from sims.gpus.written import value_of_text

DERIVED = {
    "l2_bytes": "the whole L2's capacity in bytes; changes l2_ways",
    "memory_bandwidth_gbs": "peak DRAM bandwidth in GB/s (1e9); changes the memory clock, keeps DRAM delays in ns",
}
"""Names that are no fields of their own, and what they change."""

_MODELLED: dict[str, tuple[str, ...]] = {
    "scheduler": SCHEDULERS,
    "l1_set_index": SET_INDEX_FUNCTIONS,
    "l2_set_index": SET_INDEX_FUNCTIONS,
}
"""A user's config may ask for another one (and is told); an override is for the model, which has these."""

_FIXED = ("id", "name", "architecture", "sources")
_SCALED_TICKS = ("rrd", "rcd", "ras", "rp", "rc", "cl", "wl", "cdlr", "wr", "rtpl")
"""Delays of the DRAM array: constant in ns. tCCD and tCCDL are transfer times: constant in clocks."""


class OverrideError(ValueError):
    """An override that cannot be made; the message names the field, its unit and what is allowed."""


def parse_override(text: str) -> tuple[str, Any]:
    """``l2_bytes=8M`` -> ``("l2_bytes", 8388608)``; ``units.tensor=16,16`` is latency, initiation interval."""
    name, equals, value = text.partition("=")
    name, value = name.strip(), value.strip()
    if not equals or not name or not value:
        raise OverrideError(f"{text!r} is no override: write NAME=VALUE, as in l2_bytes=8M.")
    _check_name(name)
    return name, _parse_value(name, value)


def apply_overrides(spec: GpuSpec, values: dict[str, Any]) -> GpuSpec:
    """A checked copy with the values replaced: fields first, then derived names, so that both may stand together.

    >>> from sims.gpus import load_shipped
    >>> apply_overrides(load_shipped()["SM86_RTX3070"], {"l2_bytes": 8 << 20}).l2_ways
    32
    """
    plain: dict[str, Any] = {}
    units = dict(spec.units)
    for name, value in values.items():
        _check_name(name)
        if name.startswith("units."):
            units[name.removeprefix("units.")] = _unit(name, value)
        elif name not in DERIVED:
            plain[name] = _coerced(name, value)
    changed = spec.with_overrides(plain | {"units": plain.get("units", units)})
    for name in DERIVED:
        if name in values:
            changed = _with_derived(changed, name, values[name])
    if problems := problems_of(changed):
        raise OverrideError(problems[0])
    return changed


@dataclass(frozen=True, slots=True)
class Difference:
    """One field that two specifications do not share; units differ by class, as ``units.tensor``."""

    name: str
    first: Any
    second: Any


def diff(first: GpuSpec, second: GpuSpec) -> list[Difference]:
    """The fields in which two specifications differ, in field order, without what only describes them (names)."""
    differences = []
    for name in FIELD_RULES:
        if name in _FIXED:
            continue
        if name == "units":
            differences += _unit_differences(first.units, second.units)
        elif getattr(first, name) != getattr(second, name):
            differences.append(Difference(name, getattr(first, name), getattr(second, name)))
    return differences


def _unit_differences(first: dict[str, UnitTiming], second: dict[str, UnitTiming]) -> list[Difference]:
    names = [name for name in UNIT_CLASSES if first.get(name) != second.get(name)]
    return [Difference(f"units.{name}", first.get(name), second.get(name)) for name in names]


def _check_name(name: str) -> None:
    if name in _FIXED:
        raise OverrideError(f"{name} describes the configuration and cannot be overridden.")
    names = [
        *(n for n in FIELD_RULES if n not in (*_FIXED, "units")),
        *DERIVED,
        *(f"units.{unit}" for unit in UNIT_CLASSES),
    ]
    if name in names or name == "units":
        return
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    hint = f" Did you mean {', '.join(close)}?" if close else ""
    raise OverrideError(f"There is no configuration value {name!r}.{hint}")


def _parse_value(name: str, text: str) -> Any:
    if name.startswith("units."):
        return _unit(name, text)
    kind = "float" if name == "memory_bandwidth_gbs" else "int" if name in DERIVED else FIELD_RULES[name].kind
    if kind == "bool":
        return {"true": True, "1": True, "false": False, "0": False}.get(text.lower(), text)
    number = value_of_text(name, text)
    if kind == "int" and isinstance(number, int):
        return number
    if kind == "ints" and re.fullmatch(r"\d+(,\d+)*", text):
        return tuple(int(part) for part in text.split(","))
    if kind == "float" and isinstance(number, int | float):
        return float(number)
    return text


def _coerced(name: str, value: Any) -> Any:
    """The value in the field's type (JSON has lists for tuples and whole floats), or an error."""
    kind = FIELD_RULES[name].kind
    if isinstance(value, str) and kind not in ("str", "units"):
        value = _parse_value(name, value)
    if kind == "ints" and isinstance(value, list):
        value = tuple(value)
    if kind == "int" and isinstance(value, float) and value.is_integer():
        value = int(value)
    if problem := problem_of(name, value):
        raise OverrideError(problem)
    if name in _MODELLED and value not in _MODELLED[name]:
        raise OverrideError(f"{name} cannot be {value!r}: it is one of {', '.join(_MODELLED[name])}.")
    return value


def _unit(name: str, value: Any) -> UnitTiming:
    if isinstance(value, UnitTiming):
        return value
    parts = value.split(",") if isinstance(value, str) else value
    if isinstance(parts, list | tuple) and len(parts) == 2 and all(str(part).strip().isdigit() for part in parts):
        timing = UnitTiming(int(parts[0]), int(parts[1]))
        if timing.latency_cycles and timing.initiation_cycles:
            return timing
    raise OverrideError(
        f"{name} cannot be {value!r}: it is latency,initiation interval in core cycles, each at least 1."
    )


def _with_derived(spec: GpuSpec, name: str, value: Any) -> GpuSpec:
    if isinstance(value, str):
        value = _parse_value(name, value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
        raise OverrideError(f"{name} cannot be {value!r}: it is a number above 0 ({DERIVED[name]}).")
    return _with_l2_bytes(spec, value) if name == "l2_bytes" else _with_bandwidth(spec, value)


def _with_l2_bytes(spec: GpuSpec, l2_bytes: float) -> GpuSpec:
    step = spec.l2_slices * spec.l2_sets * LINE_BYTES
    if l2_bytes % step:
        nearest = max(1, round(l2_bytes / step)) * step
        raise OverrideError(
            f"l2_bytes cannot be {l2_bytes:.0f}: with {spec.l2_slices} slices of {spec.l2_sets} sets of "
            f"{LINE_BYTES}-byte lines it is a multiple of {step} bytes; the nearest is {nearest}."
        )
    return spec.with_overrides({"l2_ways": int(l2_bytes // step)})


def _with_bandwidth(spec: GpuSpec, gbs: float) -> GpuSpec:
    ratio = gbs / spec.memory_bandwidth_gbs
    ticks = {f"dram_{name}_ticks": getattr(spec, f"dram_{name}_ticks") for name in _SCALED_TICKS}
    scaled = {name: max(1, round(value * ratio)) for name, value in ticks.items() if value}
    return spec.with_overrides({"memory_clock_mhz": spec.memory_clock_mhz * ratio, **scaled})
