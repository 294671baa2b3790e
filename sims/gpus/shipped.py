"""The configurations that ship with Cascade: one TOML file each in this folder, every figure with its source.

A file's tables flatten to field names (``[l2] ways`` is ``l2_ways``); ``[units]`` has ``[latency, initiation
interval]`` per class; ``[sources]`` says where a field's figure is from, and under ``default`` where all others are.
"""

import tomllib
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from sims.gpus.serial import SpecError, spec_from_dict
from sims.gpus.spec import GpuSpec

_FOLDER = Path(__file__).parent
_NOT_FLATTENED = ("units", "sources")


def load_shipped() -> dict[str, GpuSpec]:
    """All shipped configurations by id, sorted by architecture."""
    return dict(_shipped())


@cache
def _shipped() -> MappingProxyType[str, GpuSpec]:
    specs = [read_toml(path) for path in _FOLDER.glob("SM*.toml")]
    return MappingProxyType({spec.id: spec for spec in sorted(specs, key=lambda spec: (spec.binary_version, spec.id))})


def read_toml(path: Path) -> GpuSpec:
    """Read one file. Raises :class:`SpecError` naming the file and the field."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SpecError({path.name: str(error)}) from error
    try:
        return spec_from_dict(_flatten(data))
    except SpecError as error:
        raise SpecError({path.name: str(error)}) from error


def _flatten(data: dict[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in data.items():
        if isinstance(value, dict) and key not in _NOT_FLATTENED:
            flat |= {f"{key}_{name}": item for name, item in value.items()}
        else:
            flat[key] = value
    sources = dict(flat.get("sources", {}))
    if "default" in sources:
        sources[""] = sources.pop("default")
    return flat | {"sources": sources}
