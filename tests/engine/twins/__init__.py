"""Plain Python twins of the engine's parts: slow, obvious, written from the timing measurements alone."""

from dataclasses import dataclass, field

from sims.engine.hashing import taps_of
from sims.engine.parameters import read_address_map
from sims.gpus import GpuSpec


def ipoly(high: int, index: int, size: int) -> int:
    """Each index bit XOR the parity of its taps in ``high``."""
    result = 0
    for i, taps in enumerate(taps_of(size)):
        bit = index >> i & 1
        for tap in taps:
            bit ^= high >> tap & 1
        result |= bit << i
    return result


@dataclass
class AddressMap:
    """Slice, bank, row and L2 set of an address (section 7)."""

    spec: GpuSpec

    def __post_init__(self) -> None:
        self.bits = read_address_map(self.spec.dram_address_map)
        self.channels = self.spec.memory_channels
        self.width = self.channels.bit_length() - 1
        self.even = self.channels == 1 << self.width

    def moved(self, position: int) -> int:
        """Where a mapping bit lies in the real address: above the channel field everything moves up."""
        return position + self.width if self.even and position >= 8 else position

    def divided(self, address: int) -> int:
        return address if self.even else (address >> 8) // self.channels << 8 | address & 255

    def field(self, address: int, positions: tuple[int, ...]) -> int:
        return sum((self.divided(address) >> self.moved(p) & 1) << i for i, p in enumerate(positions))

    def bank(self, address: int) -> int:
        return self.field(address, self.bits.bank)

    def row(self, address: int) -> int:
        return self.field(address, self.bits.row)

    def slice(self, address: int) -> int:
        block = address >> 8
        channel = block % self.channels
        plain = 2 * channel + (self.bank(address) & 1)
        if self.spec.partition_indexing != 2:
            return plain
        return ipoly(block >> self.width + 1, plain, 2 * self.channels)

    def l2_set(self, address: int) -> int:
        packed = address >> 8 + self.width << 8 | address & 255 if self.even else self.divided(address)
        low = self.bits.bank[0]
        packed = packed >> low + 1 << low | packed & (1 << low) - 1
        line, sets = packed >> 7, self.spec.l2_sets
        return ipoly(line // sets, line % sets, sets)


@dataclass
class RoundRobin:
    """A crossbar output: the first input that wants it from the pointer on; the pointer moves past it."""

    inputs: int
    pointer: int = 0

    def grant(self, wanting: set[int]) -> int:
        chosen = min(wanting, key=lambda i: (i - self.pointer) % self.inputs)
        self.pointer = (chosen + 1) % self.inputs
        return chosen


@dataclass
class Clock:
    """DRAM ticks of each core cycle, with exact fractions of a common time unit."""

    core_period: float
    dram_period: float
    core_time: float = 0.0
    dram_time: float = 0.0
    ticks: int = 0
    cycles: list[tuple[int, int, int]] = field(default_factory=list)

    def step(self) -> tuple[int, int, int]:
        """(first tick, ticks before the cycle, ticks at its very time)."""
        first, before = self.ticks, 0
        while self.dram_time < self.core_time:
            self.dram_time, before = self.dram_time + self.dram_period, before + 1
        inside = int(self.dram_time == self.core_time)
        self.dram_time += inside * self.dram_period
        self.core_time += self.core_period
        self.ticks += before + inside
        return first, before, inside
