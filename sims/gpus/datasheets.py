"""What NVIDIA's data sheets say, to hold a configuration against: DRAM bandwidth by product, and architectures."""

import re

ARCHITECTURES = {
    10: "Tesla", 20: "Fermi", 30: "Kepler", 35: "Kepler", 37: "Kepler", 50: "Maxwell", 52: "Maxwell", 53: "Maxwell",
    60: "Pascal", 61: "Pascal", 62: "Pascal", 70: "Volta", 72: "Volta", 75: "Turing",
    80: "Ampere", 86: "Ampere", 87: "Ampere", 89: "Ada Lovelace", 90: "Hopper",
    100: "Blackwell", 103: "Blackwell", 120: "Blackwell",
}  # fmt: skip

BANDWIDTH_GBS: dict[str, tuple[float, ...]] = {
    "H200": (4800.0,),
    "H100": (3350.0, 2039.0, 3938.0),  # SXM; PCIe; NVL, per GPU
    "A100": (2039.0, 1935.0, 1555.0),  # 80 GB SXM; 80 GB PCIe; 40 GB
    "A30": (933.0,),
    "A40": (696.0,),
    "L40S": (864.0,),
    "L4": (300.0,),
    "QV100": (870.0,),
    "GV100": (870.0,),
    "V100": (900.0, 1134.0),  # SXM2 and PCIe; V100S
    "TITANV": (652.8,),
    "TITANX": (480.0,),
    "T4": (320.0,),
    "RTX2060": (336.0,),
    "RTX2070": (448.0,),
    "RTX2080TI": (616.0,),
    "RTX3060TI": (448.0,),
    "RTX3060": (360.0,),
    "RTX3070": (448.0,),
    "RTX3080": (760.0, 912.0),  # 10 GB; 12 GB
    "RTX3090": (936.0,),
    "RTX4080": (717.0,),
    "RTX4090": (1008.0,),
    "RTX5080": (960.0,),
    "RTX5090": (1792.0,),
    "GTX1080TI": (484.0,),
    "GTX480": (177.4,),
    "P100": (732.0,),
}
"""GB/s (1e9) of each variant that shares the name, from the products' data sheets. Longer names are matched first."""


def architecture_of(binary_version: int) -> str:
    """The architecture's name for an SM version such as 86; ``unknown`` for one we have not heard of."""
    return ARCHITECTURES.get(binary_version, "unknown")


def datasheet_bandwidth_gbs(config_id: str, modelled_gbs: float) -> float | None:
    """The data sheet's figure for a config's id, of the variant nearest to the modelled; None for an unknown GPU."""
    words = re.sub(r"[^A-Z0-9]", "", config_id.upper())
    if "MIG" in words:  # a slice of a GPU: the data sheet's figure is the whole one's
        return None
    for product in sorted(BANDWIDTH_GBS, key=len, reverse=True):
        # A longer number is another product (RTX30700 is no RTX3070).
        if re.search(rf"{product}(?![0-9])", words):
            return min(BANDWIDTH_GBS[product], key=lambda gbs: abs(gbs - modelled_gbs))
    return None
