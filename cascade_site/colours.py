"""A GPU config keeps its colour on every page."""

import zlib

PALETTE_SIZE = 8

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
    """The place in the palette (0 to 7): fixed for a shipped config, else by the name's checksum."""
    fixed = _FIXED.get(gpu_config)
    return zlib.crc32(gpu_config.encode()) % PALETTE_SIZE if fixed is None else fixed
