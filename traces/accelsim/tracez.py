"""Accel-Sim 2.0's ``.tracez``: the text of a kernel trace, cut per warp into zstd frames, with an index at the end.

All integers are unsigned and little-endian; nothing is aligned::

    header text  NUL  u32 dictionary bytes  u32 nominal chunk length  dictionary
    per warp:    u32 instructions  u32 chunks  { u32 frame bytes, frame } ...
    index:       u32 CTAs
    per CTA:     11 x u32 (CTA, cluster, CTA in cluster: x, y, z each; cluster rank; warps)
    per warp:    u32 instructions  u32 chunks  u64 offset of its block  u32 lines of each chunk
    u64 index offset

There is no checksum, so everything that is written twice is compared, and every count is held against the bytes that
are left before anything is reserved for it. The text comes out CTA by CTA with flat memory: one chunk at a time.
"""

import io
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

import zstandard

from traces.accelsim.errors import TraceError
from traces.accelsim.header import HEADER_LIMIT_BYTES, KernelHeader, read_header

MAX_DICTIONARY_BYTES = 16 * 1024 * 1024
MAX_CHUNK_BYTES = 128 * 1024 * 1024
MAX_LINE_BYTES = 64 * 1024
WINDOW_BYTES = 256 * 1024

_CTA = struct.Struct("<11I")
_WARP = struct.Struct("<IIQ")
_TWO = struct.Struct("<II")
_U32 = struct.Struct("<I")
_U64 = struct.Struct("<Q")


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where the parts of a file lie, in bytes from its start."""

    data_start: int
    index_start: int
    index_end: int
    dictionary: bytes


@dataclass(frozen=True, slots=True)
class _IndexedCta:
    cta: tuple[int, int, int]
    cluster: tuple[int, int, int]
    cta_in_cluster: tuple[int, int, int]
    cluster_rank: int
    warps: int


class _Window:
    """A part of a seekable file, read forward through a small buffer; several windows can share one file."""

    def __init__(self, stream: BinaryIO, start: int, end: int, file: str, what: str) -> None:
        self._stream = stream
        self._next = start
        self._end = end
        self._file = file
        self._what = what
        self._buffer = b""
        self._at = 0

    @property
    def position(self) -> int:
        return self._next - (len(self._buffer) - self._at)

    @property
    def left(self) -> int:
        return self._end - self.position

    def take(self, count: int) -> bytes:
        if count > self.left:
            message = f"its {self._what} is damaged or cut at byte {self.position}: copy the file again."
            raise TraceError(message, self._file)
        if count > len(self._buffer) - self._at:
            self._refill(count)
        data = self._buffer[self._at : self._at + count]
        self._at += count
        return data

    def _refill(self, count: int) -> None:
        rest = self._buffer[self._at :]
        self._stream.seek(self._next)
        more = self._stream.read(min(max(WINDOW_BYTES, count - len(rest)), self._end - self._next))
        self._next += len(more)
        self._buffer, self._at = rest + more, 0
        if len(self._buffer) < count:
            raise TraceError("became shorter while it was read.", self._file)


class TracezReader:
    """A ``.tracez`` file (a seekable stream of its plain bytes). Raises ``TraceError`` wherever it is damaged."""

    def __init__(self, stream: BinaryIO, file: str) -> None:
        self._stream = stream
        self._file = file
        stream.seek(0)
        self.header: KernelHeader = read_header(stream, file)
        self.header_text = self._read_header_text()
        self._layout = self._read_layout()
        self._inflater = zstandard.ZstdDecompressor(dict_data=self._dictionary(), max_window_size=MAX_CHUNK_BYTES)

    def text(self) -> Iterator[bytes]:
        """The body as the post-processor writes it, from the first ``#BEGIN_TB``, in pieces of at most one chunk."""
        layout = self._layout
        index = _Window(self._stream, layout.index_start, layout.index_end, self._file, "index")
        data = _Window(self._stream, layout.data_start, layout.index_start, self._file, "data")
        (ctas,) = _U32.unpack(index.take(4))
        self._check_room(ctas, _CTA.size, index)
        last = -1
        for _ in range(ctas):
            cta, last = self._next_cta(index, last)
            yield _cta_text(cta)
            for warp in range(cta.warps):
                yield from self._warp_text(warp, index, data)
            yield b"\n#END_TB\n"
        if index.left or data.left:
            raise self._damaged("has bytes that its index does not speak of")

    def _damaged(self, what: str) -> TraceError:
        return TraceError(f"{what}: the file is damaged, copy it again.", self._file)

    def _check_room(self, count: int, size: int, window: _Window) -> None:
        if count * size > window.left:
            raise self._damaged(f"claims {count} records where {window.left} bytes are left")

    def _read_header_text(self) -> bytes:
        self._stream.seek(0)
        start = self._stream.read(HEADER_LIMIT_BYTES)
        text, nul, _ = start.partition(b"\0")
        if b"#BEGIN_TB" in text:
            message = "is a text trace under the name of a binary one: name it .traceg, in the list too."
            raise TraceError(message, self._file)
        if not nul:
            raise self._damaged("has no end of its header in the first MiB")
        return text

    def _read_layout(self) -> _Layout:
        size = self._stream.seek(0, io.SEEK_END)
        fixed_end = len(self.header_text) + 1 + _TWO.size
        if size < fixed_end + _U32.size + _U64.size:
            raise self._damaged("ends before its data")
        self._stream.seek(len(self.header_text) + 1)
        dictionary_bytes, _ = _TWO.unpack(self._stream.read(_TWO.size))
        data_start = fixed_end + dictionary_bytes
        if dictionary_bytes > MAX_DICTIONARY_BYTES or data_start + _U32.size + _U64.size > size:
            raise self._damaged(f"claims a dictionary of {dictionary_bytes} bytes")
        dictionary = self._stream.read(dictionary_bytes)
        self._stream.seek(size - _U64.size)
        (index_start,) = _U64.unpack(self._stream.read(_U64.size))
        if not data_start <= index_start <= size - _U64.size - _U32.size:
            raise self._damaged("does not end with the place of its index")
        return _Layout(data_start, index_start, size - _U64.size, dictionary)

    def _dictionary(self) -> zstandard.ZstdCompressionDict | None:
        if not self._layout.dictionary:
            return None
        try:
            dictionary = zstandard.ZstdCompressionDict(self._layout.dictionary)
            # zstd looks into a dictionary only when it is first used; a damaged one is to be refused here.
            zstandard.ZstdDecompressor(dict_data=dictionary).decompress(zstandard.compress(b""))
        except (zstandard.ZstdError, MemoryError) as error:
            raise self._damaged(f"has a dictionary that zstd refuses ({error})") from error
        return dictionary

    def _next_cta(self, index: _Window, last: int) -> tuple[_IndexedCta, int]:
        n = _CTA.unpack(index.take(_CTA.size))
        cta = _IndexedCta((n[0], n[1], n[2]), (n[3], n[4], n[5]), (n[6], n[7], n[8]), n[9], n[10])
        grid = self.header.grid
        if any(at >= size for at, size in zip(cta.cta, grid, strict=True)):
            raise self._damaged(f"has CTA {cta.cta} in a grid of {grid}")
        if cta.warps != self.header.warps_per_cta:
            raise self._damaged(f"has a CTA with {cta.warps} warps where its block has {self.header.warps_per_cta}")
        linear = (cta.cta[2] * grid[1] + cta.cta[1]) * grid[0] + cta.cta[0]
        if linear <= last:
            raise self._damaged(f"has CTA {cta.cta} twice or out of order")
        return cta, linear

    def _warp_text(self, warp: int, index: _Window, data: _Window) -> Iterator[bytes]:
        instructions, chunks, offset = _WARP.unpack(index.take(_WARP.size))
        self._check_room(chunks, _U32.size, index)
        if offset != data.position:
            raise self._damaged(f"its index and its data disagree about the place of warp {warp}")
        if _TWO.unpack(data.take(_TWO.size)) != (instructions, chunks):
            raise self._damaged(f"its index and its data disagree about the size of warp {warp}")
        yield b"\nwarp = %d\ninsts = %d\n" % (warp, instructions)
        left = instructions
        for _ in range(chunks):
            (lines,) = _U32.unpack(index.take(_U32.size))
            left -= lines
            if lines == 0 or left < 0:
                break
            yield self._chunk_text(lines, data)
        if left:
            raise self._damaged(f"the chunks of warp {warp} do not add up to its {instructions} instructions")

    def _chunk_text(self, lines: int, data: _Window) -> bytes:
        (frame_bytes,) = _U32.unpack(data.take(_U32.size))
        frame = data.take(frame_bytes)
        text = self._inflate(frame, min(MAX_CHUNK_BYTES, lines * MAX_LINE_BYTES))
        if not text.endswith(b"\n"):
            text += b"\n"
        found = text.count(b"\n")
        if found != lines:
            raise self._damaged(f"has a chunk of {found} lines where its index says {lines}")
        return text

    def _inflate(self, frame: bytes, limit: int) -> bytes:
        try:
            parameters = zstandard.get_frame_parameters(frame)
            size = parameters.content_size
            if size > limit:  # a frame without its size has the largest number there
                raise self._damaged(f"has a zstd frame that claims {size} bytes")
            text = self._inflater.decompress(frame, max_output_size=size, allow_extra_data=False)
        except (zstandard.ZstdError, MemoryError) as error:
            raise self._damaged(f"has a zstd frame that cannot be read ({error})") from error
        if len(text) != size:
            raise self._damaged("has a zstd frame that is shorter than it claims")
        return text


def _cta_text(cta: _IndexedCta) -> bytes:
    return (
        b"\n#BEGIN_TB\n\nthread block = %d,%d,%d\n" % cta.cta
        + b"cluster id = %d,%d,%d\n" % cta.cluster
        + b"cluster cta = %d,%d,%d\n" % cta.cta_in_cluster
        + b"cluster rank = %d\n" % cta.cluster_rank
    )
