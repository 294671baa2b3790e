"""A memory channel: its slices, its DRAM and the clock that ties them, cycle by cycle."""

from collections import deque
from dataclasses import dataclass, field

from tests.engine.twins import AddressMap, Clock
from tests.engine.twins.dram import Burst, Dram
from tests.engine.twins.l2 import Request, Slice, WriteBack


@dataclass
class Channel:
    """``leaving`` has a slice's replies for the crossbar, with the cycle in which each came there."""

    slices: list[Slice]
    dram: Dram
    clock: Clock
    where: AddressMap
    buffer: int
    input_limit: int
    leaving: list[deque[tuple[int, int]]] = field(default_factory=list)
    full: list[set[int]] = field(default_factory=list)
    """By slice: cycles in which it takes no request."""

    def __post_init__(self) -> None:
        self.leaving = [deque() for _ in self.slices]
        self.full = [set() for _ in self.slices]
        self.requests: dict[int, Request] = {}

    def cycle(self, now: int) -> None:
        """Ticks before this cycle, replies, a tick at its very time, slices."""
        _, before, inside = self.clock.step()
        for _ in range(before):
            self._tick(now)
        for own, part in enumerate(self.slices):
            if part.replies and len(self.leaving[own]) < self.buffer:
                self.leaving[own].append((now, part.replies.popleft().name))
        for _ in range(inside):
            self._tick(now)
        for own, part in enumerate(self.slices):
            if len(part.input) > self.input_limit:
                self.full[own].add(now)
            part.cycle(now)

    def _tick(self, now: int) -> None:
        """DRAM sees the slices' queues as they are, and leaves in them what it has not taken."""
        for own, part in enumerate(self.slices):
            self.dram.to_dram[own] = deque(self._burst(own, entry) for entry in part.to_dram)
            self.dram.from_dram[own] = deque(self._burst(own, entry) for entry in part.from_dram)
        self.dram.tick(now)
        for own, part in enumerate(self.slices):
            while len(part.to_dram) > len(self.dram.to_dram[own]):
                entry = part.to_dram.popleft()
                if isinstance(entry, Request):
                    self.requests[entry.name] = entry
            for burst in list(self.dram.from_dram[own])[len(part.from_dram) :]:
                part.from_dram.append(self.requests.pop(burst.name))

    def _burst(self, own: int, entry: Request | WriteBack) -> Burst:
        is_write = isinstance(entry, WriteBack)
        address = 128 * entry.line if isinstance(entry, WriteBack) else entry.address
        sectors = entry.sectors if isinstance(entry, WriteBack) else 1
        name = -1 if isinstance(entry, WriteBack) else entry.name
        atoms = -(-32 * sectors // self.where.spec.dram_atom_bytes)
        return Burst(name, own, is_write, self.where.bank(address), self.where.row(address), atoms)
