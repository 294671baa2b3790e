"""The instruction roofline of one sim: what its kernels reach of the GPU's issue rate and memory bandwidth.

Instructions take the place of floating point operations, as in the instruction roofline model (Ding and Williams, 2019): a
trace knows every instruction, and decode kernels are full of ones that are no arithmetic.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cascade_site.formats import duration, si, significant
from sims.gpus.spec import GpuSpec

WIDTH, HEIGHT = 760, 400
LEFT, RIGHT, TOP, BOTTOM = 88, 16, 28, 44
LANES = 32
MOST_POINTS = 400

Scale = Callable[[float], float]


@dataclass(frozen=True, slots=True)
class KernelPoint:
    """One kernel; ``instructions`` are thread instructions."""

    index: int
    name: str
    instructions: int
    dram_bytes: int
    time_ns: float
    href: str


@dataclass(frozen=True, slots=True)
class Spot:
    x: float
    y: float
    radius: float
    title: str
    href: str


@dataclass(frozen=True, slots=True)
class RooflineChart:
    """A chart for ``charts/roofline.html``."""

    spots: list[Spot]
    roof: str
    ridge: tuple[float, float]
    slope: tuple[float, float]
    """Halfway up to the ridge."""
    ridge_label: str
    compute_label: str
    memory_label: str
    x_ticks: list[tuple[float, str]]
    y_ticks: list[tuple[float, str]]

    width, height = WIDTH, HEIGHT
    left, top = LEFT, TOP
    right_x = WIDTH - RIGHT
    bottom_y = HEIGHT - BOTTOM


def roofline_chart(spec: GpuSpec, kernels: Sequence[KernelPoint], total_ns: float) -> RooflineChart | None:
    """Points by intensity (thread instructions per DRAM byte) and rate (thread instructions per second), both logarithmic.

    A kernel that moved no DRAM byte has no intensity and is left out. The roofs: every scheduler issues one warp
    instruction a cycle; DRAM delivers its peak.

    :param total_ns: the sim's whole time: a point's area is its kernel's share of it
    """
    peak = spec.sms * spec.schedulers_per_sm * LANES * spec.core_clock_mhz * 1e6
    bandwidth = spec.memory_bandwidth_gbs * 1e9
    usable = [k for k in kernels if k.instructions > 0 and k.dram_bytes > 0 and k.time_ns > 0]
    if not usable or not bandwidth:
        return None
    shown = sorted(usable, key=lambda kernel: kernel.time_ns, reverse=True)[:MOST_POINTS]
    ridge = peak / bandwidth
    xs = [kernel.instructions / kernel.dram_bytes for kernel in shown] + [ridge / 10, ridge * 10]
    ys = [kernel.instructions / kernel.time_ns * 1e9 for kernel in shown] + [peak * 1.5]
    x_low, x_high = math.log10(min(xs)) - 0.2, math.log10(max(xs)) + 0.2
    y_low, y_high = math.log10(min(ys)) - 0.2, math.log10(max(ys)) + 0.1

    def x(value: float) -> float:
        return round(LEFT + (math.log10(value) - x_low) / (x_high - x_low) * (WIDTH - LEFT - RIGHT), 1)

    def y(value: float) -> float:
        place = HEIGHT - BOTTOM - (math.log10(value) - y_low) / (y_high - y_low) * (HEIGHT - TOP - BOTTOM)
        return round(min(max(place, TOP), HEIGHT - BOTTOM), 1)

    first = max(10**x_low, 10**y_low / bandwidth)
    roof = [(first, first * bandwidth), (ridge, peak), (10**x_high, peak)]
    return RooflineChart(
        spots=[_spot(kernel, total_ns, x, y) for kernel in shown],
        roof=" ".join(f"{x(a)},{y(b)}" for a, b in roof),
        ridge=(x(ridge), y(peak)),
        slope=(x(math.sqrt(first * ridge)), y(math.sqrt(first * ridge) * bandwidth)),
        ridge_label=f"{significant(ridge)} instructions/byte",
        compute_label=f"{si(peak)} thread instructions/s: {spec.sms} SMs x {spec.schedulers_per_sm} x {LANES} lanes",
        memory_label=f"{spec.memory_bandwidth_gbs:.0f} GB/s DRAM",
        x_ticks=[(x(10.0**d), f"{10.0**d:g}") for d in range(math.ceil(x_low), math.floor(x_high) + 1)],
        y_ticks=[(y(10.0**d), si(10.0**d)) for d in range(math.ceil(y_low), math.floor(y_high) + 1)],
    )


def _spot(kernel: KernelPoint, total_ns: float, x: Scale, y: Scale) -> Spot:
    intensity = kernel.instructions / kernel.dram_bytes
    rate = kernel.instructions / kernel.time_ns * 1e9
    share = kernel.time_ns / total_ns if total_ns else 0.0
    place = f"{significant(intensity)} instructions/byte, {si(rate)}/s, {duration(kernel.time_ns)}"
    title = f"#{kernel.index} {kernel.name[:100]}: {place}"
    return Spot(x(intensity), y(rate), round(3 + 12 * math.sqrt(share), 1), title, kernel.href)
