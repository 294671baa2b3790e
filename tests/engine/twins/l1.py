"""The L1 of one SM (section 5), as dictionaries and lists."""

from collections import deque
from dataclasses import dataclass

from tests.engine.twins.lines import Line, Sector
from tests.engine.twins.outcomes import Outcomes, kind_of


@dataclass
class L1:
    """Misses wait in ``mshrs`` (sector -> loads), the packets they send in ``misses``."""

    sets: int
    ways: int
    mshr_entries: int
    merges: int
    miss_queue: int
    write_percent: int

    def __post_init__(self) -> None:
        self.lines: list[list[Line | None]] = [[None] * self.ways for _ in range(self.sets)]
        self.mshrs: dict[int, list[int]] = {}
        self.filled: deque[int] = deque()
        self.misses: deque[tuple[str, int, int]] = deque()
        self.outcomes = Outcomes()

    def find(self, number: int) -> Line | None:
        return next((line for line in self.lines[number % self.sets] if line and line.number == number), None)

    @property
    def dirty_lines(self) -> int:
        return sum(line.dirty for ways in self.lines for line in ways if line)

    def victim(self, number: int) -> int | None:
        """The last empty way, else the least recently used one (of equals the first) that may be replaced."""
        ways = self.lines[number % self.sets]
        if None in ways:
            return max(way for way, line in enumerate(ways) if line is None)
        enough_dirty = 100 * self.dirty_lines >= self.write_percent * self.sets * self.ways
        usable = [
            (line.used, way)
            for way, line in enumerate(ways)
            if line and not line.pending and (enough_dirty or not line.dirty)
        ]
        return min(usable)[1] if usable else None

    def load(self, address: int, is_local: bool, load: int, now: int) -> str:
        """``hit``, ``wait`` or ``fail`` (to be repeated)."""
        number, kind = address // 128, kind_of(is_local, False)
        line = self.find(number)
        state = line.sectors[address // 32 % 4].state if line else "invalid"
        if line and line.sectors[address // 32 % 4].readable:
            line.used = now
            self.outcomes.note(kind, "HIT")
            return "hit"
        victim = None if line else self.victim(number)
        if line is None and victim is None:
            return self._fail(kind, "LINE_ALLOC_FAIL")
        if len(self.misses) + 1 >= self.miss_queue:
            return self._fail(kind, "MISS_QUEUE_FULL")
        waiting = self.mshrs.get(address // 32)
        if waiting is not None and len(waiting) >= self.merges:
            return self._fail(kind, "MSHR_MERGE_ENRTY_FAIL")
        if waiting is None and len(self.mshrs) >= self.mshr_entries:
            return self._fail(kind, "MSHR_ENRTY_FAIL")
        missed = "HIT_RESERVED" if state == "pending" else "SECTOR_MISS" if line else "MISS"
        self.outcomes.note(kind, missed)
        if waiting is not None:
            self.outcomes.note(kind, "MSHR_HIT")
            waiting.append(load)
            if line and line.sectors[address // 32 % 4].is_awaited:
                line.sectors[address // 32 % 4].wait()
                line.used = now
            return "wait"
        self.mshrs[address // 32] = [load]
        if line is None:
            line = self._allocate(number, victim)
        line.sectors[address // 32 % 4].wait()
        line.used = now
        self.misses.append(("load", address, 0))
        return "wait"

    def store(self, address: int, mask: int, is_local: bool, now: int) -> str:
        """``done`` or ``fail``. Written through: every store sends a packet."""
        number, kind = address // 128, kind_of(is_local, True)
        line = self.find(number)
        victim = None if line else self.victim(number)
        if line is None and victim is None:
            return self._fail(kind, "LINE_ALLOC_FAIL")
        if len(self.misses) >= self.miss_queue:
            return self._fail(kind, "MISS_QUEUE_FULL")
        if line is None:
            self.outcomes.note(kind, "MISS")
            line = self._allocate(number, victim)
        else:
            state = line.sectors[address // 32 % 4].state
            self.outcomes.note(kind, {"invalid": "SECTOR_MISS", "pending": "HIT_RESERVED"}.get(state, "HIT"))
        line.sectors[address // 32 % 4].write(mask)
        line.used = now
        self.misses.append(("store", address, mask))
        return "done"

    def fill(self, sector: int) -> None:
        line = self.find(sector // 4)
        if line:
            line.sectors[sector % 4].fill()
        self.filled.append(sector)

    def next_filled(self) -> int:
        """The load whose data come next: one at a time, by sector in the order of the fills."""
        sector = self.filled[0]
        load = self.mshrs[sector].pop(0)
        if not self.mshrs[sector]:
            del self.mshrs[sector]
            self.filled.popleft()
        return load

    def invalidate_what_came(self) -> None:
        """All sectors but those whose data are on their way, and the lines that have none of these."""
        for ways in self.lines:
            for way, line in enumerate(ways):
                if line:
                    line.sectors = [s if s.state == "pending" else Sector() for s in line.sectors]
                    ways[way] = line if line.pending else None

    def _allocate(self, number: int, way: int | None) -> Line:
        assert way is not None
        line = self.lines[number % self.sets][way] = Line(number)
        return line

    def _fail(self, kind: str, cause: str) -> str:
        self.outcomes.fail(kind, cause)
        return "fail"
