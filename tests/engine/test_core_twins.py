"""The compiled parts against their plain twins, on random inputs."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sims.engine import addresses, clock, crossbar, scheduler
from sims.engine.chunks import Arena
from sims.engine.hashing import hash_tables, hashed
from sims.engine.jit import Record, compiled
from sims.engine.memory import Memory, new_memory, new_networks
from sims.engine.parameters import parameters_of
from sims.engine.pointers import Pointer, bundle, struct
from sims.gpus import load_shipped
from tests.engine import twins

CONFIGS = ("SM7_QV100", "SM75_RTX2060", "SM86_RTX3070")
ADDRESSES = st.integers(0, (1 << 48) - 1)
SETTINGS = settings(max_examples=200, deadline=None)


# Compiled functions get the types they have in a kernel. Others would be compiled apart and change the sealed code cache.


@cache
def gpu(config: str) -> Pointer:
    return struct(parameters_of(load_shipped()[config]))


@compiled
def slice_hash(gpu: Record, high: int) -> int:
    return hashed(gpu.slice_hash, high)


@compiled
def schedule_ticks(time: Record, memory: Memory, cycles: int) -> None:
    clock.schedule_ticks(time, memory.schedule, cycles)


@cache
def address_map(config: str) -> twins.AddressMap:
    return twins.AddressMap(load_shipped()[config])


@SETTINGS
@given(high=st.integers(0, (1 << 24) - 1), size=st.sampled_from([16, 32, 64]))
def test_the_hash_tables_give_the_parities(high: int, size: int) -> None:
    record = parameters_of(load_shipped()["SM86_RTX3070"])
    record["slice_hash"] = hash_tables(size)
    assert slice_hash(struct(record), high) == twins.ipoly(high, 0, size)


@pytest.mark.parametrize("size", [1, 2, 4, 8, 128])
def test_a_hash_stays_within_its_size(size: int) -> None:
    assert hash_tables(size).max() == size - 1


@SETTINGS
@given(address=ADDRESSES, config=st.sampled_from(CONFIGS))
def test_an_address_goes_to_the_twins_slice_set_bank_and_row(address: int, config: str) -> None:
    record, plain = gpu(config), address_map(config)
    assert addresses.slice_of(record, address) == plain.slice(address)
    assert addresses.l2_set_of(record, address) == plain.l2_set(address)
    assert addresses.bank_of(record, address) == plain.bank(address)
    assert addresses.row_of(record, address) == plain.row(address)


@SETTINGS
@given(core=st.floats(500, 3000), dram=st.floats(500, 8000), cycles=st.integers(1, 300))
def test_dram_ticks_fall_where_the_twin_puts_them(core: float, dram: float, cycles: int) -> None:
    spec = load_shipped()["SM86_RTX3070"].with_overrides({"core_clock_mhz": core, "memory_clock_mhz": dram})
    record = new_networks(spec).clock[0]
    plain = twins.Clock(float(record["core_period"]), float(record["dram_period"]))
    memory = new_memory(spec.with_overrides({"sms": 1, "memory_channels": 1}))
    schedule_ticks(struct(record), bundle(memory), cycles)
    assert memory.schedule[:cycles].tolist() == [plain.step() for _ in range(cycles)]


@SETTINGS
@given(rounds=st.lists(st.sets(st.integers(0, 45), min_size=1), min_size=1, max_size=20))
def test_a_crossbar_output_serves_its_inputs_round_robin(rounds: list[set[int]]) -> None:
    net, plain = struct(new_networks(load_shipped()["SM86_RTX3070"]).requests[0]), twins.RoundRobin(46)
    waiting: set[int] = set()
    for wanting in rounds:
        for source in wanting - waiting:
            crossbar.add_head(net, source, np.int16(7), 0, 0)
        waiting |= wanting
        chosen = plain.grant(waiting)
        assert crossbar.grant(net, 7) == chosen
        waiting.discard(chosen)


@SETTINGS
@given(last=st.integers(0, 63), ready=st.sets(st.integers(0, 63), min_size=1))
def test_loose_round_robin_takes_the_next_ready_warp(last: int, ready: set[int]) -> None:
    mask = np.uint64(sum(1 << warp for warp in ready))
    assert scheduler.loose_round_robin(np.int32(last), mask) == min(ready, key=lambda warp: (warp - last - 1) % 64)


@SETTINGS
@given(sizes=st.lists(st.integers(1, 3000), max_size=30), order=st.randoms())
def test_chunks_in_an_arena_never_overlap(sizes: list[int], order: object) -> None:
    arena, live = Arena.of(values="i8"), {}
    for number, size in enumerate(sizes):
        live[number] = (arena.allocate(size), size)
        arena.arrays["values"][live[number][0] : live[number][0] + size] = number
        if number % 3 == 2:
            victim = order.choice(sorted(live))  # type: ignore[attr-defined]
            arena.release(*live.pop(victim))
    for number, (start, size) in live.items():
        assert (arena.arrays["values"][start : start + size] == number).all()
