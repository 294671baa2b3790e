"""The same kernel in all the ways tracers have written it."""

from pathlib import Path

import pytest

from sims.engine import program as p
from sims.engine.decode import TextProgram, open_program
from sims.engine.program import KernelShape
from tests.engine.kernel_texts import EXIT, SHARED_BASE, cta, decode, header, kernel
from tests.engine.twins.decoder import described

LINES = [
    "0010 ffffffff 1 R4 IADD3 2 R5 R6 0 ",
    "0020 ffffffff 1 R4 LDG.E 1 R2 4 1 0x7f4b00000000 4 ",
    "0030 0000000f 0 STS 2 R2 R4 4 2 0x0 128 128 128 ",
    "0040 00000000 1 R4 LDG.E 1 R2 4 1 0x0 0 ",
]


def meaning(text: str | bytes) -> list[object]:
    program, chunks = decode(text)
    return list(described(chunks[0], 0, 0, 1, program.statics, program.opcodes))


EXPECTED = meaning(kernel(*LINES, tracer=3))


def test_tracers_before_3_start_each_line_with_block_and_warp() -> None:
    assert meaning(kernel(*[f"7 0 0 3 {line}" for line in LINES], exit_line=f"7 0 0 3 {EXIT}", tracer=2)) == EXPECTED


def test_a_header_without_tracer_version_is_of_the_oldest_format() -> None:
    text = kernel(*[f"7 0 0 3 {line}" for line in LINES], exit_line=f"7 0 0 3 {EXIT}")
    assert meaning(text.replace("-accelsim tracer version = 5\n", "")) == EXPECTED


def test_line_information_adds_a_field() -> None:
    assert meaning(kernel(*[f"42 {line}" for line in LINES], exit_line=f"42 {EXIT}", lineinfo=1)) == EXPECTED


def test_version_5_adds_an_immediate() -> None:
    assert meaning(kernel(*[f"{line}256 " for line in LINES])) == EXPECTED


def test_version_6_adds_a_second_immediate_and_values() -> None:
    assert meaning(kernel(*[f"{line}256 0 NoVal " for line in LINES], tracer=6)) == EXPECTED


def test_cluster_lines_are_read_over() -> None:
    text = kernel(*LINES).replace(
        "thread block = 0,0,0\n", "thread block = 0,0,0\ncluster id = 0,0,0\ncluster cta = 0,0,0\ncluster rank = 0\n"
    )
    assert meaning(text) == EXPECTED


def test_windows_line_ends_are_accepted() -> None:
    assert meaning(kernel(*LINES).replace("\n", "\r\n")) == EXPECTED


def test_missing_trailing_blanks_are_accepted() -> None:
    assert meaning(kernel(*[line.rstrip() for line in LINES], exit_line=EXIT.rstrip())) == EXPECTED


def test_the_size_of_chunks_changes_nothing() -> None:
    text = header(ctas=5) + "".join(cta([*LINES, EXIT]) for _ in range(5))
    program, chunks = decode(text, chunk=1)
    assert [chunk.first_cta for chunk in chunks] == [0, 1, 2, 3, 4]
    assert [list(described(chunk, 0, 0, 1, program.statics, program.opcodes))[:-1] for chunk in chunks] == [
        EXPECTED[:-1]
    ] * 5


def test_a_block_larger_than_all_buffers_is_read_whole() -> None:
    lines = [
        f"{16 * (i % 64):04x} ffffffff 1 R4 LDG.E.128 1 R2 16 1 {0x7F4B00000000 + 4096 * i:#x} 128 0 "
        for i in range(9000)
    ]
    _, chunks = decode(kernel(*lines), chunk=1)
    assert len(chunks[0].static_ids) == 9001
    first_sectors = chunks[0].sector_addresses[chunks[0].operands[:-1] + 1]
    assert (first_sectors == 0x7F4B00000000 + 31 * 128 + 4096 * (first_sectors * 0 + range(9000))).all()


def test_one_pc_may_hold_two_texts() -> None:
    lines = ["0010 ffffffff 1 R4 IADD3 1 R5 0 0 ", "0010 ffffffff 1 R4 FFMA 1 R5 0 0 "] * 2
    program, chunks = decode(kernel(*lines))
    assert [program.opcodes[i] for i in chunks[0].static_ids[:4]] == ["IADD3", "FFMA", "IADD3", "FFMA"]


def test_one_text_at_two_pcs_is_one_static_instruction() -> None:
    _, chunks = decode(kernel("0010 ffffffff 1 R4 IADD3 1 R5 0 0 ", "0020 ffffffff 1 R4 IADD3 1 R5 0 0 "))
    assert chunks[0].static_ids[0] == chunks[0].static_ids[1]


def test_five_sources_are_kept() -> None:
    program, _ = decode(kernel("0010 ffffffff 1 R4 FFMA 5 R5 R6 R5 R255 R8 0 0 "))
    record = program.statics[0]
    assert record["source"][: record["sources"]].tolist() == [5, 6, 5, 255, 8]
    assert record["distinct_source"][: record["distinct_sources"]].tolist() == [5, 6, 255, 8]


def test_only_vector_registers_take_part_in_dependences() -> None:
    program, _ = decode(kernel("0010 ffffffff 1 UR4 ULDC.64 2 UR6 P0 0 0 0 NoVal ", tracer=6))
    assert (program.statics[0]["destination"], program.statics[0]["sources"]) == (-1, 0)


def test_lanes_are_counted_per_static_instruction() -> None:
    program, _ = decode(kernel("0010 0000000f 1 R4 IADD3 1 R5 0 0 ", "0010 00000000 1 R4 IADD3 1 R5 0 0 "))
    assert program.counts[0].tolist() == [2, 4]


def test_an_unknown_opcode_is_counted_by_name_and_runs() -> None:
    program, _ = decode(kernel(*["0010 ffffffff 1 R4 FROBNICATE.X 1 R5 0 0 "] * 3))
    assert program.unknown_opcodes == {"FROBNICATE": 3}


@pytest.mark.parametrize(
    ("address", "space"),
    [(0x7F4B00000000, p.SPACE_GLOBAL), (SHARED_BASE, p.SPACE_SHARED), (0x7F4A02000000, p.SPACE_LOCAL)],
)
def test_a_generic_access_goes_where_its_address_lies(address: int, space: int) -> None:
    program, chunks = decode(kernel(f"0010 ffffffff 1 R4 LD.E 1 R2 4 1 {address:#x} 4 0 "))
    assert program.statics[chunks[0].static_ids[0]]["space"] == space


def test_without_windows_a_generic_access_is_shared() -> None:
    program, chunks = decode(kernel("0010 ffffffff 1 R4 LD.E 1 R2 4 1 0x7f4b00000000 4 0 ", windows=False))
    assert program.statics[chunks[0].static_ids[0]]["space"] == p.SPACE_SHARED


def test_depbar_takes_the_first_immediate() -> None:
    _, chunks = decode(kernel("0010 ffffffff 0 DEPBAR.LE 0 0 2 0 Val ", "0020 ffffffff 0 DEPBAR.LE 0 0 ", tracer=6))
    assert chunks[0].operands[:2].tolist() == [2, 0]


@pytest.mark.parametrize("path", ["accelsim/traces", "real/traces/flashinfer-gemm"])
def test_reference_traces_are_read_whole(shared: Path, path: str) -> None:
    kernels = sorted((shared / "reference" / path).rglob("kernel-1.traceg*"))
    assert kernels
    for file in kernels:
        with open_program(file) as program:
            assert sum(chunk.ctas for chunk in program.chunks()) == program.shape.ctas


def test_a_binary_trace_may_leave_out_idle_blocks_and_a_text_may_not() -> None:
    shape = KernelShape("_Z4testv", (3, 1, 1), (32, 1, 1), 0, 16, binary_version=86)
    program = TextProgram(shape, [cta([EXIT]).encode() * 2], file="kernel-1.tracez", missing_ctas_allowed=True)
    assert sum(chunk.ctas for chunk in program.chunks()) == program.shape.ctas == 2
