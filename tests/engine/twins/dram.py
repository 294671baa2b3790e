"""One DRAM channel (section 7): every timer is a countdown, every tick is run, nothing is skipped."""

from collections import Counter, deque
from dataclasses import dataclass, field


@dataclass
class Burst:
    """A request as DRAM sees it: ``atoms`` column commands to one row of a bank, for a slice of the channel."""

    name: int
    own: int
    is_write: bool
    bank: int
    row: int
    atoms: int
    transfers: int = 0


@dataclass
class Bank:
    queue: list[Burst] = field(default_factory=list)
    serving: Burst | None = None
    row: int = 0
    is_open: bool = False
    wait: Counter[str] = field(default_factory=Counter)
    """Ticks until the bank may ``read``, ``write``, ``precharge`` or ``activate``, and until tRC has passed (``cycle``)."""

    def next_burst(self) -> Burst:
        """The oldest to the row that was opened last, else the oldest."""
        burst = next((burst for burst in self.queue if burst.row == self.row), self.queue[0])
        self.queue.remove(burst)
        return burst


@dataclass
class Dram:
    """``timing`` has the configuration's DRAM parameters by their names in :data:`sims.engine.parameters.PARAMETERS`.

    ``to_dram`` and ``from_dram`` are the slices' queues.
    """

    timing: dict[str, int]
    slices: int
    queue: int
    to_dram: list[deque[Burst]] = field(default_factory=list)
    from_dram: list[deque[Burst]] = field(default_factory=list)
    delayed: deque[tuple[int, Burst]] = field(default_factory=deque)
    entering: deque[Burst] = field(default_factory=deque)
    bus: list[Burst | None] = field(default_factory=list)
    """What leaves the data bus in this tick, in the next one, and so on."""
    returning: deque[Burst] = field(default_factory=deque)
    counts: Counter[str] = field(default_factory=Counter)
    priority: int = 0

    def __post_init__(self) -> None:
        self.to_dram = [deque() for _ in range(self.slices)]
        self.from_dram = [deque() for _ in range(self.slices)]
        self.banks = [Bank() for _ in range(self.timing["dram_banks"])]
        self.groups: list[Counter[str]] = [Counter() for _ in range(self.timing["dram_groups"])]
        self.wait: Counter[str] = Counter()
        self.last_slice = self.slices - 1
        self.own_credit = [False] * self.slices
        self.shared_credits = 0

    def tick(self, cycle: int) -> None:
        """One command clock, in core cycle ``cycle``."""
        self._return_data()
        self._leave_bus()
        self._enter_banks()
        self._assign()
        self._command()
        self._accept(cycle)
        self._end_delay(cycle)
        for timers in (self.wait, *self.groups, *(bank.wait for bank in self.banks)):
            for name in timers:
                timers[name] = max(0, timers[name] - 1)

    @property
    def queued(self) -> int:
        return sum(len(bank.queue) for bank in self.banks)

    def _return_data(self) -> None:
        if self.returning and len(self.from_dram[self.returning[0].own]) < self.queue:
            burst = self.returning.popleft()
            self.from_dram[burst.own].append(burst)
            self._return_credit(burst.own)

    def _leave_bus(self) -> None:
        burst = self.bus.pop(0) if self.bus else None
        if burst and burst.is_write:
            self._return_credit(burst.own)
        elif burst:
            self.returning.append(burst)

    def _return_credit(self, own: int) -> None:
        """A slice's own credit comes back first."""
        if self.own_credit[own]:
            self.own_credit[own] = False
        else:
            self.shared_credits -= 1

    def _enter_banks(self) -> None:
        while self.entering:
            burst = self.entering.popleft()
            self.banks[burst.bank].queue.append(burst)

    def _from_pointer(self) -> list[int]:
        count = len(self.banks)
        return [(self.priority + i) % count for i in range(count)]

    def _assign(self) -> None:
        """One idle bank a tick gets its next request."""
        for b in self._from_pointer():
            bank = self.banks[b]
            if bank.queue and not bank.serving:
                bank.serving = bank.next_burst()
                self.priority = (self.priority + 1) % len(self.banks)
                return

    def _command(self) -> None:
        if self.timing["dual_bus"]:
            # A bus for column commands and one for row commands.
            any(self._column(b) for b in self._from_pointer())
            any(self._row(b) for b in self._from_pointer())
            return
        row_done = False
        for i in range(len(self.banks)):
            # A row command moves the pointer under the search.
            b = (self.priority + i) % len(self.banks)
            if self._column(b):
                return
            row_done = row_done or self._row(b)

    def _column(self, b: int) -> bool:
        """A read or a write of one atom, if nothing speaks against it in this tick."""
        bank, timing, group = self.banks[b], self.timing, self.groups[b % len(self.groups)]
        burst = bank.serving
        if burst is None or not bank.is_open or bank.row != burst.row:
            return False
        way = "write" if burst.is_write else "read"
        if self.wait["column"] or group["column"] or self.wait[way] or bank.wait[way]:
            return False
        self.wait["column"], group["column"] = timing["ccd"], timing["ccdl"]
        if burst.is_write:
            self.wait["read"] = timing["wtr"]
            bank.wait["precharge"] = max(bank.wait["precharge"], timing["wtp"])
            self.counts["writes"] += 1
        else:
            self.wait["write"] = timing["rtw"]
            bank.wait["precharge"] = max(bank.wait["precharge"], timing["burst_ticks"])
            group["precharge"] = timing["rtpl"]
            self.counts["reads"] += 1
        burst.transfers += 1
        is_last = burst.transfers == burst.atoms
        # The bus carries data in the order of the commands, each no earlier than its latency allows.
        latency = timing["wl"] if burst.is_write else timing["cl"]
        self.bus += [None] * (latency - 1 - len(self.bus))
        self.bus.append(burst if is_last else None)
        if is_last:
            bank.serving = None
        return True

    def _row(self, b: int) -> bool:
        """Close the row that is open, or open the one that is wanted."""
        bank, timing, group = self.banks[b], self.timing, self.groups[b % len(self.groups)]
        burst = bank.serving
        if burst is None or (bank.is_open and bank.row == burst.row):
            return False
        if bank.is_open:
            if bank.wait["precharge"] or group["precharge"]:
                return False
            bank.is_open = False
            bank.wait["activate"] = timing["rp"]
            self.counts["precharges"] += 1
        else:
            if self.wait["activate"] or bank.wait["activate"] or bank.wait["cycle"]:
                return False
            bank.is_open, bank.row = True, burst.row
            self.wait["activate"] = timing["rrd"]
            bank.wait["read"], bank.wait["write"] = timing["rcd"], timing["rcdw"]
            bank.wait["precharge"], bank.wait["cycle"] = timing["ras"], timing["rc"]
            self.counts["activates"] += 1
        self.priority = (b + 1) % len(self.banks)
        return True

    def _accept(self, cycle: int) -> None:
        """One request from the slices, alternating, if it has a credit and the scheduler room."""
        for i in range(1, self.slices + 1):
            own = (self.last_slice + i) % self.slices
            has_credit = not self.own_credit[own] or self.shared_credits < self.timing["shared_credits"]
            if not self.to_dram[own] or len(self.from_dram[own]) >= self.queue or not has_credit:
                continue
            if self.queued + len(self.entering) >= self.timing["dram_queue"]:
                return
            if self.own_credit[own]:
                self.shared_credits += 1
            else:
                self.own_credit[own] = True
            self.delayed.append((cycle + self.timing["dram_latency"], self.to_dram[own].popleft()))
            self.last_slice = own
            return

    def _end_delay(self, cycle: int) -> None:
        if self.delayed and self.delayed[0][0] <= cycle and self.queued < self.timing["dram_queue"]:
            burst = self.delayed.popleft()[1]
            self.counts["atoms written" if burst.is_write else "atoms read"] += burst.atoms
            self.entering.append(burst)
