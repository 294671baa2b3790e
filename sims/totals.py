"""A sim's totals over its kernels."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.db.models import Sum

if TYPE_CHECKING:
    from sims.models import Sim


@dataclass(frozen=True, slots=True)
class Totals:
    cycles: int | None
    instructions: int | None
    ipc: float | None
    simulated_ns: float | None
    real_ns: int | None
    error: float | None


def totals(sim: "Sim") -> Totals:
    """Sums over the kernels simulated so far.

    ``real_ns`` is the real time of those of them whose real time is known, ``error`` compares it with the simulated time of
    the same kernels (a kernel without a real time counts on neither side).
    """
    summed = sim.kernels.aggregate(
        cycles=Sum("cycles"), instructions=Sum("instructions"), simulated_ns=Sum("simulated_ns")
    )
    real_by_index = dict(sim.run.trace.kernels.filter(real_ns__isnull=False).values_list("index", "real_ns"))
    real, simulated = 0, 0.0
    for index, simulated_ns in sim.kernels.values_list("index", "simulated_ns"):
        if index in real_by_index and simulated_ns is not None:
            real += real_by_index[index] or 0
            simulated += simulated_ns
    cycles, instructions = summed["cycles"], summed["instructions"]
    return Totals(
        cycles=cycles,
        instructions=instructions,
        ipc=instructions / cycles if cycles and instructions is not None else None,
        simulated_ns=summed["simulated_ns"],
        real_ns=real or None,
        error=(simulated - real) / real if real else None,
    )
