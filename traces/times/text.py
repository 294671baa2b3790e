"""Text of unknown origin as lines, and numbers of unknown locale as numbers."""

import codecs
import io
import math
import re
from collections.abc import Iterator
from typing import BinaryIO

from traces.times.launches import TimesError

_MAX_LINE_CHARACTERS = 1 << 20

_NS_PER_UNIT = {
    "ns": 1.0, "nsec": 1.0, "nsecond": 1.0, "nanosecond": 1.0,
    "us": 1e3, "usec": 1e3, "usecond": 1e3, "microsecond": 1e3, "µs": 1e3, "μs": 1e3,
    "ms": 1e6, "msec": 1e6, "msecond": 1e6, "millisecond": 1e6,
    "s": 1e9, "sec": 1e9, "second": 1e9,
    "min": 60e9, "minute": 60e9,
}  # fmt: skip


def ns_per_unit(unit: str) -> float | None:
    """Nanoseconds in one of a tool's time units (``ns``, ``usecond``, ``ms``, ``second``, ...), None for another."""
    unit = unit.strip()
    return _NS_PER_UNIT.get(unit) or _NS_PER_UNIT.get(unit.lower()) or _NS_PER_UNIT.get(unit.lower().rstrip("s"))


def text_lines(stream: BinaryIO, file: str) -> Iterator[str]:
    """The lines of a file, each with its end, whatever its encoding.

    A report redirected by PowerShell is UTF-16 with a byte order mark; bytes that are no UTF-8 become U+FFFD.

    :raises TimesError: for a line of more than a million characters, or a zero byte: that is no text
    """
    start = stream.read(4)
    rest = _Joined(start, stream)
    encoding = "utf-16" if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig"
    text = io.TextIOWrapper(io.BufferedReader(rest), encoding=encoding, errors="replace", newline="")
    number = 0
    while line := text.readline(_MAX_LINE_CHARACTERS):
        number += 1
        if "\0" in line:
            raise TimesError(f"{file}, line {number}: holds zero bytes; this is not a text report.")
        if len(line) >= _MAX_LINE_CHARACTERS:
            raise TimesError(
                f"{file}, line {number}: is longer than a million characters; this is not a profiler's table."
            )
        yield line


class _Joined(io.RawIOBase):
    """A stream whose first bytes were read already. Leaves the stream open when it is dropped."""

    def __init__(self, head: bytes, stream: BinaryIO) -> None:
        self._head = head
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "memoryview | bytearray") -> int:  # type: ignore[override]
        data = self._head or self._stream.read(len(buffer))
        self._head = data[len(buffer) :]
        data = data[: len(buffer)]
        buffer[: len(data)] = data
        return len(data)


_PLAIN = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?")
_POINT_DECIMAL = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?|[+-]?\d*\.\d+|[+-]?\d+")
_COMMA_DECIMAL = re.compile(r"[+-]?\d{1,3}(\.\d{3})+(,\d+)?|[+-]?\d*,\d+|[+-]?\d+")


class Numbers:
    """Reads the numbers of one file, after having seen which of ``.`` and ``,`` it takes for the decimal sign.

    ``1.234`` alone tells nothing. ``117,44`` or ``1.759.000`` does: the sign is decided over all numbers of a file.
    """

    def __init__(self, file: str) -> None:
        self._file = file
        self._point: str | None = None
        self._comma: str | None = None

    def look_at(self, text: str) -> None:
        """Take one number of the file as evidence."""
        if ("," not in text and "." not in text) or _is_ambiguous(text):
            return
        if self._point is None and _POINT_DECIMAL.fullmatch(text):
            self._point = text
        elif self._comma is None and _COMMA_DECIMAL.fullmatch(text):
            self._comma = text

    @property
    def decimal_comma(self) -> bool:
        """Whether the file writes ``117,44`` for a hundred and seventeen and a bit."""
        return self._comma is not None

    def check(self) -> None:
        """:raises TimesError: when the file mixes both ways of writing numbers."""
        if self._point and self._comma:
            raise TimesError(
                f"{self._file}: writes both {self._point!r} and {self._comma!r}, so its decimal sign is unknown; "
                "export it again with LC_ALL=C."
            )

    def read(self, text: str, where: str) -> float:
        """The number.

        :raises TimesError: with ``where`` when the text is none
        """
        text = text.strip()
        plain = ""
        if self.decimal_comma and _COMMA_DECIMAL.fullmatch(text):
            plain = text.replace(".", "").replace(",", ".")
        elif not self.decimal_comma and _PLAIN.fullmatch(text):
            plain = text
        elif not self.decimal_comma and _POINT_DECIMAL.fullmatch(text):
            plain = text.replace(",", "")
        if plain and math.isfinite(number := float(plain)):
            return number
        raise TimesError(f"{where}: {text[:40]!r} is not a number.")


def _is_ambiguous(text: str) -> bool:
    """Whether the text is a number either way: one separator with exactly three digits behind it."""
    return bool(_POINT_DECIMAL.fullmatch(text)) and bool(_COMMA_DECIMAL.fullmatch(text))
