"""What held a kernel back, in words: the first thing a performance engineer wants to read."""

from sims.engine.results import KernelResult
from sims.gpus.spec import GpuSpec

BANDWIDTH_BOUND = 0.7
"""From this share of the DRAM's peak on, bandwidth and not latency is the limit."""
UNIT_BOUND = 0.7
"""From this share of a unit's time on, the unit is the limit."""

_UNITS = {
    "tensor": "tensor cores",
    "gmma": "tensor cores (warpgroup MMA)",
    "fp64": "FP64 units",
    "sfu": "special function units",
    "fp32": "FP32 units",
    "int": "integer units",
    "branch": "branch units",
    "texture": "texture units",
    "uniform": "uniform datapath",
}
_CAUSES = {
    "fetch": "instruction fetch",
    "dependency": "latency of dependent instructions",
    "register_banks": "full units and register bank conflicts",
    "shared_memory": "shared memory",
    "l1": "L1 cache",
    "l2": "L2 cache latency",
    "dram": "DRAM latency",
    "barrier": "barriers",
    "async_copy": "asynchronous copies",
    "tail": "too little work to fill the GPU",
}


def limiter_of(result: KernelResult, spec: GpuSpec) -> str:
    """One phrase: the unit or bandwidth that is used up, else what the schedulers waited for most."""
    used = result.dram_bandwidth_gbs / spec.memory_bandwidth_gbs if spec.memory_bandwidth_gbs else 0.0
    if used >= BANDWIDTH_BOUND:
        return f"DRAM bandwidth ({used:.0%} of {spec.memory_bandwidth_gbs:.0f} GB/s)"
    busy = {unit: share for unit, share in result.utilisation.items() if unit in _UNITS}
    unit = max(busy, key=lambda name: busy[name], default=None)
    if unit is not None and busy[unit] >= UNIT_BOUND:
        return f"{_UNITS[unit]} ({busy[unit]:.0%} busy)"
    shares = result.cycles_by_cause
    issue = shares.get("issue", 0.0)
    if issue >= UNIT_BOUND:
        return f"instruction issue ({issue:.0%} of the issue slots used)"
    cause = max((name for name in shares if name in _CAUSES), key=lambda name: shares[name])
    return f"{_CAUSES[cause]} ({shares[cause]:.0%} of the schedulers' cycles)"
