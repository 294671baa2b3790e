"""The operand collector of one SM (section 2): lists in the order of time."""

from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Instruction:
    """``reads`` counts what is still to be read, by register bank."""

    name: int
    pipe: int
    subcore: int
    reads: Counter[int]


@dataclass
class Collector:
    """Latches and operand latches hold one instruction per sub-core and pipe, units of a sub-core are numbered."""

    subcores: int
    units: int
    latches: list[Instruction] = field(default_factory=list)
    """Oldest first."""
    operands: dict[tuple[int, int], Instruction] = field(default_factory=dict)
    """By sub-core and pipe."""

    def __post_init__(self) -> None:
        self.collecting: list[list[Instruction | None]] = [[None] * self.units for _ in range(self.subcores)]
        self.allocated: list[list[Instruction]] = [[] for _ in range(self.subcores)]
        """What is in the units, longest first."""

    def cycle(self, written: list[set[int]]) -> None:
        """Two steps; results take the banks ``written`` (by sub-core) in the first."""
        self._step(written)
        self._step([set() for _ in range(self.subcores)])

    def _step(self, taken: list[set[int]]) -> None:
        self._dispatch()
        self._read(taken)
        self._allocate()

    def _dispatch(self) -> None:
        """Lower units first."""
        for subcore, units in enumerate(self.collecting):
            for unit, instruction in enumerate(units):
                if instruction and not instruction.reads and (subcore, instruction.pipe) not in self.operands:
                    self.operands[subcore, instruction.pipe] = instruction
                    units[unit] = None
                    self.allocated[subcore].remove(instruction)

    def _read(self, taken: list[set[int]]) -> None:
        """One read a bank, for whoever has been in its unit longest."""
        for subcore, instructions in enumerate(self.allocated):
            used = set(taken[subcore])
            for instruction in instructions:
                for bank in set(instruction.reads) - used:
                    instruction.reads -= Counter([bank])
                    used.add(bank)

    def _allocate(self) -> None:
        """Eight rounds over the pipes; each offers the oldest of its latched instructions, and only that."""
        for _ in range(8):
            for pipe in sorted({instruction.pipe for instruction in self.latches}):
                oldest = next(instruction for instruction in self.latches if instruction.pipe == pipe)
                units = self.collecting[oldest.subcore]
                if None in units:
                    units[units.index(None)] = oldest
                    self.allocated[oldest.subcore].append(oldest)
                    self.latches.remove(oldest)
