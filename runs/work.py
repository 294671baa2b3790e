"""Which of a trace's kernels the sims of a run simulate, and in how many pieces."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sims.models import Sim
from sims.sharding import make_shards
from sims.stand_ins import choose
from traces.models import Trace, TraceKernel
from traces.selection import parse_selection


@dataclass(frozen=True, slots=True)
class Work:
    """The same for every sim of a run."""

    indices: list[int]
    """The kernels to simulate; empty for all of the trace."""
    total: int
    """How many kernels have a result in the end."""
    kernels: Sequence[TraceKernel] = ()
    """Their rows, where something has to be known of them."""
    stand_ins: dict[str, Any] = field(default_factory=dict)
    shards: int = 1

    def shards_of(self, sims: Sequence[Sim]) -> list[Sim]:
        """The shards of a run's sims, not saved yet."""
        return (
            [shard for sim in sims for shard in make_shards(sim, self.kernels, self.shards)] if self.shards > 1 else []
        )


def work_for(trace: Trace, selection: str, options: Mapping[str, Any]) -> Work:
    """The work of a run. Raises ``ValueError`` for a selection that is wrong or beyond the trace."""
    total = trace.kernels_total or 0
    indices = parse_selection(selection, total)
    shards = int(options.get("shards", 1))
    if shards < 2 and not options.get("representatives"):
        return Work([] if len(indices) == total else indices, len(indices))
    # Picked out here: SQLite as some Pythons bring it takes no more than 32,766 values in one statement.
    wanted = set(indices)
    kernels = [kernel for kernel in trace.kernels.order_by("index") if kernel.index in wanted]
    chosen = choose(kernels) if options.get("representatives") else None
    if chosen is None:
        return Work([] if len(indices) == total else indices, len(indices), kernels, shards=shards)
    return Work(chosen.kernel_indices, len(indices), kernels, chosen.stand_ins, shards)
