"""Kernels that are not simulated because another's result stands for theirs: chosen at launch, filled in at the end."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sims.representatives import ListedKernel, plan
from sims.sharding import work_of
from traces.models import TraceKernel

if TYPE_CHECKING:
    from sims.models import Sim, SimKernel


@dataclass(frozen=True, slots=True)
class Choice:
    """Which kernels of a sim to simulate; ``stand_ins`` as :class:`sims.models.Sim` keeps it."""

    kernel_indices: list[int]
    stand_ins: dict[str, object]


def choose(kernels: Sequence[TraceKernel]) -> Choice | None:
    """One warm instance per class of repeating kernels; None where nothing repeats often enough to gain anything."""
    listed = [
        ListedKernel(kernel.index, kernel.name, tuple(kernel.grid), tuple(kernel.block), work_of(kernel))
        for kernel in kernels
    ]
    found = plan(listed)
    if not found.stands_in:
        return None
    of = {str(index): source for index, source in found.stands_in.items()}
    return Choice(found.launches(), {"of": of, "coverage": found.coverage, "reduction": found.reduction})


def fill_in(sim: "Sim") -> "list[SimKernel]":
    """A result for each kernel that was not simulated, where the one that stands for it has one."""
    from sims.models import SimKernel

    pairs = {int(index): source for index, source in sim.stand_ins.get("of", {}).items()}
    sources = {kernel.index: kernel for kernel in sim.kernels.filter(index__in=set(pairs.values()))}
    names = dict(sim.run.trace.kernels.values_list("index", "name"))
    rows = []
    for index, source in pairs.items():
        if source in sources:
            row = SimKernel(**{name: getattr(sources[source], name) for name in SimKernel.RESULT_FIELDS})
            row.sim, row.index, row.name = sim, index, names.get(index, row.name)
            row.launch_uid, row.source = None, f"same-as {source}"
            rows.append(row)
    return SimKernel.objects.store(rows)
