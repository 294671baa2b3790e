"""Parts of an SM whose timing has a closed form (timing measurements, sections 1 to 8 and 13): one SM, cycle for cycle."""

import io

import pytest

from sims.engine.decode import open_program
from sims.engine.machine import Machine
from sims.gpus import GpuSpec, load_shipped
from tests.engine.kernel_texts import EXIT, LOCAL_BASE, cta, header

CONFIGS = ("SM7_QV100", "SM75_RTX2060", "SM86_RTX3070")
BASE = 0x20000000
BARRIER = "0020 ffffffff 0 BAR.SYNC 0 0 0 0 "

pytestmark = pytest.mark.parametrize("config", CONFIGS)


def spec_of(config: str) -> GpuSpec:
    return load_shipped()[config]


def cycles(config: str, *warps: list[str], ctas: int = 1, warm_bytes: int = 0) -> int:
    """A kernel whose CTAs are all alike; ``warm_bytes`` from BASE are in the L2."""
    machine = Machine(spec_of(config))
    if warm_bytes:
        machine.memcpy_to_device(BASE, warm_bytes)
    text = header(ctas=ctas, threads=32 * len(warps)) + cta(*([*lines, EXIT] for lines in warps)) * ctas
    with open_program(io.BytesIO(text.encode()), "kernel-1.traceg") as program:
        return machine.run(program).cycles


def counters(config: str, lines: list[str]) -> dict[str, float]:
    with open_program(io.BytesIO((header() + cta([*lines, EXIT])).encode()), "kernel-1.traceg") as program:
        return Machine(spec_of(config)).run(program).counters


def add(destination: int, source: int) -> str:
    return f"0010 ffffffff 1 R{destination} FADD 2 R{source} R6 0 0 "


def load(opcode: str, address: int, stride: int) -> str:
    """Its address register is its destination: every load waits for the one before it."""
    return f"0030 ffffffff 1 R2 {opcode} 1 R2 4 1 {address:#x} {stride} 0 "


@pytest.mark.parametrize("warps", [1, 2, 4, 8, 16, 32])
def test_four_warps_a_cycle_are_fetched(config: str, warps: int) -> None:
    assert cycles(config, *([[]] * warps)) == 8 + warps // 4


@pytest.mark.parametrize("each", [1, 2, 7])
def test_an_sm_gets_one_cta_a_cycle(config: str, each: int) -> None:
    assert cycles(config, [], ctas=each * spec_of(config).sms) == 7 + each


@pytest.mark.parametrize("n", [1, 2, 17])
def test_a_chain_of_adds_takes_the_latency_and_five_each(config: str, n: int) -> None:
    latency = spec_of(config).units["sp"].latency_cycles
    assert cycles(config, [add(5, 5)] * n) == (latency + 5) * n + 3


@pytest.mark.parametrize("opcode", ["BAR.ARV", "BAR.RED.POPC"])
def test_where_the_trace_does_not_tell_barriers_apart_all_of_them_wait(config: str, opcode: str) -> None:
    def kernel(barrier: str) -> int:
        # One warp is late, the other has work to do after the barrier.
        return cycles(config, [add(5, 5)] * 40 + [barrier], [barrier] + [add(5, 5)] * 40)

    assert kernel(f"0020 ffffffff 0 {opcode} 0 0 0 ") == kernel("0020 ffffffff 0 BAR.SYNC 0 0 0 ")
    assert kernel("0020 ffffffff 0 BAR.ARV 0 0 1 64 ") < kernel("0020 ffffffff 0 BAR.SYNC 0 0 1 64 ")


@pytest.mark.parametrize("n", [1, 5, 16])
def test_barriers_of_one_warp_take_a_cycle_each(config: str, n: int) -> None:
    assert cycles(config, [BARRIER] * n) == n + 8


@pytest.mark.parametrize("n", [1, 4])
def test_barriers_of_a_full_cta_take_as_long_as_their_schedulers_issue(config: str, n: int) -> None:
    assert cycles(config, *([[BARRIER] * n] * 32)) == 8 * n + 16


@pytest.mark.parametrize("degree", [1, 2, 8, 32])
@pytest.mark.parametrize("n", [1, 6])
def test_a_chain_of_shared_loads_takes_its_conflicts_too(config: str, n: int, degree: int) -> None:
    latency = spec_of(config).shared_memory_latency_cycles
    assert cycles(config, [load("LDS", 0, 4 * degree)] * n) == (latency + 5 + degree - 1) * n + 3


@pytest.mark.parametrize(("stride", "sectors"), [(0, 1), (4, 4), (8, 8), (128, 32)])
@pytest.mark.parametrize("n", [1, 3])
def test_a_chain_of_loads_from_the_l2_takes_both_latencies(config: str, n: int, stride: int, sectors: int) -> None:
    spec = spec_of(config)
    each = spec.l1_latency_cycles + spec.l2_rop_latency_cycles + 13 + sectors - 1
    lines = [load("LDG.E", BASE + 4096 * i, stride) for i in range(n)]
    assert cycles(config, lines, warm_bytes=4096 * n) == each * n + 3


@pytest.mark.parametrize("n", [2, 9])
def test_further_loads_of_the_same_line_take_the_l1s_latency(config: str, n: int) -> None:
    line = load("LDG.E", BASE, 4)
    first = cycles(config, [line], warm_bytes=128)
    assert cycles(config, [line] * n, warm_bytes=128) == first + (spec_of(config).l1_latency_cycles + 4) * (n - 1)


@pytest.mark.parametrize(("stride", "packets"), [(4, 4), (0, 32)])
@pytest.mark.parametrize("n", [1, 3])
def test_every_atomic_blocks_its_warp(config: str, n: int, stride: int, packets: int) -> None:
    line = f"0090 ffffffff 0 RED.E.ADD.STRONG.GPU 2 R2 R5 4 1 {BASE:#x} {stride} 0 "
    each = spec_of(config).l2_rop_latency_cycles + 11 + packets - 1
    assert cycles(config, [line] * n, warm_bytes=128) == each * n + 8


@pytest.mark.parametrize("n", [8, 32])
def test_an_sm_sends_one_store_a_cycle(config: str, n: int) -> None:
    spec = spec_of(config)
    lines = [f"0040 ffffffff 0 STG.E 2 R2 R5 4 1 {BASE + 128 * i:#x} 4 0 " for i in range(n)]
    assert cycles(config, lines) == spec.l1_latency_cycles + spec.l2_rop_latency_cycles + 13 + 4 * n


@pytest.mark.parametrize(("stores", "width"), [(1, ".U8"), (2, ".U16"), (4, ".U8")])
def test_a_local_word_can_be_read_back_from_the_l1_when_all_its_bytes_were_stored(
    config: str, stores: int, width: str
) -> None:
    size = {".U8": 1, ".U16": 2}[width]
    lines = [f"0040 ffffffff 0 STL{width} 2 R1 R4 {size} 1 {LOCAL_BASE + size * i:#x} 0 0 " for i in range(stores)]
    both = [*lines, f"0050 ffffffff 1 R2 LDL 1 R1 4 1 {LOCAL_BASE:#x} 0 0 "]
    is_whole = stores * size == 4
    assert counters(config, both)["n_rd"] == (0 if is_whole else 4 * 32 // spec_of(config).dram_atom_bytes)


def test_a_membar_empties_the_l1(config: str) -> None:
    again = load("LDG.E", BASE, 4)
    membar = "0060 ffffffff 0 MEMBAR.SC.GPU 0 0 0 "
    sectors = 32 * 4 // 32
    assert counters(config, [again] * 3)["gpgpu_n_mem_read_global"] == sectors
    assert counters(config, [again, membar, again, again])["gpgpu_n_mem_read_global"] == 2 * sectors
    assert counters(config, [again, membar, again, membar, again])["gpgpu_n_mem_read_global"] == 3 * sectors
