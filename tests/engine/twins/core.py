"""One SM, put together from the twins of its parts, cycle by cycle."""

from collections import Counter
from dataclasses import dataclass, field

from tests.engine.twins.barriers import Barriers
from tests.engine.twins.collector import Collector, Instruction
from tests.engine.twins.fetch import Fetch
from tests.engine.twins.issue import Issue
from tests.engine.twins.loadstore import LoadStore
from tests.engine.twins.units import Operation as Started
from tests.engine.twins.units import Units
from tests.engine.twins.warps import Operation, Warp

RESULT_DELAY = 2
"""Cycles from the end of a unit's pipe to the write-back."""


@dataclass(eq=False)
class Issued:
    """An instruction between issue and its unit; ``group`` is the one that copies of its warp belonged to then."""

    warp: Warp
    operation: Operation
    group: int


@dataclass
class Core:
    """``memory_pipe`` is the number of the load/store unit's pipe."""

    fetch: Fetch
    issue: Issue
    collector: Collector
    units: Units
    loadstore: LoadStore
    register_banks: int
    memory_pipe: int
    warps: dict[int, Warp] = field(default_factory=dict)
    barriers: dict[int, Barriers] = field(default_factory=dict)
    issued: list[Issued] = field(default_factory=list)
    results: dict[int, list[Issued]] = field(default_factory=dict)
    """By the cycle in which they are written."""

    def start_cta(self, first_slot: int, warps: list[list[Operation]]) -> None:
        """At the end of a cycle: fetch can take its warps in the next."""
        started = [Warp(first_slot + i, operations) for i, operations in enumerate(warps)]
        self.warps |= {warp.slot: warp for warp in started}
        self.barriers |= dict.fromkeys((warp.slot for warp in started), Barriers(started))

    def cycle(self, now: int) -> None:
        """Write-back, units, load/store unit, collector, issue, fetch."""
        has_work = bool(self.warps)
        written = self._write_results(now)
        self._start_units(now)
        self.loadstore.cycle(now, written)
        self._dispatch_memory(now)
        self.collector.cycle(written)
        if has_work:
            latched = {(one.subcore, one.pipe) for one in self.collector.latches}
            membars_ended = self.issue.cycle(self.warps, self.barriers, latched, self._latch)
            if membars_ended:
                self.loadstore.l1.invalidate_what_came()
        self.fetch.cycle(self.warps)

    def _write_results(self, now: int) -> list[set[int]]:
        """The register banks that take them, by sub-core."""
        written: list[set[int]] = [set() for _ in range(self.issue.subcores)]
        for one in self.results.pop(now, []):
            one.warp.in_flight -= 1
            if one.operation.destination is not None:
                one.warp.pending.remove(one.operation.destination)
                written[one.warp.slot % self.issue.subcores].add(self._bank(one.operation.destination, one.warp))
        return written

    def _start_units(self, now: int) -> None:
        waiting = {
            at: self.issued[one.name] for at, one in self.collector.operands.items() if at[1] != self.memory_pipe
        }
        self.units.waiting = {at: Started(one.operation.latency, one.operation.interval) for at, one in waiting.items()}
        self.units.cycle(now)
        for at in waiting.keys() - self.units.waiting.keys():
            del self.collector.operands[at]
            self.results.setdefault(now + waiting[at].operation.latency + RESULT_DELAY, []).append(waiting[at])

    def _dispatch_memory(self, now: int) -> None:
        """The oldest whose operands are read."""
        waiting = {at: one.name for at, one in self.collector.operands.items() if at[1] == self.memory_pipe}
        if waiting and self.loadstore.dispatched is None:
            oldest = min(waiting, key=lambda at: waiting[at])
            one = self.issued[self.collector.operands.pop(oldest).name]
            self.loadstore.dispatch(one.warp, one.operation, one.group, now)

    def _latch(self, warp: Warp, operation: Operation) -> None:
        reads = Counter(self._bank(register, warp) for register in set(operation.sources))
        subcore = warp.slot % self.issue.subcores
        self.collector.latches.append(Instruction(len(self.issued), operation.pipe, subcore, reads))
        self.issued.append(Issued(warp, operation, len(warp.groups) - 1))

    def _bank(self, register: int, warp: Warp) -> int:
        return (register + 1 + warp.slot) % self.register_banks
