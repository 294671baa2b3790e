"""From the GPU configs a run asks for to the ones it simulates: overrides and sweeps make further configs of them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from cascade_site.config_label import ConfigLabel
from sims.gpus import OverrideError, apply_overrides
from sims.gpus.spec import GpuSpec

MAX_LABEL_LENGTH = 200


@dataclass(frozen=True, slots=True)
class Variant:
    """One config of a run."""

    label: str
    """As :class:`cascade_site.config_label.ConfigLabel` writes it."""
    spec: GpuSpec
    overrides: dict[str, Any]


def variants(
    specs: Mapping[str, GpuSpec], overrides: Mapping[str, Any], sweep: Mapping[str, Sequence[Any]]
) -> Iterator[Variant]:
    """Each config with the overrides, once for every combination of the sweep's values.

    Raises :class:`OverrideError` for a value that a config cannot have.
    """
    for config_id, spec in specs.items():
        for values in product(*sweep.values()):
            chosen = {**overrides, **dict(zip(sweep, values, strict=True))}
            yield Variant(label(config_id, chosen), apply_overrides(spec, chosen) if chosen else spec, chosen)


def label(config_id: str, overrides: Mapping[str, Any]) -> str:
    """``SM86_RTX3070 l2_bytes=8388608``."""
    changes = " ".join(f"{name}={_short(value)}" for name, value in overrides.items())
    text = str(ConfigLabel(config_id, changes))
    if len(text) > MAX_LABEL_LENGTH:
        raise OverrideError(f"{len(overrides)} overrides at once are too many to tell the configs of a run apart.")
    return text


def _short(value: Any) -> str:
    return ",".join(map(_short, value)) if isinstance(value, list | tuple) else str(value)
