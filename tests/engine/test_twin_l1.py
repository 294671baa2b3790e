"""The L1 and its plain twin give every look-up the same outcome, whatever comes in whatever order."""

from random import Random
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sims.engine import l1
from sims.engine.counters import CACHE_COUNTERS, cache_counters
from sims.engine.jit import Record, Table, compiled
from sims.engine.machine import new_sms
from sims.engine.memory import Memory, new_memory
from sims.engine.packets import STORE, give_back, pop
from sims.engine.parameters import parameters_of
from sims.engine.pointers import bundle, rows, struct
from sims.gpus import load_shipped
from tests.engine.twins.l1 import L1
from tests.engine.twins.lines import FULL_SECTOR

DO_LOAD, DO_STORE, DO_SEND, DO_FILL, DO_DRAIN, DO_MEMBAR, DO_EMPTY = range(7)
STATES = ("invalid", "pending", "valid", "dirty", "partial")


@compiled
def act(gpu: Record, memory: Memory, sms: Table, action: int, argument: int, now: int) -> Any:
    """One step of the L1 of SM 0; a look-up finds its access in the first entry of bank 0."""
    sm, port = sms[0], memory.ports[0]
    if action == DO_LOAD:
        return l1.load(gpu, memory.packets, port, sm, sm.bank[0, 0], now)
    if action == DO_STORE:
        return np.int64(l1.store(gpu, memory.packets, port, sm, sm.bank[0, 0], argument, now))
    if action == DO_SEND:
        l1.send_miss(memory.packets, port, sm, now)
        packet = pop(memory.packets, port.sent)
        give_back(memory.packets, port, packet)
        return np.int64(packet)
    if action == DO_FILL:
        l1.fill(sm, np.int32(argument))  # the type it has in a kernel: another would be compiled, and kept, apart
        return np.int64(0)
    if action == DO_DRAIN:
        return np.int64(l1.next_filled(sm))
    if action == DO_MEMBAR:
        l1.invalidate_what_came(gpu, sm)
        return np.int64(0)
    l1.invalidate(gpu, sm, argument)
    return np.int64(0)


class Compiled:
    """The engine's L1 behind the twin's methods."""

    def __init__(self, sizes: dict[str, int]) -> None:
        spec = load_shipped()["SM86_RTX3070"].with_overrides(
            {
                "sms": 1,
                "memory_channels": 2,
                "l1_sets": sizes["sets"],
                "l1_mshr_entries": sizes["mshr_entries"],
                "l1_mshr_merges": sizes["merges"],
                "l1_miss_queue": sizes["miss_queue"],
                "l1_write_ratio_percent": sizes["write_percent"],
            }
        )
        gpu = parameters_of(spec)
        self.ways = sizes["ways"]
        self.memory, self.sms = new_memory(spec), new_sms(spec, gpu)
        self.arguments = struct(gpu), bundle(self.memory), rows(self.sms)
        self._act(DO_EMPTY, self.ways)

    def _act(self, action: int, argument: int = 0, now: int = 0) -> int:
        return int(act(*self.arguments, action, argument, now))

    def _access(self, address: int, reference: int, mask: int, is_local: bool) -> None:
        self.sms["bank"][0, 0, 0] = (address, 0, reference, mask, is_local)

    def load(self, address: int, is_local: bool, load: int, now: int) -> str:
        self._access(address, load, 0, is_local)
        return {1: "hit", 0: "wait", -1: "fail"}[self._act(DO_LOAD, now=now)]

    def store(self, address: int, mask: int, is_local: bool, now: int) -> str:
        self._access(address, -1, mask, is_local)
        return "done" if self._act(DO_STORE, now=now) else "fail"

    def send(self, now: int) -> tuple[tuple[str, int, int], int]:
        """The packet that leaves the miss queue, and its MSHR."""
        packet = self.memory.packets[self._act(DO_SEND, now=now)]
        kind = "store" if packet["kind"] == STORE else "load"
        return (kind, int(packet["address"]), int(packet["byte_mask"])), int(packet["reference"])

    def fill(self, mshr: int) -> None:
        self._act(DO_FILL, mshr)

    def next_filled(self) -> int:
        return self._act(DO_DRAIN)

    def invalidate_what_came(self) -> None:
        self._act(DO_MEMBAR)

    @property
    def sm(self) -> np.void:
        return self.sms[0]

    def contents(self) -> list[tuple[int, list[str]] | None]:
        lines = self.sm["line"][: int(self.sm["l1_ways"]) * self.sets]
        return [
            (int(line["tag"]), [STATES[state] for state in line["state"]]) if line["tag"] >= 0 else None
            for line in lines
        ]

    @property
    def sets(self) -> int:
        return int(self.arguments[0].kept["l1_sets"])

    def outcomes(self) -> dict[str, float]:
        named = cache_counters("", "fail", self.sm["counter"][:CACHE_COUNTERS].tolist())
        return {name: value for name, value in named.items() if value}


sizes = st.fixed_dictionaries(
    {
        "sets": st.sampled_from([1, 2, 4]),
        "ways": st.integers(1, 4),
        "mshr_entries": st.integers(1, 6),
        "merges": st.integers(1, 3),
        "miss_queue": st.integers(2, 6),
        "write_percent": st.sampled_from([0, 25, 60]),
    }
)
lengths = st.sampled_from([5, 25, 100, 300, 300, 300])
"""Steps of a test: short ones are what a failure is reduced to."""


def random_mask(random: Random) -> int:
    """Bytes of a sector: all, a half, or any."""
    return random.choice([FULL_SECTOR, 0xFFFF, 0xFFFF0000, random.randint(1, FULL_SECTOR)])


@settings(max_examples=150, deadline=None)
@given(sizes=sizes, length=lengths, random=st.randoms(use_true_random=True))
def test_every_access_has_the_twins_outcome(sizes: dict[str, int], length: int, random: Random) -> None:
    plain, engine = L1(**sizes), Compiled(sizes)
    on_their_way: list[tuple[int, int]] = []  # sectors that were asked for, and their MSHR
    lines, weights = random.randint(1, 12), [random.randint(1, 9) for _ in range(5)] + [random.choice([0, 0.3])]
    now = 0
    for number in range(length):
        now += random.randint(0, 2)
        address, is_local = 32 * random.randrange(4 * lines), random.random() < 0.2
        match random.choices(["load", "store", "send", "fill", "drain", "membar"], weights)[0]:
            case "load":
                assert engine.load(address, is_local, number, now) == plain.load(address, is_local, number, now)
            case "store":
                mask = random_mask(random)
                assert engine.store(address, mask, is_local, now) == plain.store(address, mask, is_local, now)
            case "send" if plain.misses:
                packet, mshr = engine.send(now)
                assert packet == plain.misses.popleft()
                if packet[0] == "load":
                    on_their_way.append((packet[1] // 32, mshr))
            case "fill" if on_their_way:
                sector, mshr = on_their_way.pop(random.randrange(len(on_their_way)))
                plain.fill(sector)
                engine.fill(mshr)
            case "drain" if plain.filled:
                assert engine.next_filled() == plain.next_filled()
            case "membar":
                engine.invalidate_what_came()
                plain.invalidate_what_came()
        assert engine.sm["l1_dirty_lines"] == plain.dirty_lines
        assert engine.sm["live_mshrs"] == len(plain.mshrs)
    assert engine.contents() == [
        line and (line.number, [sector.state for sector in line.sectors]) for ways in plain.lines for line in ways
    ]
    assert engine.outcomes() == plain.outcomes
