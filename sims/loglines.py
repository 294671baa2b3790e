"""A stored log by its lines: its end, what is around one of them, and those that say something."""

import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from django.db.models import Sum

from cascade_site.terminal import Span, spans
from sims.models import LogSegment, Sim
from sims.models.log import log_size, read_log

Level = Literal["", "warning", "error"]

LINES = 500
MOST_BYTES = 1024**2
"""What is read for a page at most, however long its lines are."""
STEP_BYTES = 64 * 1024
MOST_CHARACTERS = 10_000
SEARCHED_BYTES = 16 * 1024**2

_HINTS = (
    "error",
    "assert",
    "abort",
    "fatal",
    "failed",
    "failure",
    "deadlock",
    "exception",
    "segmentation",
    "killed",
    "warn",
)
_ERROR = re.compile(
    r"\b(error|assert(ion)?|abort(ed)?|fatal|failed|failure|deadlock|exception|segmentation fault|killed)\b"
)
_WARNING = re.compile(r"\bwarn(ing)?\b")
_CUT = re.compile(rb"\[Cascade: this log was cut, (\d+) of (\d+) bytes were kept\]\n\Z")


def level_of(text: str) -> Level:
    """How bad the news in a line is. Simulators mark no levels: their words tell."""
    text = text.casefold()
    # Nearly no line has any of these, and looking for them takes a fifth of what the patterns take.
    for hint in _HINTS:
        if hint in text:
            break
    else:
        return ""
    if _ERROR.search(text):
        return "error"
    return "warning" if _WARNING.search(text) else ""


@dataclass(frozen=True, slots=True)
class Line:
    """One line as it is shown."""

    number: int
    """Counted from 1 at the log's beginning."""
    spans: list[Span]
    level: Level
    left_out: int = 0
    """Characters that are not shown."""
    is_open: bool = False
    """The log's last line, without its end so far."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Lines that follow each other; the bytes [start, end) of the log, an open last line not counted."""

    lines: list[Line]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Found:
    """The last lines that were asked for, of a stretch that was looked through."""

    lines: list[Line]
    matches: int
    searched_from: int
    """Where the search began: before this byte may be more."""


class LogLines:
    """One attempt's log of a sim."""

    def __init__(self, sim: Sim, attempt: int | None = None) -> None:
        self._sim = sim
        self.attempt = attempt or sim.attempt
        self.size_bytes = sim.log_bytes if self.attempt == sim.attempt else log_size(sim, self.attempt)

    def tail(self) -> Stretch:
        """The last lines."""
        return self.before(self.size_bytes)

    def before(self, end: int) -> Stretch:
        """The lines before a byte, which is where a line begins or where the log ends."""
        end = min(end, self.size_bytes)
        start, text, step = end, b"", STEP_BYTES
        while start > 0 and len(text) < MOST_BYTES and text.count(b"\n") <= LINES:
            begin = max(0, start - step)
            start, text, step = begin, self._read(begin, start) + text, 2 * step
        if start:
            # What was read begins within a line. (One longer than all of it is shown from there on.)
            start, text = _cut_front(start, text, text.find(b"\n") + 1)
        if (surplus := _line_count(text) - LINES) > 0:
            start, text = _cut_front(start, text, _end_of_line(text, surplus))
        return self._stretch(start, text)

    def before_line(self, number: int) -> Stretch:
        """The lines before a line."""
        start = self._start_of(number)
        return self.tail() if start is None else self.before(start)

    def after(self, start: int, number: int | None = None) -> Stretch:
        """The lines from a byte on, which is where a line begins; ``number`` is that line's, if it is known."""
        text = b""
        while start + len(text) < self.size_bytes and len(text) < MOST_BYTES and text.count(b"\n") < LINES:
            text += self._read(start + len(text), start + len(text) + STEP_BYTES)
        whole = min(text.count(b"\n"), LINES)
        if whole and (whole == LINES or start + len(text) < self.size_bytes):
            text = text[: _end_of_line(text, whole)]
        return self._stretch(start, text, number)

    def around(self, number: int) -> Stretch:
        """A line in the middle of others."""
        first = max(1, number - LINES // 2)
        start = self._start_of(first)
        return self.tail() if start is None else self.after(start, first)

    def search(self, words: str, level: Level = "") -> Found:
        """The last lines with these words in them, in any case; with a level, those at least that bad."""
        start = max(0, self.size_bytes - SEARCHED_BYTES)
        needle, first = words.casefold(), self._newlines_before(start) + 1
        found: deque[tuple[int, str]] = deque(maxlen=LINES)
        matches = 0
        for number, text in enumerate(self._texts(start), start=first):
            if needle in text.casefold() and _is_at_least(level_of(text) if level else "", level):
                matches += 1
                found.append((number, text))
        return Found([_line(number, text) for number, text in found], matches, start)

    def cut_sizes(self) -> tuple[int, int] | None:
        """Kept and written bytes of a log that was too long to be kept."""
        match = _CUT.search(self._read(max(0, self.size_bytes - 200), self.size_bytes))
        return (int(match[1]), int(match[2])) if match else None

    def _read(self, start: int, end: int) -> bytes:
        return b"".join(read_log(self._sim, self.attempt, start, min(end, self.size_bytes)))

    def _texts(self, start: int) -> Iterator[str]:
        rest = b""
        for block in read_log(self._sim, self.attempt, start, self.size_bytes):
            *whole, rest = (rest + block).split(b"\n")
            yield from (line.decode("utf-8", "replace") for line in whole)
        if rest:
            yield rest.decode("utf-8", "replace")

    def _stretch(self, start: int, text: bytes, number: int | None = None) -> Stretch:
        number = number or self._newlines_before(start) + 1
        *whole, rest = text.split(b"\n")
        lines = [_line(n, line.decode("utf-8", "replace")) for n, line in enumerate(whole, start=number)]
        end = start + len(text)
        if rest and end == self.size_bytes:
            lines.append(_line(number + len(whole), rest.decode("utf-8", "replace"), is_open=True))
            end -= len(rest)
        elif rest:
            # A piece of a line that is longer than a page: what follows it begins in its middle.
            lines.append(_line(number + len(whole), rest.decode("utf-8", "replace")))
        return Stretch(lines, start, end)

    def _newlines_before(self, offset: int) -> int:
        segments = LogSegment.objects.filter(sim=self._sim, attempt=self.attempt, offset_bytes__lt=offset)
        last = segments.order_by("-offset_bytes").values_list("offset_bytes", flat=True).first()
        if last is None:
            return 0
        before = segments.filter(offset_bytes__lt=last).aggregate(total=Sum("newlines"))["total"] or 0
        return before + self._read(last, offset).count(b"\n")

    def _start_of(self, number: int) -> int | None:
        """Where a line begins; None where the log has not so many."""
        passed = 0
        segments = LogSegment.objects.filter(sim=self._sim, attempt=self.attempt).order_by("offset_bytes")
        for offset, size, newlines in segments.values_list("offset_bytes", "size_bytes", "newlines").iterator():
            if passed + newlines >= number - 1:
                return offset + _end_of_line(self._read(offset, offset + size), number - 1 - passed)
            passed += newlines
        return None


def _line(number: int, text: str, is_open: bool = False) -> Line:
    shown = spans(text[:MOST_CHARACTERS])
    return Line(number, shown, level_of(text[:MOST_CHARACTERS]), max(0, len(text) - MOST_CHARACTERS), is_open)


def _line_count(text: bytes) -> int:
    return text.count(b"\n") + (1 if text and not text.endswith(b"\n") else 0)


def _end_of_line(text: bytes, count: int) -> int:
    """Where the ``count``-th line of the text has ended; 0 for none."""
    place = 0
    for _ in range(count):
        place = text.index(b"\n", place) + 1
    return place


def _cut_front(start: int, text: bytes, count: int) -> tuple[int, bytes]:
    return start + count, text[count:]


def _is_at_least(level: Level, wanted: Level) -> bool:
    order = ("", "warning", "error")
    return order.index(level) >= order.index(wanted)
