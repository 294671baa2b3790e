"""Archives: good ones of every kind, cut ones, and those made to do harm."""

import bz2
import gzip
import io
import lzma
import struct
import tarfile
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable
from contextlib import suppress
from typing import BinaryIO

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.traces.builders import OneWayStream, kernel_bytes, tar_bytes, trace_files, zip_bytes
from traces.accelsim import KernelHeader, TraceError
from traces.archives import ArchiveSource, Limits, read_archive

FILES = {f"top/traced/traces/{name}": data for name, data in trace_files().items()} | {"top/run.json": b'{"name": "x"}'}
KINDS: dict[str, Callable[[dict[str, bytes]], bytes]] = {
    "tar": tar_bytes,
    "tar.gz": lambda files: gzip.compress(tar_bytes(files)),
    "tar.xz": lambda files: lzma.compress(tar_bytes(files), preset=1),
    "tar.zst": lambda files: zstandard.compress(tar_bytes(files)),
    "zip": zip_bytes,
}
kinds = pytest.mark.parametrize("kind", KINDS)


def read(data: bytes, limits: Limits | None = None) -> ArchiveSource:
    return read_archive(io.BytesIO(data), "trace.tar", limits=limits)


def stored_of(stream: BinaryIO) -> dict[str, bytes]:
    stored: dict[str, bytes] = {}
    read_archive(stream, "trace.tar", lambda name, content: stored.__setitem__(name, content.read()))
    return stored


def refused(data: bytes, message: str, limits: Limits | None = None) -> None:
    with pytest.raises(TraceError, match=message):
        read(data, limits)


@kinds
def test_it_hands_every_file_to_the_store(kind: str) -> None:
    assert stored_of(io.BytesIO(KINDS[kind](FILES))) == FILES


@kinds
def test_it_reads_a_stream_that_cannot_seek(kind: str) -> None:
    assert stored_of(OneWayStream(KINDS[kind](FILES))) == FILES  # type: ignore[arg-type]


@kinds
def test_it_keeps_headers_and_small_files_and_no_bodies(kind: str) -> None:
    source = read(KINDS[kind](FILES))
    assert source.files() == {name: len(data) for name, data in FILES.items()}
    assert set(source.kept) == {"top/run.json", "top/traced/traces/kernelslist.g"}
    headers = source.headers(["top/traced/traces/kernel-2.traceg"])
    assert isinstance(headers["top/traced/traces/kernel-2.traceg"], KernelHeader)


@pytest.mark.parametrize("tar_format", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_it_reads_long_and_foreign_names_in_every_tar_format(tar_format: int) -> None:
    name = "a" * 90 + "/" + "b" * 90 + "/k.txt"
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tar_format) as archive:
        archive.addfile(tarfile.TarInfo(name), io.BytesIO())
        archive.addfile(tarfile.TarInfo("\u00e4.txt"), io.BytesIO())
    assert list(read(out.getvalue()).files()) == [name, "\u00e4.txt"]


def test_it_passes_over_folders() -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name in (".", "./top"):
            folder = tarfile.TarInfo(name)
            folder.type = tarfile.DIRTYPE
            archive.addfile(folder)
        archive.addfile(tarfile.TarInfo("./top/run.json"), io.BytesIO())
    assert list(read(out.getvalue()).files()) == ["top/run.json"]


def test_a_bad_kernel_is_remembered_and_does_not_end_the_reading() -> None:
    source = read(tar_bytes({"kernel-1.traceg": b"", "kernel-2.traceg": kernel_bytes()}))
    assert isinstance(source.headers(["kernel-1.traceg"])["kernel-1.traceg"], TraceError)


@kinds
def test_every_cut_is_an_error(kind: str) -> None:
    data = KINDS[kind]({"run.json": b"{}" * 300, "kernel-1.traceg": kernel_bytes()})
    end = len(data) - 9000 if kind == "tar" else len(data)  # a tar is padded to 10 KiB; its end mark comes before
    for length in range(0, end, 7):
        with pytest.raises(TraceError):
            read(data[:length])


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (tarfile.SYMTYPE, "is a symbolic link"),
        (tarfile.LNKTYPE, "is a hard link"),
        (tarfile.CHRTYPE, "is a device"),
        (tarfile.BLKTYPE, "is a device"),
        (tarfile.FIFOTYPE, "is a pipe"),
        (tarfile.GNUTYPE_SPARSE, "is a sparse file"),
        (b"V", "is of an unknown kind"),
    ],
)
def test_it_refuses_members_that_are_no_plain_files(kind: bytes, message: str) -> None:
    info = tarfile.TarInfo("kernel-1.traceg")
    info.type = kind
    info.linkname = "/etc/passwd"
    refused(info.tobuf() + bytes(1024), message)


def test_it_refuses_a_sparse_file_in_an_extended_header() -> None:
    info = tarfile.TarInfo("kernel-1.traceg")
    info.pax_headers = {"GNU.sparse.major": "1", "GNU.sparse.realsize": str(1 << 40)}
    refused(info.tobuf(tarfile.PAX_FORMAT) + bytes(1024), "is a sparse file")


@kinds
@pytest.mark.parametrize("name", ["../run.json", "/etc/cron.d/x", "a/../../b", "a\\..\\b"])
def test_it_refuses_names_that_point_outside(kind: str, name: str) -> None:
    refused(KINDS[kind]({name: b"x"}), "points outside the archive")


@kinds
def test_it_refuses_an_archive_in_an_archive(kind: str) -> None:
    refused(KINDS[kind]({"inner.zip": b"x"}), "an archive in an archive")


@kinds
def test_it_refuses_case_twins(kind: str) -> None:
    refused(KINDS[kind]({"run.json": b"{}", "Run.json": b"{}"}), "comes twice")


def test_it_refuses_a_name_that_zip_tools_cut_at_a_nul() -> None:
    data = zip_bytes({"run.jsonX..txt": b"{}"}).replace(b"run.jsonX", b"run.json\0")
    refused(data, "control character")


def test_it_refuses_a_second_archive_after_the_first() -> None:
    refused(tar_bytes(FILES) * 2, "more data after its end mark")


def test_it_refuses_an_encrypted_zip() -> None:
    data = bytearray(zip_bytes({"run.json": b"{}"}))
    data[data.index(b"PK\1\2") + 8] |= 1
    refused(bytes(data), "is encrypted")


def test_it_refuses_a_link_in_a_zip() -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        info = zipfile.ZipInfo("kernel-1.traceg")
        info.external_attr = 0o120777 << 16
        archive.writestr(info, "/etc/passwd")
    refused(out.getvalue(), "is a link or a device")


def test_it_refuses_unusual_compression_in_a_zip() -> None:
    refused(zip_bytes({"run.json": b"{}"}, zipfile.ZIP_BZIP2), "compressed in an unusual way")


@pytest.mark.parametrize("kind", ["tar.gz", "tar.xz", "tar.zst", "zip"])
def test_it_refuses_a_bomb_early(kind: str) -> None:
    refused(KINDS[kind]({"kernel-1.traceg": bytes(80 << 20)}), "refused as a bomb")


def test_zip_members_that_share_their_bytes_do_not_pass_as_large() -> None:
    """Many directory entries that point at one compressed member: each alone is harmless."""
    one = zip_bytes({"k-00000.txt": bytes(8 << 20)})
    start, end = one.index(b"PK\1\2"), one.index(b"PK\5\6")
    entry = one[start:end]
    entries = b"".join(entry.replace(b"k-00000", b"k-%05d" % n) for n in range(1000))
    ending = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 1000, 1000, len(entries), start, 0)
    refused(one[:start] + entries + ending, "refused as a bomb")


def test_a_regular_trace_is_no_bomb() -> None:
    line = b"0010 ffffffff 1 R8 FFMA 3 R8 R4 R5 0 0 \n"
    assert read(KINDS["tar.xz"]({"kernel-1.traceg": kernel_bytes() + line * 200_000})).files()


def test_limits_on_members_and_size_are_kept() -> None:
    refused(tar_bytes(FILES), "holds more than 2 members", Limits(members=2))
    refused(tar_bytes(FILES), "unfolds to more than 5000 bytes", Limits(total_bytes=5000))
    refused(zip_bytes(FILES), "unfolds to more than 1000 bytes", Limits(total_bytes=1000))


def test_an_extended_header_of_gigabytes_is_refused_unread() -> None:
    info = tarfile.TarInfo("x")
    info.type = tarfile.XHDTYPE
    info.size = 4 << 30
    refused(info.tobuf() + bytes(100_000), "has an extended header of 4294967296 bytes")


@pytest.mark.parametrize("records", [b"path", b"99 path=x\n", b"0 path=x\n", b"-1 path=x\n", b"9999999 a=b\n"])
def test_a_damaged_extended_header_is_refused(records: bytes) -> None:
    info = tarfile.TarInfo("x")
    info.type = tarfile.XHDTYPE
    info.size = len(records)
    refused(info.tobuf() + records.ljust(512, b"\0") + bytes(1024), "damaged extended header")


def test_a_size_that_is_no_number_is_refused() -> None:
    info = tarfile.TarInfo("x")
    info.pax_headers = {"size": "-5"}
    refused(info.tobuf(tarfile.PAX_FORMAT) + bytes(1024), "has no readable size")


def test_thousands_of_extended_headers_in_a_row_are_no_trouble() -> None:
    record = b"10 path=x\n"
    info = tarfile.TarInfo("x")
    info.type = tarfile.XHDTYPE
    info.size = len(record)
    chain = (info.tobuf() + record.ljust(512, b"\0")) * 5000
    assert list(read(chain + tarfile.TarInfo("y").tobuf() + bytes(1024)).files()) == ["x"]


def test_a_zip_directory_of_gigabytes_is_refused_unread() -> None:
    refused(
        b"PK\3\4" + struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 1, 1, 2**31, 0, 0), "has a directory of 2147483648 bytes"
    )


def test_a_zip_without_its_directory_is_refused() -> None:
    refused(zip_bytes(FILES)[:200], "is a zip archive without its directory")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "ends before its end mark"),
        (b"hello" * 1000, "is not a readable tar archive"),
        (bytes(1024), "holds no files"),
        (zip_bytes({}), "holds no files"),
        (bz2.compress(tar_bytes(FILES)), "ends before its end mark|is not a readable tar archive"),
        (gzip.compress(gzip.compress(tar_bytes(FILES))), "ends before its end mark|is not a readable tar archive"),
    ],
)
def test_it_refuses_what_is_no_archive(data: bytes, message: str) -> None:
    refused(data, message)


def test_a_zip_member_without_a_name_is_refused() -> None:
    refused(zip_bytes({"": b"x"}), "has no name")


def test_a_zip_member_that_starts_before_the_archive_is_refused() -> None:
    data = bytearray(zip_bytes({"run.json": b"{}"}))
    end = data.index(b"PK\5\6")
    struct.pack_into("<L", data, end + 16, struct.unpack_from("<L", data, end + 16)[0] + 50)
    refused(bytes(data), "is not a readable zip archive|has a damaged member")


def test_a_damaged_member_of_a_zip_is_refused() -> None:
    data = bytearray(zip_bytes({"run.json": b"abc" * 1000}, zipfile.ZIP_STORED))
    data[100] ^= 1
    refused(bytes(data), "has a damaged member")


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_damage_anywhere_is_an_error_or_an_archive(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(sorted(KINDS)))
    whole = bytearray(KINDS[kind]({"run.json": b"{}", "kernel-1.traceg": kernel_bytes()}))
    at = data.draw(st.integers(0, len(whole) - 1))
    patch = data.draw(st.binary(min_size=1, max_size=20))
    whole[at : at + len(patch)] = patch
    with suppress(TraceError):
        read(bytes(whole))


def test_memory_stays_flat_whatever_passes() -> None:
    size = 64 << 20
    info = tarfile.TarInfo("kernel-1.traceg")
    info.size = size
    # Noise, so that it is not taken for a bomb; made as it is read, so that the test itself needs no memory.
    noise = zlib.compress(kernel_bytes()) * 200
    block = (noise * (1 + (1 << 20) // len(noise)))[: 1 << 20]
    whole = _Repeated(info.tobuf(), block, size // len(block), bytes(1024))
    tracemalloc.start()
    read_archive(whole, "trace.tar", lambda _, content: _drain(content))  # type: ignore[arg-type]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 16 << 20


def _drain(content: BinaryIO) -> None:
    while content.read(1 << 20):
        pass


class _Repeated(io.RawIOBase):
    def __init__(self, start: bytes, block: bytes, times: int, end: bytes) -> None:
        super().__init__()
        self._parts = iter([start, *[block] * times, end])
        self._ready = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        self._ready = self._ready or next(self._parts, b"")
        count = min(len(buffer), len(self._ready))
        buffer[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count
