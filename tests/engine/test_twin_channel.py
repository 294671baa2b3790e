"""A whole memory channel and its plain twin: every reply leaves its slice in the same cycle.

What the compiled channel skips (slices without work, DRAM ticks in which nothing can move) is part of what is tested: it runs
in stretches, as in a kernel, the twin runs every cycle.
"""

from functools import cache
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from sims.engine import channel
from sims.engine.memory import FULL_RING
from sims.gpus import GpuSpec, load_shipped
from tests.engine.memory_side import MemorySide
from tests.engine.test_twin_dram import COUNTS
from tests.engine.twins import AddressMap, Clock
from tests.engine.twins.channel import Channel
from tests.engine.twins.dram import Dram
from tests.engine.twins.l2 import Request, Slice
from tests.engine.twins.lines import FULL_SECTOR

SLICES = 2
CONFIGS = ("SM86_RTX3070", "SM75_RTX2060", "SM7_QV100", "SM90_H100")


@cache
def small(config: str) -> GpuSpec:
    """A GPU of this kind with little of everything."""
    values = {"sms": 1, "memory_channels": 4, "l2_sets": 16, "l2_ways": 2, "l2_mshr_entries": 12}
    return load_shipped()[config].with_overrides(values)


@cache
def lines_of_channel(config: str) -> list[list[int]]:
    """By slice: line numbers in two sets each, in several rows and banks."""
    where = AddressMap(small(config))
    found: list[dict[int, list[int]]] = [{} for _ in range(SLICES)]
    for number in range(0, 1 << 20, 17):
        own = where.slice(128 * number)
        if own < SLICES:
            found[own].setdefault(where.l2_set(128 * number), []).append(number)
    return [[*first[:6], *second[:6]] for first, second, *_ in (list(sets.values()) for sets in found)]


def new_twin(side: MemorySide) -> Channel:
    spec, gpu = side.spec, side.gpu
    timing = {str(name): int(gpu[name]) for name in gpu.dtype.names or () if gpu.dtype[name].shape == ()}
    part = (spec.l2_ways, spec.l2_mshr_entries, spec.l2_mshr_merges, spec.l2_miss_queue, spec.l2_queue)
    return Channel(
        slices=[Slice(*part) for _ in range(SLICES)],
        dram=Dram(timing, SLICES, spec.l2_queue),
        clock=Clock(1 / (spec.core_clock_mhz * 1e6), 1 / (spec.memory_clock_mhz * 1e6)),
        where=AddressMap(spec),
        buffer=spec.icnt_buffer_packets,
        input_limit=spec.l2_queue - 4,
    )


def run_compiled(side: MemorySide, clock: Clock, first: int, cycles: int) -> None:
    """The compiled channel over a stretch of cycles, with the ticks that the plain clock says."""
    for i in range(cycles):
        side.memory.schedule[i] = clock.step()
    channel.run(*side.arguments, 0, first, cycles)


@settings(max_examples=40, deadline=None)
@given(
    config=st.sampled_from(CONFIGS),
    queue=st.sampled_from([64, 8, 5]),
    buffer=st.sampled_from([512, 3]),
    in_step=st.booleans(),
    stretches=st.lists(st.sampled_from([150, 1, 40]), min_size=1, max_size=6),
    random=st.randoms(use_true_random=True),
)
def test_every_reply_leaves_in_the_twins_cycle(
    config: str, queue: int, buffer: int, in_step: bool, stretches: list[int], random: Random
) -> None:
    spec = small(config).with_overrides({"l2_queue": queue, "icnt_buffer_packets": buffer})
    if in_step:
        # Every tick falls on a core cycle: between the replies and the slices.
        spec = spec.with_overrides({"memory_clock_mhz": spec.core_clock_mhz})
    side = MemorySide(spec)
    plain, engine = new_twin(side), side.memory.slices
    clock = new_twin(side).clock
    rate, now = random.choice([0.02, 0.3, 1]), 0
    for cycles in stretches:
        for time in range(now, now + cycles):
            for own in range(SLICES):
                if random.random() < rate:
                    request = random_request(random, side.unused_packet, plain.where, lines_of_channel(config)[own])
                    side.unused_packet += 1
                    plain.slices[own].delayed.append((time, request))
                    side.push(engine[own]["delayed"], side.new_packet(request, own), time)
        for cycle in range(now, now + cycles):
            plain.cycle(cycle)
        run_compiled(side, clock, now, cycles)
        now += cycles
        for own in range(SLICES):
            packets = side.memory.packets
            left = [(int(packets[i]["time"]), i) for i in side.names(engine[own]["leaving"])]
            assert left == list(plain.leaving[own])
            assert full_cycles(side, own, now) == plain.full[own]
            assert side.outcomes(own) == plain.slices[own].outcomes
            for _ in range(random.randint(0, len(left))):
                side.pop(engine[own]["leaving"])
                plain.leaving[own].popleft()
        counts = side.memory.channels[0]["counter"].tolist()
        assert dict(zip(COUNTS, counts, strict=True)) == {name: plain.dram.counts[name] for name in COUNTS}


def random_request(random: Random, name: int, where: AddressMap, lines: list[int]) -> Request:
    address = 128 * random.choice(lines) + 32 * random.randrange(4)
    kind = random.choice(["load", "load", "store", "atomic", "bypass"])
    return Request(name, kind, address, where.l2_set(address), random.choice([FULL_SECTOR, 0xFFFF]))


def full_cycles(side: MemorySide, own: int, now: int) -> set[int]:
    """Cycles in which the compiled slice had no room for a request."""
    ring = side.memory.full[own * FULL_RING : (own + 1) * FULL_RING]
    return {int(cycle) for cycle in ring if 0 <= cycle < now}
