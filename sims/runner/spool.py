"""What a simulator prints, on disk first: the pipe never waits for the network, an app that is away loses nothing.

The log is a UTF-8 file: invalid bytes are replaced on the way in, so that offsets mean the same here and in the app.
"""

import codecs
import os
from collections.abc import Iterable
from pathlib import Path

from sims.runner.redaction import Redactor


def whole_characters(data: bytes) -> bytes:
    """``data`` without the beginning of a UTF-8 character at its end."""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte & 0xC0 == 0x80:
            continue
        needed = 4 if byte >= 0xF0 else 3 if byte >= 0xE0 else 2 if byte >= 0xC0 else 1
        return data[:-back] if needed > back else data
    return data


class LogSpool:
    """The log file: written by the thread that drains the pipe, read by the one that sends it.

    Past ``max_bytes`` nothing more is kept; ``close`` then ends the log with a line that states both sizes.
    """

    def __init__(self, path: Path, max_bytes: int, secrets: Iterable[str] = ()) -> None:
        self._redactor = Redactor(secrets)
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o640)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._max_bytes = max_bytes
        self.size_bytes = 0
        """Bytes that may be read; it only grows."""
        self.seen_bytes = 0
        """Bytes that the simulator has printed, as UTF-8."""
        self.is_closed = False

    def write(self, data: bytes) -> bytes:
        """Keep what was printed; the same as valid UTF-8. Raises ``OSError`` when the disk does not take it."""
        return self._keep(self._decoder.decode(self._redactor.feed(data)).encode())

    def close(self) -> bytes:
        """The log is complete; what the end of it added."""
        rest = self._keep(self._decoder.decode(self._redactor.finish(), final=True).encode())
        if self.seen_bytes > self.size_bytes:
            kept, seen = self.size_bytes, self.seen_bytes
            self._append(f"\n[Cascade: this log was cut, {kept} of {seen} bytes were kept]\n".encode())
        self.is_closed = True
        return rest

    def abandon(self) -> None:
        """No more can be written: what is there is the log."""
        self.is_closed = True

    def _keep(self, text: bytes) -> bytes:
        room = self._max_bytes - self.size_bytes
        # Once something was left out, later pieces that would fit must not close up to what is there.
        if self.seen_bytes == self.size_bytes:
            self._append(text if len(text) <= room else whole_characters(text[:room]))
        self.seen_bytes += len(text)
        return text

    def _append(self, text: bytes) -> None:
        view = memoryview(text)
        while view:
            written = os.pwrite(self._fd, view, self.size_bytes)
            self.size_bytes += written
            view = view[written:]

    def read(self, offset: int, limit_bytes: int) -> bytes:
        """Whole characters from ``offset`` on, at most ``limit_bytes`` of them."""
        return whole_characters(os.pread(self._fd, min(limit_bytes, self.size_bytes - offset), offset))


class ErrorSpool:
    """What a simulator prints on stderr: the beginning goes to a file, the last words are kept at hand."""

    TAIL_BYTES = 16 * 1024

    def __init__(self, path: Path, max_bytes: int, secrets: Iterable[str] = ()) -> None:
        self._redactor = Redactor(secrets)
        self._file = path.open("wb")
        self._max_bytes = max_bytes
        self._kept_bytes = 0
        self._tail = b""
        self.seen_bytes = 0

    def write(self, data: bytes) -> None:
        """Raises ``OSError`` when the disk does not take it."""
        self._keep(self._redactor.feed(data))

    def _keep(self, data: bytes) -> None:
        kept = data[: self._max_bytes - self._kept_bytes]
        self._file.write(kept)
        self._kept_bytes += len(kept)
        self.seen_bytes += len(data)
        self._tail = (self._tail + data)[-self.TAIL_BYTES :]

    def close(self) -> None:
        """Complete the file: where the middle was left out it says so, and the last words follow."""
        self._keep(self._redactor.finish())
        if self.seen_bytes > self._kept_bytes:
            note = f"\n[Cascade: cut here, {self._kept_bytes} of {self.seen_bytes} bytes were kept; the last follow]\n"
            self._file.write(note.encode() + self._tail)
        self._file.close()

    @property
    def tail(self) -> str:
        return self._tail.decode(errors="replace")
