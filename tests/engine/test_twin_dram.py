"""A DRAM channel and its plain twin, which skips no tick, serve every request in the same tick."""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from sims.engine import dram
from sims.engine.packets import LOAD, WRITE_BACK
from sims.gpus import load_shipped
from tests.engine.memory_side import MemorySide
from tests.engine.twins.dram import Burst, Dram

CHANNEL = 0
SLICES = 2
COUNTS = ("reads", "writes", "activates", "precharges", "atoms read", "atoms written")
"""Of the channel's counters, in their order."""

timings = st.fixed_dictionaries(
    {
        **dict.fromkeys(["ccd", "rrd", "rp", "cl", "wl", "ccdl", "rtpl", "rtw", "wtr"], st.integers(1, 12)),
        **dict.fromkeys(["rcd", "ras", "rc", "wtp"], st.integers(1, 40)),
        "rcdw": st.integers(0, 12),
        "burst_ticks": st.integers(1, 4),
        "dual_bus": st.integers(0, 1),
        "dram_banks": st.sampled_from([16, 4, 1]),
        "dram_groups": st.sampled_from([4, 2, 1]),
        "dram_queue": st.sampled_from([64, 64, 5, 2]),
        "dram_latency": st.integers(0, 30),
        "shared_credits": st.sampled_from([255, 255, 4, 1]),
        "l2_queue": st.sampled_from([64, 64, 3, 1]),
    }
)


def new_side(timing: dict[str, int]) -> MemorySide:
    """A channel of two slices with this timing; an atom is a sector."""
    side = MemorySide(load_shipped()["SM86_RTX3070"].with_overrides({"sms": 1, "memory_channels": 2}))
    for name, value in timing.items():
        side.gpu[name] = value
    return side


def offer(side: MemorySide, burst: Burst) -> int:
    """Put the twin's request into its slice's queue to DRAM; the packet that stands for it."""
    channel = side.memory.channels[CHANNEL]
    index = burst.name
    if burst.is_write:
        index = int(channel["free"])
        channel["free"] = index + 1 + side.memory.packets[index]["next"]
        channel["free_count"] -= 1
    packet = side.memory.packets[index]
    packet["kind"], packet["slice"] = WRITE_BACK if burst.is_write else LOAD, CHANNEL * SLICES + burst.own
    packet["bank"], packet["row"], packet["bytes"] = burst.bank, burst.row, 32 * burst.atoms
    side.push(side.memory.slices[burst.own]["to_dram"], index)
    channel["offered"] += 1
    channel["asleep_until"] = 0
    return index


def random_burst(random: Random, name: int, banks: int, rows: int, writes: float) -> Burst:
    is_write = random.random() < writes
    atoms = random.randint(1, 4) if is_write else 1
    return Burst(name, random.randrange(SLICES), is_write, random.randrange(banks), random.randrange(rows), atoms)


@settings(max_examples=100, deadline=None)
@given(timing=timings, length=st.sampled_from([400, 10, 60, 400]), random=st.randoms(use_true_random=True))
def test_every_request_is_served_in_the_twins_tick(timing: dict[str, int], length: int, random: Random) -> None:
    plain = Dram(timing, SLICES, timing["l2_queue"])
    side = new_side(timing)
    arguments, channel, slices = side.arguments, side.memory.channels[CHANNEL], side.memory.slices
    coming, taking, writes, rows = random.choice([0.1, 0.4, 1]), random.choice([0.2, 1, 1]), random.random(), 3
    ticks_a_cycle = random.choice([1, 3, 4])
    now = 0
    for cycle in range(length):
        if random.random() < coming:
            burst = random_burst(random, cycle, timing["dram_banks"], rows, writes)
            plain.to_dram[burst.own].append(burst)
            offer(side, burst)
        for _ in range(random.randint(ticks_a_cycle - 1, ticks_a_cycle)):
            plain.tick(cycle)
            dram.tick(*arguments, CHANNEL, cycle, now)
            now += 1
            for own in range(SLICES):
                assert side.names(slices[own]["from_dram"]) == [burst.name for burst in plain.from_dram[own]]
                assert slices[own]["to_dram"]["count"] == len(plain.to_dram[own])
            assert channel["private"][:SLICES].tolist() == plain.own_credit
            assert channel["credits"] == plain.shared_credits
        for own in range(SLICES):
            if plain.from_dram[own] and random.random() < taking:
                assert side.pop(slices[own]["from_dram"]) == plain.from_dram[own].popleft().name
                channel["asleep_until"] = 0
    assert dict(zip(COUNTS, channel["counter"].tolist(), strict=True)) == {name: plain.counts[name] for name in COUNTS}
