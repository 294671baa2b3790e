"""Instruction counts, content hashes, and bodies that are not whole."""

import io
import lzma
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.traces.builders import OneWayStream, binary_ctas, header_bytes, kernel_bytes, small_tracez, tracez_bytes
from traces.accelsim import TraceError, open_body
from traces.accelsim.content import KernelContent, read_content


def content(data: bytes, name: str = "kernel-1.traceg") -> KernelContent:
    return read_content(io.BytesIO(data), name)


def refused(data: bytes, message: str) -> TraceError:
    with pytest.raises(TraceError, match=message) as caught:
        content(data)
    return caught.value


def test_it_counts_ctas_and_warp_instructions() -> None:
    found = content(kernel_bytes(ctas=3, threads=96))
    assert (found.ctas, found.warp_instructions) == (3, 3 * 3 * 4)


def test_a_body_starts_at_its_first_cta_and_knows_its_line() -> None:
    data = kernel_bytes()
    _, body = open_body(io.BytesIO(data), "kernel-1.traceg")
    assert body.read(10) == b"#BEGIN_TB\n"
    assert data.split(b"\n")[body.first_line - 1] == b"#BEGIN_TB"


def test_the_hash_leaves_out_the_kernel_id() -> None:
    assert content(kernel_bytes(kernel_id=1)).content_hash == content(kernel_bytes(kernel_id=7)).content_hash


@pytest.mark.parametrize("changed", [{"name": "other"}, {"ctas": 3}, {"stream": 5}])
def test_the_hash_sees_everything_else(changed: dict[str, int]) -> None:
    assert content(kernel_bytes()).content_hash != content(kernel_bytes(**changed)).content_hash  # type: ignore[arg-type]


def test_the_hash_sees_an_address_that_differs() -> None:
    assert (
        content(kernel_bytes()).content_hash
        != content(kernel_bytes().replace(b"0x7f4b00000080", b"0x7f4b00000090")).content_hash
    )


def test_the_hash_does_not_depend_on_compression_file_name_or_line_ends() -> None:
    plain = content(kernel_bytes()).content_hash
    assert content(lzma.compress(kernel_bytes()), "other-9.traceg.xz").content_hash == plain
    assert content(kernel_bytes().replace(b"\n", b"\r\n")).content_hash == plain
    assert content(kernel_bytes().rstrip(b"\n")).content_hash == plain


def test_text_and_binary_forms_of_a_kernel_have_the_same_content() -> None:
    header, body = open_body(io.BytesIO(small_tracez()), "kernel-1.tracez")
    text = header_bytes() + b"\n" + body.read(1 << 20)
    binary = content(small_tracez(), "kernel-1.tracez")
    assert binary.content_hash == content(text).content_hash
    assert (binary.warp_instructions, header.name) == (16, "_Z4copyPf")


def test_it_reads_lines_that_name_their_warp_and_lines_with_source_lines() -> None:
    old = kernel_bytes().replace(b"\n0", b"\n0 0 0 0 0").replace(b"-accelsim tracer version = 5\n", b"")
    numbered = kernel_bytes().replace(b"\n0", b"\n17 0").replace(b"lineinfo = 0", b"lineinfo = 1")
    assert content(old).warp_instructions == content(numbered).warp_instructions == 16


def test_program_counters_that_start_with_c_are_no_cluster_lines() -> None:
    assert content(kernel_bytes().replace(b"\n0010 ", b"\nc010 ")).warp_instructions == 16


def test_progress_tells_the_bytes_read_so_far() -> None:
    heard: list[int] = []
    found = read_content(io.BytesIO(kernel_bytes()), "kernel-1.traceg", heard.append)
    assert heard[-1] == found.text_bytes


def test_it_reads_a_stream_that_cannot_seek() -> None:
    assert read_content(OneWayStream(kernel_bytes()), "kernel-1.traceg").ctas == 2  # type: ignore[arg-type]


def test_more_ctas_than_the_grid_are_a_warning() -> None:
    data = kernel_bytes(ctas=3).replace(b"grid dim = (3,1,1)", b"grid dim = (2,1,1)")
    assert content(data).warnings == ("holds 3 CTAs where its grid has 2; the rest is not simulated",)


def test_fewer_ctas_than_the_grid_are_a_cut_file() -> None:
    refused(
        kernel_bytes().replace(b"grid dim = (2,", b"grid dim = (9,"),
        "holds 2 of the 9 CTAs of its grid: the file was cut",
    )


def test_a_binary_trace_may_leave_out_ctas() -> None:
    assert content(tracez_bytes(header_bytes(5), binary_ctas(2)), "kernel-1.tracez").ctas == 2


def test_a_file_that_ends_after_its_header_holds_no_cta() -> None:
    refused(header_bytes(), "holds 0 of the 2 CTAs")


@pytest.mark.parametrize(
    ("old", "new", "message", "line"),
    [
        (b"insts = 4", b"insts = 3", "has 4 instruction lines for warp 0 where 3 were announced", 30),
        (b"insts = 4", b"insts = 5", "has 4 instruction lines for warp 0 where 5 were announced", 30),
        (b"insts = 4\n", b"", "has 4 instruction lines for warp 0 where 0 were announced", 29),
        (b"warp = 1\ninsts = 4\n", b"warp = 1\nwarp = 1\n", "has no .insts. for warp 1", 31),
        (b"insts = 4", b"insts = many", "is out of place", 24),
        (b"warp = 1", b"warp = 2", r"has warp 2 in a block of 2 warps \(0 to 1\)", 30),
        (b"#END_TB", b"#BEGIN_TB", "has a #BEGIN_TB inside a CTA", 37),
        (b"thread block = 0,0,0", b"something else", "is not understood", 21),
        (b"thread block = 0,0,0\n", b"thread block = 0,0,0\n0000 ffffffff 0 NOP 0 0 0\n", "lines for no warp", 24),
    ],
)
def test_a_damaged_frame_is_refused_with_its_line(old: bytes, new: bytes, message: str, line: int) -> None:
    assert refused(kernel_bytes().replace(old, new, 1), message).line == line


def test_a_cta_without_warps_is_refused() -> None:
    refused(header_bytes() + b"\n#BEGIN_TB\nthread block = 0,0,0\n#END_TB\n", "an #END_TB without warps")


def test_instructions_before_the_first_cta_are_refused() -> None:
    refused(header_bytes() + b"\n0000 ffffffff 0 NOP 0 0 0\n", "instructions in front of the first #BEGIN_TB")


def test_a_line_without_end_is_refused() -> None:
    refused(header_bytes() + b"\n#BEGIN_TB\n" + b"0" * (20 << 20), "has a line of more than")


def test_every_cut_of_a_kernel_is_an_error() -> None:
    whole = kernel_bytes().rstrip(b"\n")
    for length in range(len(whole)):
        with pytest.raises(TraceError):
            content(whole[:length])


@given(st.integers(0, 10_000), st.binary(max_size=40))
def test_overwritten_bytes_give_an_error_or_a_count(offset: int, patch: bytes) -> None:
    data = bytearray(kernel_bytes())
    at = offset % len(data)
    data[at : at + len(patch)] = patch
    with suppress(TraceError):
        content(bytes(data))


def test_blocks_may_end_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = content(kernel_bytes())
    for size in (1, 7, 64):
        monkeypatch.setattr("traces.accelsim.content.BLOCK_BYTES", size)
        assert content(kernel_bytes()) == whole
