"""The body of a kernel trace as one stream of text, whichever container and compression it came in."""

import io
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Self, cast

from traces.accelsim.errors import TraceError
from traces.accelsim.files import open_file, open_stream, split_compression
from traces.accelsim.header import HEADER_LIMIT_BYTES, KernelHeader, read_header_and_line
from traces.accelsim.kernelslist import Container
from traces.accelsim.tracez import TracezReader

SPOOL_BYTES = 16 * 1024 * 1024


class BodyReader:
    """The text of a kernel's CTAs, from the ``#`` of the first ``#BEGIN_TB``; empty when there is none.

    ``read`` raises ``TraceError`` where the file is cut or damaged; what it gave before stays valid.
    """

    def __init__(self, stream: BinaryIO, start: bytes, file: str, first_line: int) -> None:
        self._stream = stream
        self._start = start
        self.file = file
        self.first_line = first_line
        """Number of the body's first line in the (decompressed) text, for errors."""

    def read(self, size: int) -> bytes:
        """``size`` bytes; fewer only at the end of the body."""
        if not self._start:
            return self._stream.read(size)
        data, self._start = self._start[:size], self._start[size:]
        return data + self._stream.read(size - len(data)) if len(data) < size else data

    def close(self) -> None:
        self._stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_body(source: Path | BinaryIO, name: str | None = None) -> tuple[KernelHeader, BodyReader]:
    """Opens a kernel file (a path, or a stream of its stored bytes and its name) for reading its instructions.

    The reader owns the stream. Raises ``TraceError``, also while reading.
    """
    if isinstance(source, Path):
        name = name or source.name
        stream = open_file(source)
    else:
        name = name or "kernel trace"
        stream = open_stream(source, name)
    try:
        if split_compression(name)[0].endswith(f".{Container.BINARY}"):
            return _open_binary(stream, name)
        return _open_text(stream, name)
    except BaseException:
        stream.close()
        raise


def _open_text(stream: BinaryIO, name: str) -> tuple[KernelHeader, BodyReader]:
    if not isinstance(stream, io.BufferedIOBase):
        stream = cast(BinaryIO, io.BufferedReader(_Blocks(iter(lambda: stream.read(SPOOL_BYTES), b""), stream)))
    header, line_number = read_header_and_line(stream, name)
    left = HEADER_LIMIT_BYTES
    while left > 0:
        line = stream.readline(left)
        left -= len(line)
        line_number += 1
        if not line or line.lstrip().startswith(b"#BEGIN_TB"):
            return header, BodyReader(stream, line.lstrip(), name, line_number)
        if b"\0" in line:
            raise TraceError("is a binary trace under the name of a text one: name it .tracez, in the list too.", name)
        if line.strip() and not line.lstrip().startswith((b"#", b"-")):
            raise TraceError("has instructions in front of the first #BEGIN_TB.", name, line_number)
    raise TraceError("has no #BEGIN_TB after its header.", name, line_number)


def _open_binary(stream: BinaryIO, name: str) -> tuple[KernelHeader, BodyReader]:
    if not stream.seekable() or split_compression(name)[0] != name:
        stream = _spooled(stream)
    reader = TracezReader(stream, name)
    first_line = reader.header_text.count(b"\n") + 2
    text = cast(BinaryIO, io.BufferedReader(_Blocks(reader.text(), stream)))
    text.read(1)  # the blank line in front of the first #BEGIN_TB belongs to the header's spacing
    return reader.header, BodyReader(text, b"", name, first_line)


def _spooled(stream: BinaryIO) -> BinaryIO:
    """A seekable copy, in memory while small: the index of a ``.tracez`` is at its end."""
    copy = cast(BinaryIO, tempfile.SpooledTemporaryFile(SPOOL_BYTES))  # noqa: SIM115 - the reader closes it
    try:
        shutil.copyfileobj(stream, copy)
    except BaseException:
        copy.close()
        raise
    stream.close()
    copy.seek(0)
    return copy


class _Blocks(io.RawIOBase):
    """Pieces of text as a stream; closing it closes the file that they come from."""

    def __init__(self, blocks: Iterator[bytes], source: BinaryIO) -> None:
        super().__init__()
        self._blocks = blocks
        self._source = source
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        while not self._ready:
            block = next(self._blocks, None)
            if block is None:
                return 0
            self._ready = memoryview(block)
        count = min(len(buffer), len(self._ready))
        buffer[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count

    def close(self) -> None:
        self._source.close()
        super().close()
