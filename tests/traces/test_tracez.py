"""The binary container: the same text as a ``.traceg``, and damage of every kind."""

import io
import struct
import tracemalloc
from contextlib import suppress
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.traces.builders import (
    FIXTURES,
    BinaryCta,
    OneWayStream,
    binary_ctas,
    header_bytes,
    kernel_bytes,
    small_tracez,
    tracez_bytes,
)
from traces.accelsim import TraceError, open_body

HOPPER = FIXTURES / "hopper_synthetic_v6"


def text_of(data: bytes) -> bytes:
    _, body = open_body(io.BytesIO(data), "kernel-1.tracez")
    with body:
        pieces = []
        while piece := body.read(1 << 20):
            pieces.append(piece)
    return b"".join(pieces)


def refused(data: bytes, message: str) -> None:
    with pytest.raises(TraceError, match=message):
        text_of(data)


def test_it_gives_the_text_that_another_writer_stored() -> None:
    _, binary = open_body(HOPPER.with_suffix(".tracez"))
    _, text = open_body(HOPPER.with_suffix(".traceg.xz"))
    with binary, text:
        assert binary.read(1 << 25) == text.read(1 << 25)
        assert binary.first_line == text.first_line


def test_it_rebuilds_the_lines_around_the_instructions() -> None:
    text = text_of(tracez_bytes(header_bytes(1, 32), [BinaryCta((0, 0, 0), [[b"0000 ffffffff 0 EXIT 0 0 0 "]])]))
    assert text == (
        b"#BEGIN_TB\n\nthread block = 0,0,0\ncluster id = 0,0,0\ncluster cta = 0,0,0\ncluster rank = 0\n"
        b"\nwarp = 0\ninsts = 1\n0000 ffffffff 0 EXIT 0 0 0 \n\n#END_TB\n"
    )


@pytest.mark.parametrize("chunk_lines", [1, 2, 3, 100])
def test_the_cut_into_chunks_does_not_show(chunk_lines: int) -> None:
    assert text_of(tracez_bytes(header_bytes(), binary_ctas(), chunk_lines)) == text_of(small_tracez())


def test_it_uses_a_dictionary() -> None:
    dictionary = b"ffffffff 1 R0 S2R 0 0 0 IMAD 2 R0 R3 LDG.E " * 20
    assert text_of(tracez_bytes(header_bytes(), binary_ctas(), 2, dictionary)) == text_of(small_tracez())


def test_it_uses_a_trained_dictionary() -> None:
    samples: list[bytes | bytearray | memoryview] = [
        b"%04x ffffffff 1 R%d IMAD %d R0 R3 0 %d " % (n * 16, n % 7, n, n * n) for n in range(4000)
    ]
    dictionary = zstandard.train_dictionary(2000, samples).as_bytes()
    assert text_of(tracez_bytes(header_bytes(), binary_ctas(), 2, dictionary)) == text_of(small_tracez())


def test_a_warp_that_executed_nothing_has_no_lines() -> None:
    empty = tracez_bytes(header_bytes(1, 32), [BinaryCta((0, 0, 0), [[]])])
    assert b"warp = 0\ninsts = 0\n\n#END_TB\n" in text_of(empty)


def test_ctas_that_executed_nothing_may_be_left_out() -> None:
    some = tracez_bytes(header_bytes(5), [BinaryCta((3, 0, 0), binary_ctas(1)[0].warps)])
    assert text_of(some).count(b"#BEGIN_TB") == 1
    assert text_of(tracez_bytes(header_bytes(5), [])) == b""


def test_it_reads_a_stream_that_cannot_seek() -> None:
    _, body = open_body(OneWayStream(small_tracez()), "kernel-1.tracez")  # type: ignore[arg-type]
    with body:
        assert body.read(1 << 20) == text_of(small_tracez())


def test_a_text_trace_under_a_binary_name_is_refused_with_advice() -> None:
    refused(kernel_bytes(), "is a text trace under the name of a binary one: name it .traceg")


def test_a_binary_trace_under_a_text_name_is_refused_with_advice() -> None:
    with pytest.raises(TraceError, match=r"is a binary trace under the name of a text one: name it \.tracez"):
        open_body(io.BytesIO(small_tracez()), "kernel-1.traceg")


def test_every_cut_is_an_error() -> None:
    data = small_tracez()
    for length in range(len(data)):
        with pytest.raises(TraceError):
            text_of(data[:length])


def test_every_flipped_bit_gives_an_error_or_text() -> None:
    data = small_tracez()
    for bit in range(8 * len(data)):
        damaged = bytearray(data)
        damaged[bit // 8] ^= 1 << bit % 8
        with suppress(TraceError):
            assert text_of(bytes(damaged)).count(b"\n") < 200


@given(st.binary(max_size=200), st.integers(0, 10_000))
@settings(max_examples=300)
def test_overwritten_bytes_give_an_error_or_text(patch: bytes, offset: int) -> None:
    data = bytearray(small_tracez())
    at = offset % len(data)
    data[at : at + len(patch)] = patch
    with suppress(TraceError):
        text_of(bytes(data))


def at_index(data: bytes, offset: int, value: int, code: str = "<I") -> bytes:
    """The file with a number in its index replaced."""
    (index,) = struct.unpack("<Q", data[-8:])
    changed = bytearray(data)
    struct.pack_into(code, changed, index + offset, value)
    return bytes(changed)


@pytest.mark.parametrize(
    ("offset", "value", "message"),
    [
        (0, 1, "bytes that its index does not speak of"),
        (0, 2**32 - 1, "claims 4294967295 records"),
        (4, 7, r"has CTA \(7, 0, 0\) in a grid"),
        (44, 3, "a CTA with 3 warps where its block has 2"),
        (48, 5, "disagree about the size of warp 0"),
        (52, 2**31, "claims 2147483648 records"),
        (56, 1, "disagree about the place of warp 0"),
        (64, 4, "do not add up|chunk of"),
        (64, 0, "do not add up"),
    ],
)
def test_an_index_that_lies_is_refused(offset: int, value: int, message: str) -> None:
    refused(at_index(small_tracez(), offset, value), message)


def test_a_cta_that_comes_twice_is_refused() -> None:
    twice = [binary_ctas(1)[0], binary_ctas(1)[0]]
    refused(tracez_bytes(header_bytes(), twice), r"has CTA \(0, 0, 0\) twice or out of order")


def test_a_file_without_its_index_is_refused() -> None:
    refused(small_tracez()[:-8] + struct.pack("<Q", 2**63), "does not end with the place of its index")


def test_a_dictionary_larger_than_the_file_is_refused() -> None:
    header = header_bytes()
    refused(header + b"\0" + struct.pack("<II", 2**31, 0) + bytes(40), "claims a dictionary of 2147483648 bytes")


def test_a_dictionary_that_zstd_refuses_is_an_error() -> None:
    magic = b"\x37\xa4\x30\xec"
    data = tracez_bytes(header_bytes(), [])
    at = len(header_bytes()) + 1
    damaged = data[:at] + struct.pack("<II", 40, 0) + magic + b"\xff" * 36 + data[at + 8 : -8]
    refused(damaged + struct.pack("<Q", len(damaged) - 4), "has a dictionary that zstd refuses")


def one_frame(frame: bytes, lines: int) -> bytes:
    """A file whose only chunk is ``frame``."""
    data = tracez_bytes(header_bytes(1, 32), [BinaryCta((0, 0, 0), [[b"x"] * lines])], chunk_lines=lines)
    (index,) = struct.unpack("<Q", data[-8:])
    start = len(header_bytes(1, 32)) + 9 + 8
    body = data[:start] + struct.pack("<I", len(frame)) + frame
    return body + data[index:-8] + struct.pack("<Q", len(body))


def test_a_frame_without_its_size_is_refused() -> None:
    frame = zstandard.ZstdCompressor(write_content_size=False).compress(b"x\nx")
    refused(one_frame(frame, 2), "a zstd frame that claims")


def test_bytes_after_a_frame_are_refused() -> None:
    refused(one_frame(zstandard.compress(b"x\nx") + b"more", 2), "cannot be read")


def test_a_frame_with_other_lines_than_promised_is_refused() -> None:
    refused(one_frame(zstandard.compress(b"x\nx\nx"), 2), "a chunk of 3 lines where its index says 2")


def test_a_frame_with_a_final_newline_is_accepted() -> None:
    assert b"insts = 2\nx\nx\n" in text_of(one_frame(zstandard.compress(b"x\nx\n"), 2))


def test_a_small_file_cannot_unfold_to_a_large_one() -> None:
    refused(one_frame(zstandard.compress(bytes(400 << 20)), 1), "a zstd frame that claims 419430400 bytes")


def test_memory_stays_flat_over_many_chunks(tmp_path: Path) -> None:
    warps = [[b"%04x ffffffff 0 NOP 0 0 0 " % n for n in range(2000)]] * 2
    path = tmp_path / "kernel-1.tracez"
    path.write_bytes(tracez_bytes(header_bytes(100), [BinaryCta((n, 0, 0), warps) for n in range(100)], 500))
    tracemalloc.start()
    _, body = open_body(path)
    with body:
        total = 0
        while piece := body.read(1 << 16):
            total += len(piece)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert total > 10_000_000
    assert peak < 2_000_000
