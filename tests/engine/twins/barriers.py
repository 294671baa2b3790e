"""The named barriers of one CTA (section 4)."""

from dataclasses import dataclass, field

from tests.engine.twins.warps import Warp


@dataclass
class Barriers:
    """``threads`` take part in a barrier, or the whole CTA where they are 0; warps that have exited never do."""

    warps: list[Warp]
    arrived: dict[int, int] = field(default_factory=dict)
    waiting: dict[int, list[Warp]] = field(default_factory=dict)
    threads: dict[int, int] = field(default_factory=dict)

    def arrive(self, warp: Warp, barrier: int, threads: int, waits: bool) -> None:
        self.arrived[barrier] = self.arrived.get(barrier, 0) + 1
        self.threads[barrier] = threads
        if waits:
            self.waiting.setdefault(barrier, []).append(warp)
            warp.waits_for = "barrier"
        self._open_if_complete(barrier)

    def exited(self) -> None:
        """A warp has exited: who waited only for it goes on."""
        for barrier in [barrier for barrier, waiting in self.waiting.items() if waiting]:
            self._open_if_complete(barrier)

    def _open_if_complete(self, barrier: int) -> None:
        live = sum(warp.waits_for != "end" for warp in self.warps)
        needed = min(-(-self.threads[barrier] // 32) or live, live)
        if self.arrived[barrier] >= needed:
            for warp in self.waiting.pop(barrier, []):
                warp.waits_for = ""
            self.arrived[barrier] = 0
