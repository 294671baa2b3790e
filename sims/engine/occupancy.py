"""How many CTAs share an SM, and how much of its unified array stays L1 (timing measurements, sections 5 and 10)."""

from dataclasses import dataclass

from sims.engine.errors import KernelError
from sims.engine.parameters import l1_max_ways
from sims.engine.program import KernelShape
from sims.gpus.spec import GpuSpec

WARP_LANES = 32
REGISTER_GRANULE = 4
"""Registers of a thread are rounded up to this."""


@dataclass(frozen=True)
class Occupancy:
    """What the launch's shape allows on one SM."""

    ctas_per_sm: int
    limiter: str
    """The resource that sets it: warps, registers, shared memory, CTA slots or grid."""
    l1_ways: int
    warps_per_cta: int

    def warps_per_sm(self) -> int:
        """Resident warps of a full SM."""
        return self.ctas_per_sm * self.warps_per_cta


def occupancy_of(shape: KernelShape, spec: GpuSpec) -> Occupancy:
    """CTAs per SM and L1 ways; raises :class:`KernelError` naming the resource when one CTA does not fit."""
    warps = shape.warps_per_cta
    if warps < 1 or shape.ctas < 1:
        raise KernelError(f"{shape.name}: the grid {shape.grid} or block {shape.block} is empty")
    limits = _limits(shape, spec)
    limiter = min(limits, key=lambda name: limits[name])
    if limits[limiter] < 1:
        raise KernelError(_too_big(shape, spec, limiter))
    ctas = limits[limiter]
    # A small grid is spread over all SMs, so fewer CTAs than fit will share one; the carve-out follows that number.
    if shape.ctas < ctas * spec.sms:
        ctas, limiter = -(-shape.ctas // spec.sms), "grid"
    return Occupancy(ctas, limiter, _l1_ways(ctas * shape.shared_memory_bytes, spec), warps)


def _limits(shape: KernelShape, spec: GpuSpec) -> dict[str, int]:
    limits = {"warps": spec.warps_per_sm // shape.warps_per_cta, "CTA slots": spec.ctas_per_sm}
    if shape.registers_per_thread > 0:
        rounded = -(-shape.registers_per_thread // REGISTER_GRANULE) * REGISTER_GRANULE
        limits["registers"] = spec.registers_per_sm // (rounded * shape.warps_per_cta * WARP_LANES)
    if shape.shared_memory_bytes > 0:
        limits["shared memory"] = spec.shared_memory_per_sm_bytes // shape.shared_memory_bytes
    return limits


def _too_big(shape: KernelShape, spec: GpuSpec, limiter: str) -> str:
    need = {
        "warps": f"{shape.warps_per_cta} warps of {spec.warps_per_sm}",
        "registers": f"{shape.registers_per_thread} registers x {shape.threads_per_cta} threads"
        f" of {spec.registers_per_sm}",
        "shared memory": f"{shape.shared_memory_bytes} B of {spec.shared_memory_per_sm_bytes} B of shared memory",
        "CTA slots": f"a CTA slot, but {spec.id} has {spec.ctas_per_sm}",
    }
    return f"{shape.name}: one CTA does not fit on an SM of {spec.id} ({limiter}): it needs {need[limiter]}"


def _l1_ways(shared_bytes: int, spec: GpuSpec) -> int:
    """Maximum ways x (1 - carve-out / unified size), rounded, with the smallest carve-out that holds ``shared_bytes``."""
    ways = l1_max_ways(spec)
    if not spec.unified_l1_bytes:
        return ways
    for option in sorted(spec.shared_memory_options_bytes):
        if shared_bytes <= option:
            return max(1, int(ways * (1 - option / spec.unified_l1_bytes) + 0.5))
    return ways
