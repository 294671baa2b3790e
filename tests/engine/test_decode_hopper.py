"""Hopper's asynchronous instructions: bulk copies, mbarriers, named barriers, warpgroup MMA."""

import pytest

from sims.engine import program as p
from tests.engine.kernel_texts import SHARED_BASE, cta, decode, header, kernel
from traces.accelsim.errors import TraceError

EXIT = "0ff0 ffffffff 0 EXIT 0 0 0 0 NoVal "
BARRIER = f"{SHARED_BASE + 0x400:#x}"


def operand(line: str) -> tuple[int, list[int], int]:
    """Kind, and the operand with what it points to, of the first of two equal lines' second."""
    program, chunks = decode(kernel(line, line, exit_line=EXIT, binary=90, tracer=6))
    chunk = chunks[0]
    at = int(chunk.operands[1])
    kind = int(program.statics[chunk.static_ids[1]]["kind"])
    return kind, [at] if at < 0 else chunk.sector_addresses[at:].tolist(), at


def tma(fields: str, opcode: str = "UTMALDG.2D", mask: str = "ffffffff") -> list[int]:
    return operand(f"0040 {mask} 0 {opcode} 0 {fields} 0 0 NoVal ")[1]


def mbarrier(opcode: str, rest: str) -> list[int]:
    return operand(f"0020 00000001 0 {opcode} 2 R8 R9 4 2 {BARRIER} 0 0 {rest}")[1]


def test_a_bulk_load_lists_its_sectors_highest_first_and_what_it_completes() -> None:
    assert tma("64 0x00000400 0 128 0 4 0x7f4b00000000 2 4096") == [
        4, 0x7F4B00001020, 0x7F4B00001000, 0x7F4B00000020, 0x7F4B00000000, 0x400, 128, 0,
    ]  # fmt: skip


def test_a_sector_is_moved_once_however_many_elements_lie_in_it() -> None:
    assert tma("16 0x00000400 0 64 0 4 0x7f4b00000000 4 16 16 16")[:3] == [2, 0x7F4B00000020, 0x7F4B00000000]


def test_sectors_in_any_order_are_served_highest_first() -> None:
    listed = " ".join(f"{0x7F4B00000000 + 32 * i:#x}" for i in (3, 0, 7, 3, 5))
    assert tma(f"32 0x00000400 0 128 0 3 5 {listed}")[:5] == [4, *(0x7F4B00000000 + 32 * i for i in (7, 5, 3, 0))]


def test_bytes_out_of_bounds_complete_too() -> None:
    assert tma("32 0x400 0 64 96 4 0x7f4b00000000 2 32")[4] == 160


def test_what_completes_are_the_elements_listed() -> None:
    assert tma("32 0x400 0 16384 0 4 0x7f4b00000000 2 32")[4] == 64


def test_a_multicast_names_the_ctas_that_receive() -> None:
    assert tma("32 0x00000400 1 0x0003 64 0 3 2 0x7f4b00000000 0x7f4b00001000") == [
        2, 0x7F4B00001000, 0x7F4B00000000, 0x400, 64, 3,
    ]  # fmt: skip


def test_more_elements_than_addresses_are_out_of_bounds() -> None:
    assert tma("32 0x400 0 4096 96 4 0x7f4b00000000 4 4096")[0] == 2


def test_an_address_that_the_tracer_lost_moves_no_sector_but_completes() -> None:
    assert tma("128 0x400 0 128 0 4 0x0 1") == [0, 0x400, 128, 0]


def test_a_bulk_copy_by_no_lane_does_nothing() -> None:
    assert tma("0 0x0 0 0 0 4 0x0 0", mask="00000000") == [-1]


@pytest.mark.parametrize(
    ("opcode", "kind"),
    [("UTMASTG.2D", p.KIND_TMA_STORE), ("UBLKCP.S.G", p.KIND_TMA_LOAD), ("UBLKCP.G.S", p.KIND_TMA_STORE)],
)
def test_bulk_copies_load_or_store(opcode: str, kind: int) -> None:
    assert operand(f"0040 ffffffff 0 {opcode} 0 32 0x0 0 32 0 4 0x7f4b00000000 1 0 0 NoVal ")[0] == kind


@pytest.mark.parametrize(
    ("opcode", "value", "meaning"),
    [
        ("SYNCS.EXCH.64", "7ffff800001ffffe", [1, 0]),
        ("SYNCS.EXCH.64", "fffff000001ffffc", [2, 1]),
        ("SYNCS.ARRIVE.TRANS64", "00004000", [1, 0x4000]),
        ("SYNCS.ARRIVE.TRANS64.RED.ART0", "00000003", [3, 0]),
        ("SYNCS.ARRIVE.TRANS64.RED.A1T0", "00000003", [1, 0]),
        ("SYNCS.ARRIVE.TRANS64.RED.A0TR", "00000040", [0, 0x40]),
        ("SYNCS.ARRIVE.TRANS64.RED.A0TX", "00000040", [0, -0x40]),
        ("SYNCS.ARRIVE.TRANS64.RED.A0T1", "00000040", [0, 1]),
        ("SYNCS.PHASECHK.TRANS64.TRYWAIT", "80000000", [1, 0]),
        ("SYNCS.PHASECHK.TRANS64.TRYWAIT", "00000000", [0, 0]),
    ],
)
def test_an_mbarrier_operation_says_what_it_does(opcode: str, value: str, meaning: list[int]) -> None:
    assert mbarrier(opcode, f"Val 1 00000400 1 {value} ")[:3] == [0x400, *meaning]


def test_lanes_that_arrive_at_one_mbarrier_add_up() -> None:
    lanes = " ".join(f"{i:08x}" for i in range(32))
    line = f"0020 00000018 0 SYNCS.ARRIVE.TRANS64 2 R8 R9 4 1 {BARRIER} 0 0 0 Val 1 00000400 32 {lanes} "
    assert operand(line)[1][:3] == [0x400, 2, 7]


def test_lanes_may_be_at_different_mbarriers() -> None:
    line = f"0020 00000003 0 SYNCS.ARRIVE.TRANS64.A1T0 2 R8 R9 4 2 {BARRIER} 16777216 0 0 Val 1 0 1 0 "
    assert operand(line)[1][:6] == [0x400, 1, 0, 0x1000400, 1, 0]


def test_one_lane_initialises() -> None:
    lanes = " ".join(["7ffff800001ffffe"] * 32)
    line = f"0020 ffffffff 0 SYNCS.EXCH.64 2 R8 R9 8 1 {BARRIER} 0 0 0 Val 1 00000400 32 {lanes} "
    assert operand(line)[1][:3] == [0x400, 1, 0]


def test_a_listed_destination_comes_before_the_sources_values() -> None:
    line = (
        f"0020 00000001 1 UR6 SYNCS.EXCH.64 2 R8 UR10 8 2 {BARRIER} 0 0 Val 1 0000abcd 1 00000400 1 7ffff800001ffffe "
    )
    assert operand(line)[1][:3] == [0x400, 1, 0]


def test_an_mbarrier_operation_without_values_orders_nothing() -> None:
    assert mbarrier("SYNCS.ARRIVE.TRANS64", "NoVal ") == [-1]


def test_a_finished_copy_arrives_once() -> None:
    assert mbarrier("ARRIVES.LDGSTSBAR.64.ARVCNT", "Val 1 00000400 1 0 ")[:3] == [0x400, 1, 0]
    assert mbarrier("ARRIVES.LDGSTSBAR.64.TRANSCNT", "Val 1 00000400 1 0 ")[:3] == [0x400, 0, -1]


def test_a_mere_look_at_an_mbarrier_waits_for_nothing() -> None:
    assert mbarrier("SYNCS.PHASECHK.TRANS64", "Val 1 00000400 1 0 ") == [-1]


@pytest.mark.parametrize(
    ("line", "identity", "threads"),
    [
        ("00a0 ffffffff 0 BAR.SYNC 0 0 1 128 Val ", 1, 128),
        ("00a0 ffffffff 0 BAR.SYNC 0 0 0 0 Val ", 0, 0),
        ("00a0 ffffffff 1 R2 BAR.SYNC 0 0 128 0 Val 1 00000003 ", 3, 128),
    ],
)
def test_a_barrier_has_a_name_and_a_count(line: str, identity: int, threads: int) -> None:
    assert operand(line)[2] == identity | threads << 4


@pytest.mark.parametrize("rest", ["5 ", ""])
@pytest.mark.parametrize("opcode", ["BAR.SYNC", "BAR.ARV", "BAR.RED.POPC"])
@pytest.mark.parametrize("mask", ["ffffffff", "00000000"])
def test_without_a_second_immediate_every_barrier_is_number_0_and_waits(opcode: str, rest: str, mask: str) -> None:
    assert operand(f"00a0 {mask} 0 {opcode} 0 0 {rest}")[2] == p.BARRIER_WAITS


def test_an_arrival_of_no_lane_is_none() -> None:
    assert operand("00a0 00000000 0 BAR.ARV 0 0 1 128 Val ")[2] == -1
    assert operand("00a0 00000000 0 BAR.SYNC 0 0 1 128 Val ")[2] == 1 | 128 << 4


@pytest.mark.parametrize(
    ("line", "closes"),
    [
        ("0080 ffffffff 1 R24 HGMMA.64x128x16.F32 3 R24 UR4 R24 1 0 0 0 Val ", 1),
        ("0080 ffffffff 1 R24 HGMMA.64x128x16.F32 3 R24 UR4 R24 0 0 0 0 Val ", 0),
        ("0080 ffffffff 1 R24 HGMMA.64x128x16.F32 3 R24 UR4 R24 0 0 ", 0),
    ],
)
def test_a_warpgroup_mma_may_close_its_group(line: str, closes: int) -> None:
    kind, _, value = operand(line)
    assert (kind, value) == (p.KIND_GMMA, closes)


def test_the_pending_groups_of_a_warpgroup_wait_are_its_immediate() -> None:
    kind, _, value = operand("0090 ffffffff 0 WARPGROUP.DEPBAR.LE 0 0 1 0 Val ")
    assert (kind, value) == (p.KIND_GMMA_WAIT, 1)


START, END = "0000 ffffffff 0 REPLAY_START 0 0 0 0", "0000 ffffffff 0 REPLAY_END 0 0 0 0"
ADD = "0010 ffffffff 1 R5 FADD 2 R5 R6 0 0 0 NoVal "


def test_the_markers_of_a_replay_region_are_no_instructions() -> None:
    program, chunks = decode(kernel(START, ADD, END, exit_line=EXIT, binary=90, tracer=6))
    kinds = program.statics["kind"][chunks[0].static_ids].tolist()
    assert (kinds, chunks[0].warp_length.tolist()) == ([p.KIND_ALU, p.KIND_EXIT], [2])


def test_an_exit_that_ends_a_replay_region_is_every_lanes() -> None:
    last = EXIT.replace("ffffffff", "00000001")
    _, chunks = decode(kernel(START, exit_line=last, binary=90, tracer=6))
    assert chunks[0].warp_length.tolist() == [1]


def test_a_region_without_an_end_ends_with_its_warp() -> None:
    partial = EXIT.replace("ffffffff", "00000001")
    with pytest.raises(TraceError, match="ends without EXIT"):
        decode(header(ctas=2, binary=90, tracer=6) + cta([START, EXIT]) + cta([ADD, partial]))


def test_the_ctas_of_a_cluster_share_its_number() -> None:
    def placed(cluster: str, rank: int) -> str:
        lines = f"thread block = 0,0,0\ncluster id = {cluster}\ncluster cta = 0,0,0\ncluster rank = {rank}\n"
        return cta([EXIT]).replace("thread block = 0,0,0\n", lines)

    text = header(ctas=4, binary=90, tracer=6)
    text += placed("2,1,0", 0) + placed("2,1,0", 1) + placed("3,1,0", 0) + cta([EXIT])
    chunk = decode(text)[1][0]
    first, second, third, none = chunk.cluster_ids.tolist()
    assert first == second != third
    assert none == -1
    assert chunk.cluster_ranks.tolist() == [0, 1, 0, 0]
