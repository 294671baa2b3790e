"""Trace files as streams of plain bytes, whichever way they were compressed.

What a file *contains* decides how it is read; its suffix only makes the error better when the two disagree. All readers
are streams with flat memory: no more than ``OUTPUT_BLOCK_BYTES`` (zstd: 32 MiB in the worst case) is inflated ahead.
"""

import io
import lzma
import zlib
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import BinaryIO, Protocol, cast

import zstandard

from traces.accelsim.errors import TraceError

INPUT_BLOCK_BYTES = 64 * 1024
OUTPUT_BLOCK_BYTES = 256 * 1024
XZ_MEMORY_BYTES = 100 * 1024 * 1024
"""``xz -9`` needs 65 MiB to decompress; a made-up dictionary size could ask for 4 GiB."""
ZSTD_WINDOW_BYTES = 1 << 27
"""The window of ``zstd --ultra -22 --long=27``."""
ZSTD_PIECE_BYTES = 1024
"""zstd cannot be told how much to put out, and four bytes may stand for 128 KiB: so it is fed in small pieces."""


class Compression(StrEnum):
    NONE = ""
    XZ = "xz"
    GZIP = "gz"
    ZSTD = "zst"


MAGIC_BYTES = 6


def split_compression(name: str) -> tuple[str, Compression]:
    """``kernel-1.traceg.xz`` -> (``kernel-1.traceg``, XZ), by the suffix alone."""
    stem, dot, suffix = name.rpartition(".")
    for compression in (Compression.XZ, Compression.GZIP, Compression.ZSTD):
        if dot and suffix.lower() == compression.value:
            return stem, compression
    return name, Compression.NONE


def sniff_compression(start: bytes) -> Compression:
    """The compression that a file's first ``MAGIC_BYTES`` bytes tell of."""
    if start.startswith(b"\xfd7zXZ\x00"):
        return Compression.XZ
    if start.startswith(b"\x1f\x8b"):
        return Compression.GZIP
    # Parallel zstd tools put a "skippable frame" (0x184D2A50 to ...5F) in front.
    if start.startswith(b"\x28\xb5\x2f\xfd") or (start[1:4] == b"\x2a\x4d\x18" and start[0] >> 4 == 5):
        return Compression.ZSTD
    return Compression.NONE


def open_file(path: Path) -> BinaryIO:
    """The plain bytes of a file. Raises ``TraceError`` when it cannot be opened."""
    try:
        source = path.open("rb")
    except OSError as error:
        raise TraceError(f"cannot be opened: {error.strerror or error}.", str(path)) from error
    try:
        return open_stream(source, path.name)
    except BaseException:
        source.close()
        raise


def open_stream(source: BinaryIO, name: str) -> BinaryIO:
    """The plain bytes of ``source``, which stands at its start; closing the result closes ``source``.

    A plain, seekable source is handed back itself, so that it stays seekable. Reading raises ``TraceError`` where
    compressed data is damaged or cut.
    """
    start = _read_start(source)
    found = sniff_compression(start)
    claimed = split_compression(name)[1]
    if found is Compression.NONE:
        if claimed is not Compression.NONE and start and not _is_text(start):
            raise TraceError(f"is named .{claimed} but does not hold {claimed} data: copy the file again.", name)
        return _rejoined(source, start)
    return cast(BinaryIO, io.BufferedReader(_Inflated(source, start, found, name), OUTPUT_BLOCK_BYTES))


def _read_start(source: BinaryIO) -> bytes:
    start = b""
    while len(start) < MAGIC_BYTES:
        piece = source.read(MAGIC_BYTES - len(start))
        if not piece:
            break
        start += piece
    return start


def _is_text(start: bytes) -> bool:
    return all(byte in b"\t\r\n" or 32 <= byte < 127 for byte in start)


def _rejoined(source: BinaryIO, start: bytes) -> BinaryIO:
    if source.seekable():
        source.seek(-len(start), io.SEEK_CUR)
        return source
    return cast(BinaryIO, io.BufferedReader(_Rejoined(source, start), INPUT_BLOCK_BYTES))


class _Rejoined(io.RawIOBase):
    """A stream that cannot seek, with the bytes already taken from it put back in front."""

    def __init__(self, source: BinaryIO, start: bytes) -> None:
        super().__init__()
        self._source = source
        self._start = start

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        data = self._start[: len(buffer)] or self._source.read(len(buffer))
        self._start = self._start[len(data) :]
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._source.close()
        super().close()


class _Unit(Protocol):
    """One xz stream, gzip member or zstd frame; a file may hold several in a row."""

    @property
    def eof(self) -> bool: ...

    @property
    def needs_input(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, max_length: int) -> bytes: ...


class _GzipUnit:
    def __init__(self) -> None:
        self._inflater = zlib.decompressobj(wbits=31)

    @property
    def eof(self) -> bool:
        return self._inflater.eof

    @property
    def needs_input(self) -> bool:
        return not self._inflater.unconsumed_tail

    @property
    def unused_data(self) -> bytes:
        return self._inflater.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        return self._inflater.decompress(self._inflater.unconsumed_tail + data, max_length)


class _ZstdUnit:
    def __init__(self) -> None:
        self._inflater = zstandard.ZstdDecompressor(max_window_size=ZSTD_WINDOW_BYTES).decompressobj()
        self._pending = memoryview(b"")

    @property
    def eof(self) -> bool:
        return self._inflater.eof

    @property
    def needs_input(self) -> bool:
        return not self._pending

    @property
    def unused_data(self) -> bytes:
        return self._inflater.unused_data + bytes(self._pending)

    def decompress(self, data: bytes, max_length: int) -> bytes:
        view = memoryview(bytes(self._pending) + data) if data else self._pending
        self._pending = view[ZSTD_PIECE_BYTES:]
        return self._inflater.decompress(view[:ZSTD_PIECE_BYTES])


_NEW_UNIT: dict[Compression, Callable[[], _Unit]] = {
    Compression.XZ: lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=XZ_MEMORY_BYTES),
    Compression.GZIP: _GzipUnit,
    Compression.ZSTD: _ZstdUnit,
}


class _Inflated(io.RawIOBase):
    """The plain bytes of compressed units in a row; zero bytes between and after them are padding."""

    def __init__(self, source: BinaryIO, start: bytes, compression: Compression, name: str) -> None:
        super().__init__()
        self._source = source
        self._start = start
        self._compression = compression
        self._name = name
        self._unit = _NEW_UNIT[compression]()
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        while not self._ready:
            data = self._next_input()
            if data is None:
                return 0
            self._ready = memoryview(self._inflate(data))
        count = min(len(buffer), len(self._ready))
        buffer[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count

    def close(self) -> None:
        self._source.close()
        super().close()

    def _next_input(self) -> bytes | None:
        """What the current unit is to be fed (possibly nothing, it has more to give); None at the end of the file."""
        if self._start:
            data, self._start = self._start, b""
            return data
        if self._unit.eof:
            return self._start_of_next_unit()
        if not self._unit.needs_input:
            return b""
        data = self._source.read(INPUT_BLOCK_BYTES)
        if not data:
            raise TraceError(f"its {self._compression} data is cut: copy the file again.", self._name)
        return data

    def _start_of_next_unit(self) -> bytes | None:
        data = self._unit.unused_data.lstrip(b"\0")
        while not data:
            block = self._source.read(INPUT_BLOCK_BYTES)
            if not block:
                return None
            data = block.lstrip(b"\0")
        self._unit = _NEW_UNIT[self._compression]()
        return data

    def _inflate(self, data: bytes) -> bytes:
        try:
            return self._unit.decompress(data, OUTPUT_BLOCK_BYTES)
        except (lzma.LZMAError, zlib.error, zstandard.ZstdError) as error:
            message = f"its {self._compression} data is damaged ({error}): copy the file again."
            raise TraceError(message, self._name) from error
