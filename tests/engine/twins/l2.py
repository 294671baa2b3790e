"""One L2 slice (section 6), as dictionaries and queues; a cycle is a cycle."""

from collections import deque
from dataclasses import dataclass, field

from tests.engine.twins.lines import Line
from tests.engine.twins.outcomes import Outcomes, kind_of


@dataclass
class Request:
    """``name`` tells it from others; ``cache_set`` is where its line belongs."""

    name: int
    kind: str  # load, bypass, atomic or store
    address: int
    cache_set: int
    mask: int = 0
    is_local: bool = False

    @property
    def sector(self) -> int:
        return self.address // 32


@dataclass
class WriteBack:
    """The dirty sectors of a line that had to go."""

    line: int
    sectors: int


@dataclass
class Miss:
    """Requests that wait for one sector."""

    waiting: list[Request]
    cache_set: int

    @property
    def atomic(self) -> bool:
        return any(request.kind == "atomic" for request in self.waiting)


@dataclass
class Slice:
    """Queues in the order a request passes them. ``copied`` sectors of memcpy count as time for the LRU."""

    ways: int
    mshr_entries: int
    merges: int
    miss_queue: int
    queue: int
    lines: dict[int, list[Line | None]] = field(default_factory=dict)
    mshrs: dict[int, Miss] = field(default_factory=dict)
    filled: deque[int] = field(default_factory=deque)
    delayed: deque[tuple[int, Request]] = field(default_factory=deque)
    input: deque[Request] = field(default_factory=deque)
    misses: deque[Request | WriteBack] = field(default_factory=deque)
    to_dram: deque[Request | WriteBack] = field(default_factory=deque)
    from_dram: deque[Request] = field(default_factory=deque)
    replies: deque[Request] = field(default_factory=deque)
    outcomes: Outcomes = field(default_factory=Outcomes)
    port_free: int = 0
    copied: int = 0

    def cycle(self, now: int) -> None:
        if self.filled and len(self.replies) < self.queue:
            self.replies.append(self._next_filled())
        if self.from_dram:
            self._fill(self.from_dram.popleft())
        if self.misses and len(self.to_dram) < self.queue:
            self.to_dram.append(self.misses.popleft())
        if self.input and self.port_free <= now and max(len(self.to_dram), len(self.replies)) < self.queue:
            request = self.input[0]
            if self._write(request, now) if request.kind == "store" else self._read(request, now):
                self.input.popleft()
        if self.delayed and self.delayed[0][0] <= now and len(self.input) < self.queue:
            self.input.append(self.delayed.popleft()[1])

    def copy(self, address: int, cache_set: int, now: int) -> None:
        """One sector of a memcpy: valid at once, and what it replaces or overwrites is not written back."""
        line = self.find(address // 128, cache_set)
        if line is None:
            line = self._allocate(address // 128, cache_set)
        sector = line.sectors[address // 32 % 4]
        if sector.state == "invalid":
            line.used = now + self.copied
        sector.state = "valid"
        self.copied += 1

    def find(self, number: int, cache_set: int) -> Line | None:
        return next((line for line in self._set(cache_set) if line and line.number == number), None)

    def _set(self, cache_set: int) -> list[Line | None]:
        return self.lines.setdefault(cache_set, [None] * self.ways)

    def _victim(self, cache_set: int) -> int | None:
        """The last empty way, else the least recently used one without a pending sector."""
        ways = self._set(cache_set)
        if None in ways:
            return max(way for way, line in enumerate(ways) if line is None)
        usable = [(line.used, way) for way, line in enumerate(ways) if line and not line.pending]
        return min(usable)[1] if usable else None

    def _allocate(self, number: int, cache_set: int) -> Line:
        way = self._victim(cache_set)
        assert way is not None
        line = self._set(cache_set)[way] = Line(number)
        return line

    def _write(self, request: Request, now: int) -> bool:
        """Whether it was done; a store is answered at its look-up."""
        kind, number = kind_of(request.is_local, True), request.address // 128
        line = self.find(number, request.cache_set)
        state = line.sectors[request.sector % 4].state if line else "invalid"
        is_hit = state in ("valid", "dirty", "partial")
        if line is None and self._victim(request.cache_set) is None:
            return self._fail(kind, "LINE_ALLOC_FAIL")
        if not is_hit and len(self.misses) >= self.miss_queue:
            return self._fail(kind, "MISS_QUEUE_FULL")
        if is_hit:
            self.outcomes.note(kind, "HIT")
            self.port_free = now + 1
        else:
            self.outcomes.note(
                kind, "HIT_RESERVED" if state == "pending" else "SECTOR_MISS" if line is not None else "MISS"
            )
        self.replies.append(request)
        if line is None:
            line, dirty = self._replace(number, request.cache_set)
            self.port_free = now + dirty
        line.sectors[request.sector % 4].write(request.mask)
        line.used = now + self.copied
        return True

    def _read(self, request: Request, now: int) -> bool:
        """Whether the request has left the input: answered, waiting for data, or on its way to DRAM."""
        kind, number, s = kind_of(request.is_local, False), request.address // 128, request.sector % 4
        line = self.find(number, request.cache_set)
        if line and line.sectors[s].readable:
            line.used = now + self.copied
            if request.kind == "atomic":
                line.sectors[s].state = "dirty"
            self.port_free = now + 1
            self.outcomes.note(kind, "HIT")
            self.replies.append(request)
            return True
        if line is None and self._victim(request.cache_set) is None:
            return self._fail(kind, "LINE_ALLOC_FAIL")
        if len(self.misses) + 1 >= self.miss_queue:
            return self._fail(kind, "MISS_QUEUE_FULL")
        miss = self.mshrs.get(request.sector)
        if miss and len(miss.waiting) >= self.merges:
            return self._fail(kind, "MSHR_MERGE_ENRTY_FAIL")
        if miss is None and len(self.mshrs) >= self.mshr_entries:
            return self._fail(kind, "MSHR_ENRTY_FAIL")
        is_pending = line is not None and line.sectors[s].state == "pending"
        self.outcomes.note(kind, "HIT_RESERVED" if is_pending else "SECTOR_MISS" if line is not None else "MISS")
        if miss:
            self.outcomes.note(kind, "MSHR_HIT")
            miss.waiting.append(request)
            if line and line.sectors[s].is_awaited:
                line.sectors[s].wait()
                line.used = now + self.copied
            return True
        self.mshrs[request.sector] = Miss([request], request.cache_set)
        self.misses.append(request)
        if line is None:
            line, _ = self._replace(number, request.cache_set)
        line.sectors[s].wait()
        line.used = now + self.copied
        return True

    def _replace(self, number: int, cache_set: int) -> tuple[Line, int]:
        """The victim's dirty sectors leave as one write-back. That of a write keeps the data port busy for as many cycles."""
        way = self._victim(cache_set)
        assert way is not None
        old = self._set(cache_set)[way]
        dirty = sum(sector.state in ("dirty", "partial") for sector in old.sectors) if old else 0
        if old and dirty:
            self.misses.append(WriteBack(old.number, dirty))
        return self._allocate(number, cache_set), dirty

    def _fill(self, request: Request) -> None:
        line = self.find(request.sector // 4, request.cache_set)
        if line:
            line.sectors[request.sector % 4].fill(is_target_of_atomic=self.mshrs[request.sector].atomic)
        self.filled.append(request.sector)

    def _next_filled(self) -> Request:
        sector = self.filled[0]
        request = self.mshrs[sector].waiting.pop(0)
        if not self.mshrs[sector].waiting:
            del self.mshrs[sector]
            self.filled.popleft()
        return request

    def _fail(self, kind: str, cause: str) -> bool:
        self.outcomes.fail(kind, cause)
        return False
