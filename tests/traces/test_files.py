"""Compressed and plain files as streams."""

import gzip
import io
import lzma
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from tests.traces.builders import OneWayStream
from traces.accelsim import TraceError, open_file, open_stream

TEXT = b"".join(b"%04x ffffffff 1 R%d IADD3 0 0 %d \n" % (n * 16, n % 255, n * n) for n in range(20_000))
COMPRESSORS: dict[str, Callable[[bytes], bytes]] = {
    "xz": lzma.compress,
    "gz": gzip.compress,
    "zst": zstandard.ZstdCompressor(write_checksum=True).compress,
}
suffixes = pytest.mark.parametrize("suffix", COMPRESSORS)


def read_all(data: bytes, name: str) -> bytes:
    with open_stream(io.BytesIO(data), name) as stream:
        return stream.read()


@suffixes
def test_it_reads_compressed_files(suffix: str) -> None:
    assert read_all(COMPRESSORS[suffix](TEXT), f"k.{suffix}") == TEXT


@suffixes
def test_what_a_file_contains_counts_more_than_its_suffix(suffix: str) -> None:
    assert read_all(COMPRESSORS[suffix](TEXT), "k.traceg") == TEXT


@suffixes
def test_plain_text_under_a_compressed_name_is_read_as_text(suffix: str) -> None:
    assert read_all(TEXT, f"k.{suffix}") == TEXT


@suffixes
def test_other_bytes_under_a_compressed_name_are_refused(suffix: str) -> None:
    with pytest.raises(TraceError, match=f"is named .{suffix} but does not hold {suffix} data"):
        read_all(b"\x00\x01\x02" * 10, f"k.{suffix}")


@suffixes
def test_it_reads_from_a_stream_that_cannot_seek(suffix: str) -> None:
    stream = open_stream(OneWayStream(COMPRESSORS[suffix](TEXT)), f"k.{suffix}")  # type: ignore[arg-type]
    assert stream.read() == TEXT


def test_it_reads_plain_bytes_from_a_stream_that_cannot_seek() -> None:
    assert open_stream(OneWayStream(TEXT), "k").read() == TEXT  # type: ignore[arg-type]


@suffixes
def test_units_in_a_row_with_padding_are_one_file(suffix: str) -> None:
    unit = COMPRESSORS[suffix]
    assert read_all(unit(b"one") + unit(b"two") + bytes(8), f"k.{suffix}") == b"onetwo"


@suffixes
def test_a_cut_file_is_an_error_and_never_a_shorter_one(suffix: str) -> None:
    data = COMPRESSORS[suffix](TEXT[:3000])
    for length in range(6, len(data)):
        with pytest.raises(TraceError, match=r"is cut|is damaged"):
            read_all(data[:length], f"k.{suffix}")


@suffixes
@given(data=st.data())
def test_a_flipped_bit_is_an_error(suffix: str, data: st.DataObject) -> None:
    whole = bytearray(COMPRESSORS[suffix](TEXT[:3000]))
    # gzip's header has bytes that mean nothing (time, operating system): they are not checked.
    bit = data.draw(st.integers(8 * (10 if suffix == "gz" else 6), 8 * len(whole) - 1))
    whole[bit // 8] ^= 1 << bit % 8
    with suppress(TraceError):
        assert read_all(bytes(whole), f"k.{suffix}") == TEXT[:3000]


@suffixes
def test_garbage_after_the_data_is_an_error(suffix: str) -> None:
    with pytest.raises(TraceError, match="is damaged"):
        read_all(COMPRESSORS[suffix](TEXT) + b"garbage" * 10, f"k.{suffix}")


@suffixes
def test_a_bomb_is_read_in_small_pieces(suffix: str) -> None:
    with open_stream(io.BytesIO(COMPRESSORS[suffix](bytes(50 << 20))), f"k.{suffix}") as stream:
        assert len(stream.read(1000)) == 1000


def test_a_dictionary_that_asks_for_gigabytes_is_refused() -> None:
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 512 << 20}]
    with pytest.raises(TraceError, match="Memory usage limit"):
        read_all(lzma.compress(b"x", filters=filters), "k.xz")


def test_an_empty_file_is_empty() -> None:
    assert read_all(b"", "k.traceg.xz") == b""


def test_a_missing_file_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=r"k\.traceg: cannot be opened: No such file"):
        open_file(tmp_path / "k.traceg")
