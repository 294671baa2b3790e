"""The schedulers of one SM and its scoreboard (section 2)."""

from collections.abc import Callable, Container
from dataclasses import dataclass

from sims.engine.program import BARRIER_WAITS
from tests.engine.twins.barriers import Barriers
from tests.engine.twins.warps import Operation, Warp


@dataclass
class Issue:
    """Loose round robin in each sub-core; the sub-cores are visited in rotating order."""

    subcores: int
    slots: int
    turn: int = 0

    def __post_init__(self) -> None:
        self.last = [self.slots - 1] * self.subcores

    def cycle(
        self,
        warps: dict[int, Warp],
        barriers: dict[int, Barriers],
        latched: Container[tuple[int, int]],
        on_issue: Callable[[Warp, Operation], None],
    ) -> int:
        """One instruction a sub-core at most; returns how many MEMBARs ended, as they do when a scheduler looks at their warp.

        ``barriers`` by slot of a warp; ``latched`` are full latches (sub-core, pipe).
        """
        membars_ended = 0
        for i in range(self.subcores):
            subcore = (self.turn + i) % self.subcores
            own = [warp for warp in warps.values() if warp.slot % self.subcores == subcore]
            for warp in sorted(own, key=self._distance):
                if warp.waits_for == "membar" and not warp.pending:
                    warp.waits_for = ""
                    membars_ended += 1
                if self._may_issue(warp, subcore, latched):
                    self.last[subcore] = warp.slot
                    operation = warp.operations[warp.next]
                    on_issue(warp, operation)
                    _take_effect(warp, operation, barriers[warp.slot])
                    break
        self.turn += 1
        return membars_ended

    def _distance(self, warp: Warp) -> int:
        """The search begins after the warp of the sub-core that issued last."""
        return (warp.slot - self.last[warp.slot % self.subcores] - 1) % self.slots

    def _may_issue(self, warp: Warp, subcore: int, latched: Container[tuple[int, int]]) -> bool:
        if not warp.buffered or _still_waits(warp):
            return False
        operation = warp.operations[warp.next]
        registers = {*operation.sources, operation.destination}
        return not registers & warp.pending and (subcore, operation.pipe) not in latched


def _still_waits(warp: Warp) -> bool:
    """DEPBAR waits for groups of copies; for the rest somebody else lets the warp go on."""
    if warp.waits_for == "copies" and not any(warp.groups[: warp.awaited_groups]):
        warp.waits_for = ""
    return warp.waits_for != ""


def _take_effect(warp: Warp, operation: Operation, barriers: Barriers) -> None:
    """What an instruction does to its warp in the cycle in which it issues."""
    warp.next += 1
    warp.buffered -= 1
    warp.in_flight += 1
    if operation.destination is not None:
        warp.pending.add(operation.destination)
    has_lanes = operation.operand is not None
    match operation.kind:
        case "exit" if warp.next == len(warp.operations):
            warp.waits_for = "end"
            barriers.exited()
        case "barrier" | "arrive" if has_lanes:
            waits = operation.kind == "barrier" or operation.operand & BARRIER_WAITS
            barriers.arrive(warp, operation.operand & 15, operation.operand % BARRIER_WAITS >> 4, waits)
        case "membar":
            warp.waits_for = "membar"
        case "atomic" if has_lanes:
            warp.waits_for = "atomic"
        case "copy" if has_lanes:
            warp.groups[-1] += 1
        case "close":
            warp.groups.append(0)
        case "wait":
            warp.awaited_groups = max(0, len(warp.groups) - 1 - operation.operand)
            warp.waits_for = "copies"
