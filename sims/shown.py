"""Config values as pages show them, side by side: nested ones under a dotted name, as ``units.tensor``."""

from collections.abc import Mapping, Sequence
from typing import Any

from sims.gpus import diff, spec_from_dict

_HIDDEN = ("sources", "id", "name")


def value_names(configs: Sequence[Mapping[str, Any]]) -> list[str]:
    """The names of all values of some configs, in the order in which configs have them."""
    names: dict[str, None] = {}
    for config in configs:
        for name, value in config.items():
            if name in _HIDDEN:
                continue
            nested = [f"{name}.{key}" for key in value] if isinstance(value, Mapping) else [name]
            names.update(dict.fromkeys(nested))
    return list(names)


def value_of(config: Mapping[str, Any], name: str) -> str:
    """A value as text; a dash where the config does not have it."""
    head, _, key = name.partition(".")
    value = config.get(head)
    if key:
        value = value.get(key) if isinstance(value, Mapping) else None
    if value is None:
        return "–"
    if isinstance(value, Mapping):
        return ", ".join(f"{key.removesuffix('_cycles')} {part}" for key, part in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(str(part) for part in value)
    return str(value)


def software_rows(softwares: Sequence[Mapping[str, str]]) -> list[dict[str, Any]]:
    """What some sims were computed with, a row a name: ``name``, ``values`` and whether they ``differs``."""
    rows = []
    for name in dict.fromkeys(name for software in softwares for name in software):
        values = [software.get(name, "–") for software in softwares]
        rows.append({"name": name, "values": values, "differs": len(set(values)) > 1})
    return rows


def differing_names(configs: Sequence[Mapping[str, Any]]) -> set[str]:
    """The names of the values in which any config differs from the first."""
    specs = [spec_from_dict(dict(config)) for config in configs]
    return {difference.name for spec in specs[1:] for difference in diff(specs[0], spec)}
