"""A GPU config keeps its colour on every page, and the configs of a run are told apart by theirs."""

import zlib
from collections.abc import Iterable, Sequence

from cascade_site.config_label import ConfigLabel

REAL = 7
"""The real run's grey, which no config has."""

# The last one is close to the first.
PALETTE = (0, 1, 2, 3, 4, 6, 8, 9, 10, 5)

# Configs that ship stand side by side most often: theirs differ for certain.
_FIXED = {
    "SM86_RTX3070": 0,
    "SM80_A100": 1,
    "SM90_H100": 2,
    "SM7_QV100": 3,
    "SM75_RTX2060": 4,
    "SM89_RTX4090": 6,
}


def colour_of(gpu_config: str) -> int:
    """The place in the palette: fixed for a shipped config, else by the name's checksum.

    A config with other values, ``SM86_RTX3070 sms=20``, has the colour of the one that it is made from.
    """
    name = ConfigLabel.of(gpu_config).config_id
    fixed = _FIXED.get(name)
    return PALETTE[zlib.crc32(name.encode()) % len(PALETTE)] if fixed is None else fixed


def colours_of(gpu_configs: Sequence[str]) -> list[int]:
    """Colours for configs side by side: each its own, or where another has that already the next free one.

    Unchanged configs choose before those with other values. More than the palette has share colours in turn.
    """
    chosen: dict[int, int] = {}
    places = sorted(range(len(gpu_configs)), key=lambda place: ConfigLabel.of(gpu_configs[place]).is_changed)
    for place in places:
        if (own := colour_of(gpu_configs[place])) not in chosen.values():
            chosen[place] = own
    for place in places:
        if place not in chosen:
            free = (colour for colour in PALETTE if colour not in chosen.values())
            chosen[place] = next(free, PALETTE[place % len(PALETTE)])
    return [chosen[place] for place in range(len(gpu_configs))]


def colours_by_config(gpu_configs: Iterable[str]) -> dict[str, int]:
    """The same for configs that have a label each, as those of a run do."""
    labels = list(gpu_configs)
    return dict(zip(labels, colours_of(labels), strict=True))
