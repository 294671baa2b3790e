"""Nothing is lost and nothing is made: what random kernels ask for, and what every part of the GPU says it has handled."""

import io
from random import Random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sims.engine import counters as c
from sims.engine import program as p
from sims.engine.decode import open_program
from sims.engine.machine import Machine
from sims.engine.packets import PACKETS_PER_CHANNEL, PACKETS_PER_SM
from sims.engine.parameters import MAX_L1_MSHRS, MAX_L2_MSHRS
from sims.engine.results import KernelResult
from sims.engine.smstate import IN_FLIGHT, LOAD_SLOTS, WAITERS
from sims.gpus import GpuSpec, load_shipped
from tests.engine.kernel_texts import EXIT, cta, decode, header
from tests.engine.random_kernels import GLOBAL_BASE, random_kernel

SETTINGS = settings(max_examples=25, deadline=None)
L1, L2 = "Total_core_cache_stats_breakdown", "L2_cache_stats_breakdown"
ADD = "0010 ffffffff 1 R5 FADD 2 R5 R6 0 0 "
SLICE_QUEUES = ("arrived", "delayed", "input", "misses", "to_dram", "from_dram", "replies", "leaving")
CHANNEL_QUEUES = ("delayed", "entering", "moving", "returning", "bank")


def small(config: str) -> GpuSpec:
    """Few SMs, little L2: kernels of a few hundred requests make it evict, merge and wait."""
    values = {"sms": 3, "memory_channels": 4, "l2_sets": 16, "l2_ways": 2, "l1_mshr_entries": 40, "l2_mshr_entries": 12}
    return load_shipped()[config].with_overrides(values)


configs = st.sampled_from(["SM86_RTX3070", "SM75_RTX2060", "SM7_QV100"])
randoms = st.randoms(use_true_random=True)


def run(machine: Machine, text: str) -> KernelResult:
    with open_program(io.BytesIO(text.encode()), "kernel-1.traceg") as program:
        return machine.run(program)


def asked_for(text: str) -> dict[str, int]:
    """Instructions and sectors of the trace, by the way they take."""
    program, chunks = decode(text)
    asked = dict.fromkeys(["instructions", "copies", "l1 read", "l1 write", "past l1 read", "past l1 write"], 0)
    for chunk in chunks:
        for static, operand in zip(program.statics[chunk.static_ids], chunk.operands, strict=True):
            asked["instructions"] += 1
            asked["copies"] += int(static["kind"] == p.KIND_LDGSTS)
            if static["space"] in (p.SPACE_GLOBAL, p.SPACE_LOCAL) and operand >= 0:
                way = "write" if static["kind"] == p.KIND_STORE else "read"
                asked[f"{'past ' if static['bypasses_l1'] else ''}l1 {way}"] += int(chunk.sector_addresses[operand])
    return asked


def outcomes(result: KernelResult, cache: str, way: str) -> dict[str, int]:
    """Look-ups of a cache by outcome, global and local."""
    names = [f"{cache}[{space}_ACC_{way}]" for space in ("GLOBAL", "LOCAL")]
    return {o: sum(int(result.counters[f"{name}[{o}]"]) for name in names) for o in c.OUTCOMES}


def look_ups(by_outcome: dict[str, int]) -> int:
    return sum(by_outcome[o] for o in ("HIT", "HIT_RESERVED", "MISS", "SECTOR_MISS"))


def misses_sent(by_outcome: dict[str, int]) -> int:
    """Of the reads that were no hit those that did not join one that was under way."""
    return look_ups(by_outcome) - by_outcome["HIT"] - by_outcome["MSHR_HIT"]


@SETTINGS
@given(config=configs, random=randoms)
def test_every_instruction_is_issued_once(config: str, random: Random) -> None:
    text = random_kernel(random)
    asked = asked_for(text)
    # Accel-Sim counts an asynchronous copy twice, and so does the counter of its name.
    expected = asked["instructions"] + asked["copies"]
    assert run(Machine(small(config)), text).counters["gpgpu_n_tot_w_icount"] == expected


@SETTINGS
@given(config=configs, random=randoms)
def test_every_sector_is_looked_up_once_in_the_l1(config: str, random: Random) -> None:
    text = random_kernel(random)
    asked, result = asked_for(text), run(Machine(small(config)), text)
    assert look_ups(outcomes(result, L1, "R")) == asked["l1 read"]
    assert look_ups(outcomes(result, L1, "W")) == asked["l1 write"]


def test_copies_that_nobody_waits_for_are_looked_up_in_the_next_kernel() -> None:
    machine = Machine(small("SM86_RTX3070"))
    lines = [f"00a0 ffffffff 0 LDGSTS.E 2 R2 R3 4 1 {GLOBAL_BASE + 128 * i:#x} 4 0 " for i in range(8)]
    # On every SM a CTA, the second time one that lasts for longer than the copies.
    copies = header(ctas=machine.spec.sms) + cta([*lines, EXIT]) * machine.spec.sms
    pause = header(ctas=machine.spec.sms) + cta([ADD] * 400 + [EXIT]) * machine.spec.sms
    by_kernel = [look_ups(outcomes(run(machine, text), L1, "R")) for text in (copies, pause)]
    assert by_kernel[0] < sum(by_kernel) == asked_for(copies)["l1 read"]
    assert (machine._sms["free_loads"] == LOAD_SLOTS).all()


@SETTINGS
@given(config=configs, random=randoms)
def test_every_packet_is_looked_up_once_in_the_l2_and_answered(config: str, random: Random) -> None:
    text = random_kernel(random)
    asked, result = asked_for(text), run(Machine(small(config)), text)
    reads = misses_sent(outcomes(result, L1, "R")) + asked["past l1 read"]
    writes = asked["l1 write"] + asked["past l1 write"]
    assert look_ups(outcomes(result, L2, "R")) == reads
    assert look_ups(outcomes(result, L2, "W")) == writes
    assert result.counters["icnt_total_pkts_simt_to_mem"] == reads + writes
    assert result.counters["icnt_total_pkts_mem_to_simt"] == reads + writes


@SETTINGS
@given(config=configs, random=randoms)
def test_dram_reads_what_the_l2_fetches(config: str, random: Random) -> None:
    result = run(Machine(small(config)), random_kernel(random))
    fetches = misses_sent(outcomes(result, L2, "R"))
    assert result.counters["n_rd"] == result.counters["total dram reads"] == fetches


@SETTINGS
@given(config=configs, buffer=st.sampled_from([512, 40]), random=randoms)
def test_after_the_last_write_back_everything_is_free(config: str, buffer: int, random: Random) -> None:
    machine = Machine(small(config).with_overrides({"icnt_buffer_packets": buffer}))
    texts = [random_kernel(random) for _ in range(2)]
    # A kernel ends when its last warp does; write-backs reach DRAM during the next one's launch latency.
    results = [run(machine, text) for text in (*texts, header() + cta([EXIT]))]
    sms, memory, networks = machine._sms, machine._memory, machine._networks
    assert (memory.ports["free_count"] == PACKETS_PER_SM).all()
    assert (memory.channels["free_count"] == PACKETS_PER_CHANNEL).all()
    assert {name: int(memory.slices[name]["count"].sum()) for name in SLICE_QUEUES} == dict.fromkeys(SLICE_QUEUES, 0)
    assert {name: int(memory.channels[name]["count"].sum()) for name in CHANNEL_QUEUES} == dict.fromkeys(
        CHANNEL_QUEUES, 0
    )
    for name in ("sent", "requests", "returned", "replies"):
        assert not memory.ports[name]["count"].any(), name
    for name in ("work", "offered", "queued", "busy_banks", "waiting_banks", "credits", "private"):
        assert not memory.channels[name].any(), name
    for part in memory.slices:
        assert (part["live_mshrs"], part["orphans"], part["filled_count"], part["evicted"]) == (0, 0, 0, -1)
        assert chain(part["mshr"]["head"], int(part["free_mshr"])) == MAX_L2_MSHRS
    assert not memory.pending.any()
    for net in (networks.requests[0], networks.replies[0]):
        assert not any(net[name].any() for name in ("waiting", "wanted", "wanters", "joined", "backlog", "calendar"))
    for sm in sms:
        for name in (
            "resident",
            "live_mshrs",
            "orphans",
            "filled_count",
            "shared_count",
            "cta_used",
        ):
            assert not sm[name], name
        assert not sm["bank_count"].any()
        assert not sm["misses"]["count"]
        assert (sm["free_operations"], sm["free_loads"]) == (IN_FLIGHT, LOAD_SLOTS)
        assert chain(sm["mshr"]["head"], int(sm["free_mshr"])) == MAX_L1_MSHRS
        assert chain(sm["waiter"]["next"], int(sm["l1_free_waiter"])) == WAITERS
    moved = {name: sum(r.counters[name] for r in results) for name in ("n_wr_bk", "total dram writes")}
    assert moved["n_wr_bk"] == moved["total dram writes"]


def chain(following: np.ndarray[tuple[int], np.dtype[np.int32]], first: int) -> int:
    """Length of a free list, whose entries hold what freelist.py says; its last points out of the table."""
    seen = set()
    while 0 <= first < len(following):
        assert first not in seen
        seen.add(first)
        first += 1 + int(following[first])
    return len(seen)
