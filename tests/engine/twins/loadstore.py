"""The load/store unit of one SM (sections 3, 5, 8, 9): what is dispatched, the L1's bank queues, the write-back slot."""

from collections import deque
from dataclasses import dataclass, field
from typing import Any

from tests.engine.twins.l1 import L1
from tests.engine.twins.warps import Operation, Warp

LOCAL_BASE = 0xC0000000 - 80 * 98304 - 80 * 2048 * 16384
CLIENTS = ("shared", "texture", "constant", "bypass", "fills")
"""Of the write-back slot, in rotation."""


@dataclass(eq=False)
class Load:
    """An instruction that waits for accesses; ``group`` is that of a copy."""

    warp: Warp
    operation: Operation
    group: int
    remaining: int = 1


@dataclass(frozen=True)
class Access:
    """One sector in a bank queue; a store has no load."""

    entered: int
    address: int
    mask: int
    is_local: bool
    warp: Warp
    load: Load | None


@dataclass(frozen=True)
class Request:
    """A packet for memory; ``sender`` is the load of a bypassing access, the warp of a store."""

    kind: str
    address: int
    mask: int
    sender: Any


@dataclass
class Dispatched:
    """The instruction whose accesses are being sent; ``left`` of them, from the highest address on."""

    warp: Warp
    operation: Operation
    starts: int
    load: Load | None
    left: list[tuple[int, int]]


@dataclass
class LoadStore:
    """``threads`` is how many fit on the SM, the only one; ``requests`` is the crossbar's buffer."""

    l1: L1
    l1_latency: int
    l1_banks: int
    shared_latency: int
    buffer: int
    register_banks: int
    subcores: int
    threads: int
    requests: deque[Request] = field(default_factory=deque)
    replies: deque[tuple[int, Request]] = field(default_factory=deque)
    """With the cycle in which each left the crossbar."""
    shared: deque[tuple[int, Load]] = field(default_factory=deque)
    dispatched: Dispatched | None = None
    bypass_reply: Load | None = None
    write_back: Load | None = None
    turn: int = 0

    def __post_init__(self) -> None:
        self.banks: list[deque[Access]] = [deque() for _ in range(self.l1_banks)]
        self.loads: dict[int, Load] = {}
        self.senders: deque[Warp | None] = deque()
        """Of what is in the L1's miss queue."""

    def cycle(self, now: int, written: list[set[int]]) -> None:
        """All but the dispatch; ``written`` are the register banks that take a result of an ALU in this cycle, by sub-core."""
        self._finish_write_back(written)
        self._choose_write_back(now)
        self._take_reply(now)
        if self.l1.misses and len(self.requests) < self.buffer:
            self.requests.append(Request(*self.l1.misses.popleft(), self.senders.popleft()))
        for bank in self.banks:
            if bank and bank[0].entered + self.l1_latency <= now and self._look_up(bank[0], now):
                bank.popleft()
        if self.dispatched and self.dispatched.starts <= now and self._move(self.dispatched, now):
            self._end_dispatch(self.dispatched)

    def dispatch(self, warp: Warp, operation: Operation, group: int, now: int) -> None:
        """Its operands have been read, it is the oldest, and nothing else is being sent."""
        is_idle = operation.operand is None and operation.space != "shared"
        load = None
        if not is_idle and operation.kind not in ("store", "membar"):
            load = Load(warp, operation, group)
        sectors = [] if operation.operand is None or operation.space == "shared" else list(operation.operand)
        if load and operation.space != "shared":
            load.remaining = len(sectors)
        degree = (operation.operand or 1) if operation.space == "shared" else 1
        self.dispatched = Dispatched(warp, operation, now + degree, load, sectors)

    def _finish_write_back(self, written: list[set[int]]) -> None:
        """The register's bank must be free; results of the ALUs go first."""
        load = self.write_back
        if load is None:
            return
        register, slot = load.operation.destination, load.warp.slot
        if register is not None:
            bank, subcore = (register + 1 + slot) % self.register_banks, slot % self.subcores
            if bank in written[subcore]:
                return
            written[subcore].add(bank)
        self.write_back = None
        self._access_done(load)

    def _choose_write_back(self, now: int) -> None:
        if self.write_back:
            return
        offers = {
            "shared": bool(self.shared) and self.shared[0][0] <= now,
            "bypass": self.bypass_reply is not None,
            "fills": bool(self.l1.filled),
        }
        for step in range(len(CLIENTS)):
            turn = (self.turn + step) % len(CLIENTS)
            if offers.get(CLIENTS[turn]):
                self.turn = (turn + 1) % len(CLIENTS)
                self.write_back = self._next_of(CLIENTS[turn])
                if self.write_back.operation.kind == "atomic" and self.write_back.remaining == 1:
                    self.write_back.warp.waits_for = ""
                return

    def _next_of(self, client: str) -> Load:
        if client == "shared":
            load = self.shared.popleft()[1]
            load.warp.in_flight -= 1
            return load
        if client == "bypass" and self.bypass_reply:
            load, self.bypass_reply = self.bypass_reply, None
            return load
        return self.loads[self.l1.next_filled()]

    def _access_done(self, load: Load) -> None:
        """The last one writes the register, or is the end of a copy."""
        load.remaining -= 1
        if load.remaining:
            return
        if load.operation.kind == "copy":
            load.warp.groups[load.group] -= 1
        elif load.operation.destination is not None:
            load.warp.pending.discard(load.operation.destination)

    def _take_reply(self, now: int) -> None:
        """Two cycles from the crossbar to here; one a cycle; a bypassing one waits for the one before it."""
        if not self.replies or self.replies[0][0] + 2 > now:
            return
        request = self.replies[0][1]
        if request.kind == "load":
            self.l1.fill(request.address // 32)
        elif request.kind == "store":
            request.sender.in_flight -= 1
        elif self.bypass_reply:
            return
        else:
            self.bypass_reply = request.sender
        self.replies.popleft()

    def _look_up(self, access: Access, now: int) -> bool:
        """Whether the access has left its bank."""
        before = len(self.l1.misses)
        if access.load is None:
            outcome = self.l1.store(access.address, access.mask, access.is_local, now)
        else:
            self.loads[id(access.load)] = access.load
            outcome = self.l1.load(access.address, access.is_local, id(access.load), now)
        if len(self.l1.misses) > before:
            self.senders.append(access.warp if access.load is None else None)
        if outcome == "hit":
            self._access_done(access.load)
        return outcome != "fail"

    def _move(self, one: Dispatched, now: int) -> bool:
        """Whether the last access is on its way."""
        if one.operation.space == "shared":
            return self._enter_shared(one, now)
        if one.operation.bypasses_l1:
            return self._send(one)
        return self._enter_banks(one, now)

    def _enter_shared(self, one: Dispatched, now: int) -> bool:
        """A load needs the pipe's first stage."""
        if one.load is None:
            return True
        if len(self.shared) >= self.shared_latency:
            return False
        self.shared.append((now + self.shared_latency, one.load))
        return True

    def _send(self, one: Dispatched) -> bool:
        """Past the L1, one a cycle."""
        if one.left and len(self.requests) < self.buffer:
            address, mask = one.left.pop(0)
            kind = one.operation.kind if one.operation.kind in ("store", "atomic") else "bypass"
            if kind == "store":
                one.warp.in_flight += 1
            self.requests.append(Request(kind, address, mask, one.load or one.warp))
        return not one.left

    def _enter_banks(self, one: Dispatched, now: int) -> bool:
        """One access a bank and cycle, in order: the first that cannot enter holds up the others."""
        while one.left:
            address, mask = self._translated(one, *one.left[0])
            bank = self.banks[address // 32 % self.l1_banks]
            if bank and (bank[-1].entered == now or len(bank) >= self.l1_latency):
                return False
            bank.append(Access(now, address, mask, one.operation.space == "local", one.warp, one.load))
            if one.load is None:
                one.warp.in_flight += 1
            one.left.pop(0)
        return True

    def _translated(self, one: Dispatched, address: int, mask: int) -> tuple[int, int]:
        """Word w of all threads' local memory lies side by side; the trace has w and the place in the warp's 128 bytes."""
        if one.operation.space != "local":
            return address, mask
        word, offset = address // 128, address % 128
        return LOCAL_BASE + word * 4 * self.threads + 128 * one.warp.slot + offset, mask

    def _end_dispatch(self, one: Dispatched) -> None:
        self.dispatched = None
        if one.load is None or one.operation.space != "shared":
            one.warp.in_flight -= 1
        if one.load is None and one.operation.destination is not None:
            one.warp.pending.discard(one.operation.destination)
