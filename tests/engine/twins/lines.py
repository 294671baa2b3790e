"""Lines of a sector cache."""

from dataclasses import dataclass, field

FULL_SECTOR = 0xFFFFFFFF


@dataclass
class Sector:
    """32 bytes of a line; ``written`` is a mask of its bytes."""

    state: str = "invalid"
    written: int = 0

    @property
    def readable(self) -> bool:
        return self.state in ("valid", "dirty")

    def write(self, mask: int) -> None:
        """What was not readable before becomes so when all its bytes have been written."""
        self.written |= mask
        self.state = "dirty" if self.readable or self.written == FULL_SECTOR else "partial"


@dataclass
class Line:
    number: int
    used: int = -1
    sectors: list[Sector] = field(default_factory=lambda: [Sector() for _ in range(4)])

    @property
    def pending(self) -> bool:
        return any(sector.state == "pending" for sector in self.sectors)

    @property
    def dirty(self) -> bool:
        return any(sector.state in ("dirty", "partial") for sector in self.sectors)
