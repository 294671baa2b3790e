"""Fetch and decode of one SM (section 1)."""

from dataclasses import dataclass

from tests.engine.twins.warps import Warp

PAIRS_PER_CYCLE = 4
BUFFER_ENTRIES = 2


@dataclass
class Fetch:
    """What is fetched in one (decode, fetch) pair is decoded in the next."""

    slots: int
    pointer: int = 0
    fetched: Warp | None = None

    def cycle(self, warps: dict[int, Warp]) -> None:
        """``warps`` by slot; those that have ended are taken out."""
        for _ in range(PAIRS_PER_CYCLE):
            if self.fetched:
                self.fetched.buffered = min(BUFFER_ENTRIES, len(self.fetched.operations) - self.fetched.next)
            self.fetched = self._next(warps)

    def _next(self, warps: dict[int, Warp]) -> Warp | None:
        """The next warp, round robin, whose buffer is empty. One that is done and passed on the way ends."""
        for warp in sorted(warps.values(), key=lambda warp: (warp.slot - self.pointer - 1) % self.slots):
            if warp.is_done:
                del warps[warp.slot]
            elif not warp.buffered and warp.next < len(warp.operations):
                self.pointer = warp.slot
                return warp
        return None
