"""What Hopper's warps wait for: mbarriers, bulk copies, warpgroup MMAs, fences, clusters."""

import io
from itertools import pairwise

import pytest

from sims.engine.decode import open_program
from sims.engine.errors import KernelError
from sims.engine.machine import Machine
from sims.engine.mbarrier import RETRY_CYCLES
from sims.engine.results import KernelResult
from sims.gpus import load_shipped
from tests.engine.hopper_texts import (
    ADD,
    COMMIT,
    DATA,
    EMPTY,
    END,
    FENCE,
    FULL,
    START,
    arrive,
    arrive_and_expect,
    bulk_load,
    bulk_store,
    cluster_kernel,
    depbar,
    gmma,
    gmma_wait,
    init,
    kernel,
    look,
    multicast_load,
    syncs,
    wait,
)

SPEC = load_shipped()["SM90_H100"]
CHAIN_CYCLES = SPEC.units["sp"].latency_cycles + 5
LDS = "0060 ffffffff 1 R7 LDS 1 R4 4 1 0x0 4 0 0 NoVal "
COPY = f"0070 ffffffff 0 LDGSTS.E.128 2 R2 R4 16 1 {DATA:#x} 16 0 0 NoVal "
NEVER = "CTA 0 waits for an mbarrier phase that never completes"


def run(text: str, machine: Machine | None = None) -> KernelResult:
    with open_program(io.BytesIO(text.encode()), "kernel-1.traceg") as program:
        return (machine or Machine(SPEC)).run(program)


def cycles(*warps: list[str]) -> int:
    return run(kernel(*warps)).cycles


# ---- mbarriers


def test_a_consumer_waits_for_the_memory() -> None:
    producer, consumer = [init(), arrive_and_expect(128), bulk_load(4)], [wait(), ADD]
    from_dram = cycles(producer, consumer)
    warm = Machine(SPEC)
    warm.memcpy_to_device(DATA, 4096)
    from_l2 = run(kernel(producer, consumer), warm).cycles
    assert from_l2 > SPEC.l2_rop_latency_cycles
    assert from_dram > from_l2


def test_the_time_of_a_wait_is_told_as_that_of_a_copy() -> None:
    causes = run(kernel([init(), arrive_and_expect(128), bulk_load(4)], [wait(), ADD])).cycles_by_cause
    assert max(causes, key=lambda name: causes[name] if name != "tail" else 0) == "async_copy"


def test_a_warp_that_waits_asks_again_in_fixed_steps() -> None:
    def finished(adds: int) -> int:
        return cycles([init(), *[ADD] * adds, arrive()], [wait()])

    times = [finished(adds) for adds in range(20, 80)]
    assert {later - earlier for earlier, later in pairwise(times)} == {0, RETRY_CYCLES}


def test_a_phase_that_is_over_is_not_waited_for() -> None:
    assert cycles([init(), *[ADD] * 8, wait(parity=1)]) < RETRY_CYCLES


def test_a_look_waits_for_nothing() -> None:
    assert cycles([init(), look(), ADD]) < RETRY_CYCLES


def test_an_operation_goes_through_the_shared_memory_pipe() -> None:
    assert cycles([init()]) == cycles([LDS]) - 1  # a load's register is written a cycle later


def test_a_phase_needs_all_its_arrivals() -> None:
    with pytest.raises(KernelError, match=NEVER):
        cycles([init(arrivals=2), arrive()], [wait()])
    assert cycles([init(arrivals=2), arrive()], [arrive()], [wait()]) > 0


def test_every_lane_arrives() -> None:
    assert cycles([init(arrivals=32), arrive(mask=0xFFFFFFFF)], [wait()]) > 0


def test_a_phase_needs_all_its_bytes() -> None:
    with pytest.raises(KernelError, match=NEVER):
        cycles([init(), arrive_and_expect(129), bulk_load(4)], [wait()])


def test_bytes_may_come_before_they_are_expected() -> None:
    late = [init(), bulk_load(4), *[ADD] * 100, arrive_and_expect(128)]
    assert cycles(late, [wait()]) > 100 * CHAIN_CYCLES


def test_bytes_can_be_completed_by_hand() -> None:
    assert cycles([init(), arrive_and_expect(64), syncs("ARRIVE.TRANS64.RED.A0TX", FULL, 64)], [wait()]) > 0


def test_an_mbarrier_that_nobody_initialises_never_completes() -> None:
    with pytest.raises(KernelError, match=NEVER):
        cycles([arrive(), wait()])


def test_a_machine_goes_on_after_a_wait_without_end() -> None:
    machine = Machine(SPEC)
    with pytest.raises(KernelError):
        run(kernel([init(), wait()]), machine)
    assert run(kernel([init(), arrive(), wait()]), machine) == run(kernel([init(), arrive(), wait()]))


def ping_pong(rounds: int) -> str:
    """A producer fills one buffer again and again; a consumer empties it."""
    producer, consumer = [init(), init(EMPTY)], []
    for i in range(rounds):
        producer += [wait(parity=1 - i % 2, at=EMPTY), arrive_and_expect(128), bulk_load(4, source=DATA + 4096 * i)]
        consumer += [wait(parity=i % 2), ADD, arrive(EMPTY)]
    return kernel(producer, consumer)


def test_phases_alternate() -> None:
    few, many = run(ping_pong(4)).cycles, run(ping_pong(8)).cycles
    assert many - few == pytest.approx(few, rel=0.25)


def test_the_same_input_gives_the_same_answer() -> None:
    assert run(ping_pong(6)) == run(ping_pong(6))


def test_more_mbarriers_than_there_is_room_for_are_refused() -> None:
    with pytest.raises(KernelError, match="CTA 0 needs more mbarriers than the 1024"):
        cycles([init(8 * i) for i in range(1100)])


def test_an_arrival_after_copies_waits_for_them() -> None:
    arrival = syncs("", FULL, 0).replace("SYNCS.", "ARRIVES.LDGSTSBAR.64.ARVCNT")
    assert cycles([init(), COPY, arrival], [wait()]) > cycles([init(), COPY])


# ---- bulk copies


def test_a_bulk_load_goes_past_the_l1() -> None:
    counters = run(kernel([init(), arrive_and_expect(2048), bulk_load(64), wait()])).counters
    assert counters["gpgpu_n_mem_read_global"] == counters["L2_total_cache_accesses"] == 64
    assert counters["L1D_total_cache_accesses"] == 0


def test_a_warp_does_not_end_before_its_bulk_loads() -> None:
    assert cycles([bulk_load(4)]) > SPEC.l2_rop_latency_cycles


def test_a_large_tile_takes_a_cycle_a_sector() -> None:
    small, large = (cycles([bulk_load(n)]) for n in (512, 2048))
    assert large - small == pytest.approx(1536, rel=0.1)


def test_a_wait_for_bulk_stores_ends_when_they_have_been_sent() -> None:
    work = [ADD] * 400  # longer than the stores take to be acknowledged
    free = cycles([bulk_store(512), COMMIT, *work])
    waiting = cycles([bulk_store(512), COMMIT, depbar(0), *work])
    assert 512 / SPEC.l1_banks <= waiting - free <= 512


def test_groups_of_bulk_stores_may_be_left_pending() -> None:
    work = [ADD] * 400
    stores = [bulk_store(512), COMMIT]
    assert cycles([*stores, depbar(1), *work]) == cycles([*stores, "00b0 ffffffff 0 NOP 0 0 0 0 NoVal ", *work])


def test_a_fence_keeps_shared_memory_back() -> None:
    other = FENCE.replace("FENCE.VIEW.ASYNC.S", "UTMACCTL.PF")
    assert cycles([FENCE, LDS]) - cycles([other, LDS]) == pytest.approx(SPEC.shared_memory_latency_cycles, abs=2)


# ---- warpgroup MMA


def test_a_wait_for_an_mma_ends_when_it_delivers() -> None:
    free, waiting = cycles([gmma(), *[ADD] * 10]), cycles([gmma(), gmma_wait(0), *[ADD] * 10])
    assert waiting - free == pytest.approx(10 * CHAIN_CYCLES, abs=8)


def test_the_last_groups_may_be_left_pending() -> None:
    groups = [gmma(accumulator=24), gmma(accumulator=32), gmma(accumulator=40)]
    work = [ADD] * 60
    first, second, third = (cycles([*groups, gmma_wait(left), *work]) for left in (2, 1, 0))
    assert (second - first, third - second) == (128, 128)  # each takes its unit for N / 2 cycles


def test_an_open_group_is_not_waited_for() -> None:
    work = [ADD] * 60
    assert cycles([gmma(closes=False), gmma_wait(0), *work]) < cycles([gmma(), gmma_wait(0), *work])


def test_an_accumulator_is_a_register_like_any_other() -> None:
    assert cycles([gmma(), gmma()]) - cycles([gmma()]) == 128 + 5


# ---- clusters


def test_a_multicast_completes_in_the_other_ctas() -> None:
    ready = [init(0x1000000 + FULL), arrive_and_expect(128, 0x1000000 + FULL)]
    sender = [init(), arrive_and_expect(128), multicast_load(4, 0b11), wait()]
    together = run(cluster_kernel(sender, [*ready, wait(at=0x1000000 + FULL)])).cycles
    assert together > SPEC.l2_rop_latency_cycles


def test_a_multicast_reaches_only_those_it_names() -> None:
    other = 0x1000000 + FULL
    sender = [init(), arrive_and_expect(128), multicast_load(4, 0b01), wait()]
    with pytest.raises(KernelError, match="CTA 1 waits for an mbarrier phase that never completes"):
        run(cluster_kernel(sender, [init(other), arrive_and_expect(128, other), wait(at=other)]))


def test_a_cta_arrives_at_an_mbarrier_of_another() -> None:
    other = 0x1000000 + FULL
    late = run(cluster_kernel([*[ADD] * 100, arrive(other)], [init(other), wait(at=other)])).cycles
    assert late > 100 * CHAIN_CYCLES


def test_an_arrival_waits_for_a_cta_that_has_not_started() -> None:
    # One CTA an SM holds them apart: the second starts when the first has ended.
    alone = Machine(SPEC.with_overrides({"sms": 1}))
    other = 0x1000000 + FULL
    text = cluster_kernel([arrive(other), *[ADD] * 50], [init(other), wait(at=other)])
    assert run(text.replace("-shmem = 0", "-shmem = 200000"), alone).cycles > 0


# ---- replay regions and names


def test_a_replay_region_runs_its_instructions_once() -> None:
    plain, marked = (
        run(kernel([init(), arrive(), wait(), ADD])),
        run(kernel([init(), arrive(), START, wait(), END, ADD])),
    )
    assert marked.counters["gpgpu_n_tot_w_icount"] == plain.counters["gpgpu_n_tot_w_icount"] == 5


def test_the_barriers_of_cublas_kernels_are_passed_over() -> None:
    barrier = "0020 ffffffff 0 BAR.SYNC 0 0 1 96 Val "
    text = kernel([barrier], [ADD])
    with_name = text.replace("_Z4testv", "nvjet_hsh_128x256")
    assert run(with_name).cycles < run(text.replace("1 96", "0 0")).cycles + 50
