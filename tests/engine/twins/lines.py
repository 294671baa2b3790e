"""Lines of a sector cache."""

from dataclasses import dataclass, field

FULL_SECTOR = 0xFFFFFFFF


@dataclass
class Sector:
    """32 bytes of a line; ``written`` is a mask of its bytes."""

    state: str = "invalid"
    written: int = 0
    is_awaited: bool = False
    """Its data are on their way."""

    @property
    def readable(self) -> bool:
        return self.state in ("valid", "dirty")

    def write(self, mask: int) -> None:
        """What was not readable before becomes so when all its bytes have been written."""
        self.written |= mask
        self.state = "dirty" if self.readable or self.written == FULL_SECTOR else "partial"

    def wait(self) -> None:
        self.state, self.is_awaited = "pending", True

    def fill(self, *, is_target_of_atomic: bool = False) -> None:
        """Data came: now it can be read, and what was written before or meanwhile is dirty."""
        if self.is_awaited and self.state in ("pending", "partial"):
            self.state = "dirty" if self.written or is_target_of_atomic else "valid"
        self.is_awaited = False


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
