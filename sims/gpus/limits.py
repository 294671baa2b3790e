"""What a field of :class:`GpuSpec` may hold: type, unit and range. One table for overrides, files, forms and rows."""

import math
import re
from dataclasses import MISSING, dataclass, fields
from typing import Any

from sims.gpus.spec import GpuSpec, UnitTiming

UNIT_CLASSES = ("int", "sp", "half", "dp", "sfu", "branch", "texture", "tensor", "uniform", "gmma")
SCHEDULERS = ("lrr", "gto")
SET_INDEX_FUNCTIONS = ("L", "X", "P", "F")
PARTITION_INDEXINGS = (0, 1, 2, 3, 4, 5, 6)

_UNITS_BY_SUFFIX = {
    "_bytes": "bytes",
    "_mhz": "MHz",
    "_cycles": "core cycles",
    "_ticks": "DRAM command clocks",
    "_percent": "percent",
    "_gbs": "GB/s (1e9)",
    "_packets": "packets",
}
_MAY_BE_ZERO = {
    "launch_latency_cycles", "cta_launch_latency_cycles", "shared_memory_per_sm_bytes", "shared_memory_per_cta_bytes",
    "l1_write_ratio_percent", "l2_rop_latency_cycles", "dram_latency_cycles", "partition_indexing",
    "l2_coalescer_entries", "dram_cdlr_ticks", "dram_wr_ticks", "dram_wl_ticks", "dram_rtpl_ticks", "dram_ccdl_ticks",
    "binary_version",
}  # fmt: skip
_POWERS_OF_TWO = {"l1_sets", "l2_sets", "dram_banks", "l2_slices_per_channel"}
_CHOICES: dict[str, tuple[Any, ...]] = {"partition_indexing": PARTITION_INDEXINGS}
_MAXIMUM = {
    "l1_write_ratio_percent": 100,
    "sms": 4096,
    "warps_per_sm": 1024,
    "memory_channels": 1024,
    "schedulers_per_sm": 64,
}
_MAXIMUM_NUMBER = 2**40
_MAXIMUM_TEXT = 200
_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,199}$")
_ADDRESS_MAP = re.compile(r"dramid@\d{1,2};[0RBCS.]+$")


@dataclass(frozen=True, slots=True)
class FieldRule:
    """One field's name, kind (``int float bool str ints units texts``), unit and how its allowed values are said."""

    name: str
    kind: str
    unit: str
    required: bool
    optional: bool = False

    @property
    def allowed(self) -> str:
        """The allowed values, in words."""
        if self.name in _CHOICES:
            return "one of " + ", ".join(map(str, _CHOICES[self.name]))
        if self.kind == "bool":
            return "true or false"
        if self.kind == "units":
            return "latency,initiation interval for " + ", ".join(UNIT_CLASSES)
        if self.kind in ("str", "texts"):
            return "text"
        kind = {"int": "a whole number", "float": "a number", "ints": "ascending whole numbers joined by commas"}[
            self.kind
        ]
        power = " that is a power of two" if self.name in _POWERS_OF_TWO else ""
        least = 0 if self.name in _MAY_BE_ZERO or self.kind == "ints" else 1
        bound = f", at least {least}" if self.kind == "int" else " above 0" if self.kind == "float" else ""
        maximum = f" and at most {_MAXIMUM[self.name]}" if self.name in _MAXIMUM else ""
        return f"{kind}{power}{bound}{maximum}" + (f" ({self.unit})" if self.unit else "")


def _kind(annotation: Any) -> str:
    kinds = {int: "int", float: "float", bool: "bool", str: "str", tuple[int, ...]: "ints", float | None: "float"}
    if annotation in kinds:
        return kinds[annotation]
    return "units" if annotation == dict[str, UnitTiming] else "texts"


def _rule(item: Any) -> FieldRule:
    unit = next((unit for suffix, unit in _UNITS_BY_SUFFIX.items() if item.name.endswith(suffix)), "")
    required = item.default is MISSING and item.default_factory is MISSING
    return FieldRule(item.name, _kind(item.type), unit, required, optional=item.type == (float | None))


FIELD_RULES: dict[str, FieldRule] = {item.name: _rule(item) for item in fields(GpuSpec)}


def problem_of(name: str, value: Any) -> str | None:
    """Why ``value`` cannot be the field's, as a sentence that names field, unit and allowed values; None if it can."""
    rule = FIELD_RULES[name]
    if value is None and rule.optional:
        return None
    if _fits(rule, value):
        return None
    return f"{name} cannot be {_shown(value)}: it is {rule.allowed}."


def problems_of(spec: GpuSpec) -> list[str]:
    """Every field with an impossible value, and figures that contradict each other."""
    problems = [text for name in FIELD_RULES if (text := problem_of(name, getattr(spec, name)))]
    return problems or _contradictions(spec)


def _contradictions(spec: GpuSpec) -> list[str]:
    problems = []
    each_needs_one = f"each of the {spec.schedulers_per_sm} schedulers needs one."
    if spec.register_banks_per_sm < spec.schedulers_per_sm:
        problems.append(f"register_banks_per_sm is {spec.register_banks_per_sm}: {each_needs_one}")
    if spec.warps_per_sm < spec.schedulers_per_sm:
        problems.append(f"warps_per_sm is {spec.warps_per_sm}: {each_needs_one}")
    if spec.dram_bank_groups > spec.dram_banks:
        problems.append(f"dram_bank_groups is {spec.dram_bank_groups}, more than the {spec.dram_banks} banks.")
    if not spec.shared_memory_options_bytes:
        problems.append("shared_memory_options_bytes is empty: give 0 for an L1 with memory of its own.")
    return problems


def _fits(rule: FieldRule, value: Any) -> bool:
    if rule.kind == "bool":
        return isinstance(value, bool)
    if rule.kind == "int":
        return _fits_int(rule.name, value)
    if rule.kind == "float":
        return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < _MAXIMUM_NUMBER
    if rule.kind == "str":
        return isinstance(value, str) and _fits_text(rule.name, value)
    if rule.kind == "ints":
        whole = isinstance(value, tuple) and all(_is_int(item) and 0 <= item < _MAXIMUM_NUMBER for item in value)
        return whole and len(value) <= 64 and list(value) == sorted(set(value))
    if rule.kind == "units":
        return isinstance(value, dict) and all(_fits_unit(name, timing) for name, timing in value.items())
    return isinstance(value, dict) and all(isinstance(item, str) for pair in value.items() for item in pair)


def _fits_int(name: str, value: Any) -> bool:
    if not _is_int(value):
        return False
    if name in _CHOICES:
        return value in _CHOICES[name]
    if name in _POWERS_OF_TWO and (value < 1 or value & (value - 1)):
        return False
    return (0 if name in _MAY_BE_ZERO else 1) <= value <= _MAXIMUM.get(name, _MAXIMUM_NUMBER)


def _fits_text(name: str, value: str) -> bool:
    if name == "id":
        return bool(_ID.match(value))
    if name == "dram_address_map":
        return bool(_ADDRESS_MAP.match(value)) and len(value.partition(";")[2].replace(".", "")) == 64
    return 0 < len(value) <= _MAXIMUM_TEXT and value.isprintable()


def _fits_unit(name: Any, timing: Any) -> bool:
    if name not in UNIT_CLASSES or not isinstance(timing, UnitTiming):
        return False
    return all(
        _is_int(cycles) and 1 <= cycles <= 1_000_000 for cycles in (timing.latency_cycles, timing.initiation_cycles)
    )


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _shown(value: Any) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return repr(value)[:80]
