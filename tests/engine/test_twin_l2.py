"""An L2 slice and its plain twin move the same packets in the same cycles, whatever SMs and DRAM do around them."""

from collections import deque
from functools import cache
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from sims.engine import l2
from sims.gpus import GpuSpec, load_shipped
from tests.engine.memory_side import MemorySide
from tests.engine.twins import AddressMap
from tests.engine.twins.l2 import Request, Slice, WriteBack
from tests.engine.twins.lines import FULL_SECTOR

SLICE, CHANNEL = 0, 0
BASE = load_shipped()["SM86_RTX3070"].with_overrides({"sms": 1, "memory_channels": 4, "l2_sets": 16})
STATES = ("invalid", "pending", "valid", "dirty", "partial")


@cache
def lines_of_slice() -> list[int]:
    """A few line numbers of the slice, in two sets."""
    plain = AddressMap(BASE)
    found: dict[int, list[int]] = {}
    for number in range(1 << 14):
        if plain.slice(128 * number) == SLICE:
            found.setdefault(plain.l2_set(128 * number), []).append(number)
    (first, second, *_) = found.values()
    return first[:6] + second[:3]


def spec_of(sizes: dict[str, int]) -> GpuSpec:
    return BASE.with_overrides(
        {
            "l2_ways": sizes["ways"],
            "l2_mshr_entries": sizes["mshr_entries"],
            "l2_mshr_merges": sizes["merges"],
            "l2_miss_queue": sizes["miss_queue"],
            "l2_queue": sizes["queue"],
        }
    )


def named(plain: AddressMap, entry: Request | WriteBack) -> int | tuple[int, int, int]:
    """As :meth:`MemorySide.describe` has it."""
    if isinstance(entry, WriteBack):
        return plain.bank(128 * entry.line), plain.row(128 * entry.line), 32 * entry.sectors
    return entry.name


def random_address(random: Random) -> int:
    return 128 * random.choice(lines_of_slice()) + 32 * random.randrange(4)


def random_request(random: Random, name: int, addresses: list[int]) -> Request:
    """Of any kind, with a mask of all bytes, a half or any."""
    address = random.choice(addresses)
    kind = random.choice(["load", "load", "store", "store", "atomic", "bypass"])
    mask = random.choice([FULL_SECTOR, 0xFFFF, 0xFFFF0000, random.randint(1, FULL_SECTOR)])
    return Request(name, kind, address, AddressMap(BASE).l2_set(address), mask, random.random() < 0.2)


sizes = st.fixed_dictionaries(
    {
        "ways": st.integers(1, 4),
        "mshr_entries": st.integers(1, 5),
        "merges": st.integers(1, 3),
        "miss_queue": st.integers(2, 6),
        "queue": st.integers(1, 6),
    }
)


@settings(max_examples=400, deadline=None)
@given(sizes=sizes, length=st.sampled_from([400, 5, 25, 100, 400, 400]), random=st.randoms(use_true_random=True))
def test_every_packet_moves_as_in_the_twin(sizes: dict[str, int], length: int, random: Random) -> None:
    plain, where = Slice(**sizes), AddressMap(BASE)
    side = MemorySide(spec_of(sizes))
    engine, arguments = side.memory.slices[SLICE], side.arguments
    in_dram: deque[Request] = deque()
    addresses = [random_address(random) for _ in range(random.choice([4, 8, 16]))]
    coming, leaving, taking, returning = (random.uniform(0.05, 1) for _ in range(4))
    for now in range(length):
        if random.random() < coming:
            request = random_request(random, side.unused_packet, addresses)
            side.unused_packet += 1
            plain.delayed.append((now, request))
            side.push(engine["delayed"], side.new_packet(request, SLICE), now)
        if random.random() < 0.2 and not plain.mshrs:
            address = random.choice(addresses)
            plain.copy(address, where.l2_set(address), now)
            l2.copy_from_host(*arguments, address, 32, now)
        if random.random() < leaving and plain.replies:
            assert side.pop(engine["replies"]) == plain.replies.popleft().name
        if random.random() < taking and plain.to_dram:
            entry = plain.to_dram.popleft()
            assert side.describe(side.pop(engine["to_dram"])) == named(where, entry)
            if isinstance(entry, Request):
                in_dram.append(entry)
        if random.random() < returning and in_dram:
            in_dram.rotate(random.randrange(len(in_dram)))
            plain.from_dram.append(in_dram[0])
            side.push(engine["from_dram"], in_dram.popleft().name)
        plain.cycle(now)
        l2.slice_cycle(*arguments, SLICE, now)
        assert side.names(engine["input"]) == [request.name for request in plain.input]
        assert side.names(engine["misses"]) == [named(where, entry) for entry in plain.misses]
        assert side.names(engine["to_dram"]) == [named(where, entry) for entry in plain.to_dram]
        assert side.names(engine["replies"]) == [request.name for request in plain.replies]
        assert engine["live_mshrs"] == len(plain.mshrs)
    assert side.outcomes(SLICE) == plain.outcomes
    assert contents(side, sizes["ways"]) == {
        line.number: [sector.state for sector in line.sectors] for ways in plain.lines.values() for line in ways if line
    }


def contents(side: MemorySide, ways: int) -> dict[int, list[str]]:
    """Lines of the slice and their sectors' states."""
    of_slice = range(int(side.gpu["l2_sets"]) * ways)
    tags, lines = side.memory.tags, side.memory.lines
    return {int(tags[x]): [STATES[state] for state in lines[x]["state"]] for x in of_slice if tags[x] >= 0}
