"""Hopper's asynchronous instructions: bulk copies, mbarriers, named barriers, warpgroup MMA."""

import pytest

from sims.engine import program as p
from tests.engine.kernel_texts import SHARED_BASE, decode, kernel

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


def test_a_bulk_load_lists_its_sectors_and_what_it_completes() -> None:
    assert tma("64 0x00000400 0 16384 0 4 0x7f4b00000000 2 4096") == [
        4, 0x7F4B00000000, 0x7F4B00000020, 0x7F4B00001000, 0x7F4B00001020, 0x400, 16384, 0,
    ]  # fmt: skip


def test_a_multicast_names_the_ctas_that_receive() -> None:
    assert tma("32 0x00000400 1 0x0003 64 0 3 2 0x7f4b00000000 0x7f4b00001000") == [
        2, 0x7F4B00000000, 0x7F4B00001000, 0x400, 64, 3,
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
        ("SYNCS.PHASECHK.TRANS64.TRYWAIT", "00000003", [1, 0]),
    ],
)
def test_an_mbarrier_operation_says_what_it_does(opcode: str, value: str, meaning: list[int]) -> None:
    assert mbarrier(opcode, f"Val 1 00000400 1 {value} ")[:3] == [0x400, *meaning]


def test_the_value_of_the_first_active_lane_counts() -> None:
    lanes = " ".join(f"{i:08x}" for i in range(32))
    line = f"0020 00000018 0 SYNCS.ARRIVE.TRANS64 2 R8 R9 4 1 {BARRIER} 0 0 0 Val 1 00000400 32 {lanes} "
    assert operand(line)[1][:3] == [0x400, 1, 3]


def test_a_listed_destination_comes_before_the_sources_values() -> None:
    line = (
        f"0020 00000001 1 UR6 SYNCS.EXCH.64 2 R8 UR10 8 2 {BARRIER} 0 0 Val 1 0000abcd 1 00000400 1 7ffff800001ffffe "
    )
    assert operand(line)[1][:3] == [0x400, 1, 0]


def test_an_mbarrier_operation_without_values_orders_nothing() -> None:
    assert mbarrier("SYNCS.ARRIVE.TRANS64", "NoVal ") == [-1]


def test_a_finished_copy_arrives_once() -> None:
    assert mbarrier("ARRIVES.LDGSTSBAR.64.ARVCNT", "Val 1 00000400 1 0 ")[:3] == [0x400, 1, 0]
    assert mbarrier("ARRIVES.LDGSTSBAR.64.TRANSCNT", "Val 1 00000400 1 0 ")[:3] == [0x400, 0, 0]


@pytest.mark.parametrize(
    ("line", "identity", "threads"),
    [
        ("00a0 ffffffff 0 BAR.SYNC 0 0 1 128 Val ", 1, 128),
        ("00a0 ffffffff 0 BAR.SYNC 0 0 0 0 Val ", 0, 0),
        ("00a0 ffffffff 1 R2 BAR.SYNC 0 0 128 0 Val 1 00000003 ", 3, 128),
        ("00a0 ffffffff 0 BAR.SYNC 0 0 5 ", 0, 0),
        ("00a0 ffffffff 0 BAR.SYNC 0 0 ", 0, 0),
    ],
)
def test_a_barrier_has_a_name_and_a_count(line: str, identity: int, threads: int) -> None:
    assert operand(line)[2] == identity | threads << 4


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


def test_replay_markers_are_instructions_without_a_register() -> None:
    marks = ("0000 ffffffff 0 REPLAY_START 0 0 0 0", "0000 ffffffff 0 REPLAY_END 0 0 0 0")
    program, chunks = decode(kernel(*marks, exit_line=EXIT, binary=90, tracer=6))
    kinds = program.statics["kind"][chunks[0].static_ids].tolist()
    assert kinds == [p.KIND_REPLAY_START, p.KIND_REPLAY_END, p.KIND_EXIT]
