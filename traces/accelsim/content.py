"""What only the body of a kernel trace tells: its instructions' number, whether it is whole, and what identifies it."""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from traces.accelsim.body import BodyReader, open_body
from traces.accelsim.errors import TraceError
from traces.accelsim.files import split_compression
from traces.accelsim.header import KernelHeader
from traces.accelsim.kernelslist import Container

BLOCK_BYTES = 4 * 1024 * 1024
MAX_LINE_BYTES = 1024 * 1024
MAX_DIGITS = 10

_STARTS_INSTRUCTION = np.zeros(256, dtype=bool)
_STARTS_INSTRUCTION[list(b"0123456789abcdefABCDEF")] = True
_CUT = "the file was cut, copy it again."
_DAMAGED = "the file is damaged, copy it again."


@dataclass(frozen=True, slots=True)
class KernelContent:
    header: KernelHeader
    warp_instructions: int
    """Instruction lines, those that no lane executes included."""
    ctas: int
    content_hash: str
    """SHA-256 of the header (without the kernel's id) and the body: equal for identical launches."""
    text_bytes: int
    warnings: tuple[str, ...]


class ContentHasher:
    """The identity of a kernel's content: independent of its id, its file's name, compression and line ends."""

    def __init__(self, header: KernelHeader) -> None:
        self._hash = hashlib.sha256(header.identity)

    def update(self, lines: bytes) -> None:
        """Takes the next whole lines of the body."""
        self._hash.update(lines.replace(b"\r", b"") if b"\r" in lines else lines)

    def hexdigest(self) -> str:
        return self._hash.hexdigest()


def read_content(
    source: Path | BinaryIO, name: str | None = None, on_progress: Callable[[int], None] | None = None
) -> KernelContent:
    """Reads a whole kernel file with flat memory; ``on_progress`` hears the bytes of text read so far.

    Raises ``TraceError`` where the file is cut, damaged, or does not have the shape that its header promises.
    """
    header, body = open_body(source, name)
    with body:
        hasher, structure = ContentHasher(header), StructureCheck(header, body)
        text_bytes = 0
        for lines in whole_lines(body):
            hasher.update(lines)
            structure.take(lines)
            text_bytes += len(lines)
            if on_progress:
                on_progress(text_bytes)
        warnings = structure.finish()
    return KernelContent(
        header, structure.instructions, structure.ctas, hasher.hexdigest(), text_bytes, header.warnings + warnings
    )


def whole_lines(body: BodyReader) -> Iterator[bytes]:
    """The body in blocks that end at a line's end; a last line without one gets it."""
    rest = b""
    while block := body.read(BLOCK_BYTES):
        cut = block.rfind(b"\n") + 1
        if not cut:
            rest += block
            if len(rest) > MAX_LINE_BYTES:
                raise TraceError(f"has a line of more than {MAX_LINE_BYTES} bytes: not a kernel trace.", body.file)
            continue
        yield rest + block[:cut]
        rest = block[cut:]
    if rest:
        yield rest + b"\n"


class StructureCheck:
    """Holds the frame of a body (CTAs, warps, instruction counts) against itself and against the header.

    Instruction lines are only counted, by their first character: whether each is understood is the decoder's business.
    """

    def __init__(self, header: KernelHeader, body: BodyReader) -> None:
        self._header = header
        self._warps = header.warps_per_cta
        self._file = body.file
        self._line = body.first_line
        self._in_cta = False
        self._cta_has_warps = False
        self._warp: int | None = None
        self._expected = 0  # instructions of the warp that is open
        self._counted = True  # the open warp has told its number of instructions
        self._run = 0  # instruction lines since the last line of the frame
        self.instructions = 0
        self.ctas = 0

    def take(self, lines: bytes) -> None:
        """Takes the next whole lines."""
        data = np.frombuffer(lines, dtype=np.uint8)
        ends = np.flatnonzero(data == ord("\n"))
        starts = np.concatenate(([0], ends[:-1] + 1))
        first = data[starts]
        # "cluster id = ..." starts like a hexadecimal number.
        cluster = (first == ord("c")) & (data[np.minimum(starts + 1, len(data) - 1)] == ord("l"))
        instruction = _STARTS_INSTRUCTION[first] & ~cluster
        before = np.cumsum(instruction)
        frame = np.flatnonzero(~instruction & (first != ord("\n")) & (first != ord("\r")))
        done = 0
        for at, start, end, count in zip(
            frame.tolist(), starts[frame].tolist(), ends[frame].tolist(), before[frame].tolist(), strict=True
        ):
            self._run += count - done
            done = count
            self._take_frame_line(lines[start:end].rstrip(), self._line + at)
        self._run += int(before[-1]) - done
        self._line += len(ends)

    def finish(self) -> tuple[str, ...]:
        """Checks the end of the file; returns warnings."""
        if self._run != self._expected:
            raise self._miscounted(self._line, _CUT)
        promised = self._header.ctas
        if self._in_cta:
            raise self._error(f"ends inside CTA {self.ctas + 1} of {promised}: {_CUT}", self._line)
        binary = split_compression(self._file)[0].endswith(f".{Container.BINARY}")
        # A .tracez leaves out CTAs that executed nothing; in text a missing one is a cut file: Accel-Sim stops there.
        if self.ctas < promised and not binary:
            raise self._error(f"holds {self.ctas} of the {promised} CTAs of its grid: {_CUT}", self._line)
        if self.ctas > promised:
            return (f"holds {self.ctas} CTAs where its grid has {promised}; the rest is not simulated",)
        return ()

    def _take_frame_line(self, line: bytes, number: int) -> None:
        if self._run != self._expected:
            raise self._miscounted(number, _DAMAGED)
        self.instructions += self._run
        self._run = self._expected = 0
        # In a kernel of small warps every sixth line comes here: the two common ones are told apart first.
        if line.startswith(b"insts = "):
            self._take_instruction_count(line, number)
            return
        if not self._counted:
            raise self._error(f"has no 'insts' for warp {self._warp}: {_DAMAGED}", number)
        if line.startswith(b"warp = "):
            self._take_warp(line, number)
        elif line == b"#BEGIN_TB":
            if self._in_cta:
                raise self._error(f"has a #BEGIN_TB inside a CTA: {_DAMAGED}", number)
            self._in_cta, self._cta_has_warps = True, False
        elif line == b"#END_TB":
            if not self._in_cta or not self._cta_has_warps:
                raise self._error(f"has an #END_TB without warps before it: {_DAMAGED}", number)
            self._in_cta = False
            self.ctas += 1
        elif not line.startswith((b"thread block = ", b"cluster ", b"#")):
            raise self._error(f"{line[:60]!r} is not understood: {_DAMAGED}", number)

    def _take_warp(self, line: bytes, number: int) -> None:
        warp = self._number(line, 7, number)
        if warp >= self._warps:
            count = f"{self._warps} warps (0 to {self._warps - 1})"
            raise self._error(f"has warp {warp} in a block of {count}: {_DAMAGED}", number)
        self._warp, self._counted, self._cta_has_warps = warp, False, True

    def _take_instruction_count(self, line: bytes, number: int) -> None:
        if self._counted:
            raise self._error(f"has 'insts' without a warp: {_DAMAGED}", number)
        self._expected, self._counted = self._number(line, 8, number), True

    def _number(self, line: bytes, at: int, number: int) -> int:
        digits = line[at:]
        if not digits.isdigit() or len(digits) > MAX_DIGITS or not self._in_cta:
            raise self._error(f"{line[:60]!r} is out of place: {_DAMAGED}", number)
        return int(digits)

    def _miscounted(self, number: int, why: str) -> TraceError:
        where = f"warp {self._warp}" if self._cta_has_warps else "no warp"
        counts = f"{self._run} instruction lines for {where} where {self._expected} were announced"
        return self._error(f"has {counts}: {why}", number)

    def _error(self, message: str, line: int) -> TraceError:
        return TraceError(message, self._file, line)
