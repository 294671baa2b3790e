"""The header of a kernel trace: ``-name = value`` lines up to the first line that starts with ``#``.

The same text opens a ``.traceg`` and a ``.tracez``. Tracers before version 3 write fewer lines (no version line at
all), so what a simulation can do without is optional here.
"""

import re
from dataclasses import dataclass
from typing import BinaryIO

from traces.accelsim.errors import TraceError

HEADER_LIMIT_BYTES = 1 << 20
MAX_THREADS_PER_BLOCK = 1024
MAX_GRID_DIMENSION = 2**31 - 1

Dim3 = tuple[int, int, int]

_DIMENSIONS = re.compile(r"\(\s*(\d{1,10})\s*,\s*(\d{1,10})\s*,\s*(\d{1,10})\s*\)", re.ASCII)
_DECIMAL = re.compile(r"\d{1,20}", re.ASCII)
_HEXADECIMAL = re.compile(r"0[xX][0-9a-fA-F]{1,16}")


@dataclass(frozen=True, slots=True)
class KernelHeader:
    """What a kernel trace says about its launch."""

    name: str
    """As the tracer wrote it: usually mangled, at times demangled, over 1,000 characters seen."""
    grid: Dim3
    block: Dim3
    shared_memory_bytes: int
    """Static and dynamic together, per CTA."""
    registers_per_thread: int
    binary_version: int
    """SASS version: 70 Volta, 75 Turing, 80 and 86 Ampere, 89 Ada, 90 Hopper, ..."""
    kernel_id: int | None = None
    """Counts from 1 in each CUDA context; simulators number launches themselves."""
    stream: int = 0
    """CUDA stream id; may be a 64-bit pointer."""
    shared_base_address: int = 0
    local_base_address: int = 0
    """Windows that tell generic loads and stores apart; 0 when not known."""
    nvbit_version: str | None = None
    tracer_version: int | None = None
    """None: the header has no such line, which tracers before version 3 do not write."""
    has_line_info: bool = False
    """Every instruction line starts with a source line number."""
    warnings: tuple[str, ...] = ()
    identity: bytes = b""
    """The header's lines without the kernel's id, as the content hash takes them."""

    @property
    def ctas(self) -> int:
        return self.grid[0] * self.grid[1] * self.grid[2]

    @property
    def threads_per_cta(self) -> int:
        return self.block[0] * self.block[1] * self.block[2]

    @property
    def warps_per_cta(self) -> int:
        return -(-self.threads_per_cta // 32)

    @property
    def lines_name_their_warp(self) -> bool:
        """Tracers before version 3 start every instruction line with the CTA (x, y, z) and the warp."""
        return (self.tracer_version or 1) < 3


def read_header(stream: BinaryIO, file: str) -> KernelHeader:
    """Reads the header at the start of an (uncompressed) kernel trace and nothing behind its first ``#`` line.

    Raises ``TraceError`` for an empty file, a file that is no kernel trace, a cut header and values out of range.
    """
    header, _ = read_header_and_line(stream, file)
    return header


def read_header_and_line(stream: BinaryIO, file: str) -> tuple[KernelHeader, int]:
    """The header, and the number of the ``#`` line that ended it; the stream then stands behind that line."""
    lines: list[bytes] = []
    started = False
    left = HEADER_LIMIT_BYTES
    while True:
        line = stream.readline(left)
        left -= len(line)
        text, nul, _ = line.partition(b"\0")
        if nul or text.lstrip().startswith(b"#"):
            break
        if not line:
            raise _cut_header(lines, file)
        if left <= 0:
            raise TraceError("has no end of its header in the first MiB: not a kernel trace.", file)
        lines.append(line)
        started = started or _starts_header(line, len(lines), file)
    if nul and text.strip():
        lines.append(text)
    return parse_header(lines, file), len(lines) + 1


def _starts_header(line: bytes, number: int, file: str) -> bool:
    """Whether the first line that is not blank has come; anything but a header's line there is an error."""
    text = line.strip(b"\xef\xbb\xbf \t\r\n")
    if text and not text.startswith(b"-"):
        kind = "JSON" if text[:1] in b"{[" else "something else"
        message = f"is {kind}, not an Accel-Sim kernel trace, which starts with '-kernel name = ...'."
        raise TraceError(message, file, number)
    return bool(text)


def _cut_header(lines: list[bytes], file: str) -> TraceError:
    if not any(line.strip() for line in lines):
        return TraceError("is empty: trace this kernel again or copy the file again.", file)
    return TraceError("ends inside its header: the file was cut, copy it again.", file, len(lines))


def parse_header(lines: list[bytes], file: str) -> KernelHeader:
    """Header lines (line 1 first, blank ones included) -> ``KernelHeader``. Raises ``TraceError``."""
    fields = _Fields(lines, file)
    block = fields.dimensions("block dim")
    if block[0] * block[1] * block[2] > MAX_THREADS_PER_BLOCK:
        fields.fail("block dim", f"has more than {MAX_THREADS_PER_BLOCK} threads, which no GPU can launch")
    name = fields.text("kernel name")
    if not name:
        fields.warn("the kernel has no name")
    return KernelHeader(
        name=name or "unnamed",
        grid=fields.dimensions("grid dim"),
        block=block,
        shared_memory_bytes=fields.decimal("shmem", maximum=2**32),
        registers_per_thread=fields.decimal("nregs", maximum=2**16),
        binary_version=fields.decimal("binary version", maximum=999),
        kernel_id=fields.optional_decimal("kernel id", maximum=2**63 - 1),
        stream=fields.optional_decimal("cuda stream id", maximum=2**64 - 1) or 0,
        shared_base_address=fields.hexadecimal("shmem base_addr"),
        local_base_address=fields.hexadecimal("local mem base_addr"),
        nvbit_version=fields.text("nvbit version") if "nvbit version" in fields else None,
        tracer_version=fields.optional_decimal("accelsim tracer version", maximum=999),
        has_line_info=fields.optional_decimal("enable lineinfo", maximum=1) == 1,
        warnings=tuple(fields.warnings),
        identity=fields.identity(),
    )


class _Fields:
    """The ``-name = value`` lines of one header, with the place of each for the error."""

    def __init__(self, lines: list[bytes], file: str) -> None:
        self._file = file
        self._values: dict[str, tuple[str, int]] = {}
        self.warnings: list[str] = []
        self._lines = [line.strip() for line in lines]
        if self._lines:
            self._lines[0] = self._lines[0].removeprefix(b"\xef\xbb\xbf")
        for number, line in enumerate(self._lines, start=1):
            if line:
                self._add(line, number)

    def _add(self, line: bytes, number: int) -> None:
        text = line.decode("utf-8", errors="replace")
        if "\ufffd" in text:
            self.warn(f"line {number} is not valid UTF-8; the bytes in question are shown as \ufffd")
        name, equals, value = text.partition("=")
        if not name.startswith("-") or not equals:
            self.warn(f"line {number} of the header is not understood and was ignored")
            return
        name = name[1:].strip()
        if name in self._values:
            self.warn(f"line {number} gives '{name}' again; the last value counts")
        self._values[name] = (value.strip(), number)

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def warn(self, message: str) -> None:
        self.warnings.append(message)

    def fail(self, name: str, why: str) -> None:
        value, number = self._values[name]
        raise TraceError(f"'-{name} = {value[:80]}' {why}.", self._file, number)

    def text(self, name: str) -> str:
        if name not in self._values:
            raise TraceError(f"its header has no '-{name} = ...' line: trace this kernel again.", self._file)
        return self._values[name][0]

    def optional_decimal(self, name: str, maximum: int) -> int | None:
        return self.decimal(name, maximum) if name in self._values else None

    def decimal(self, name: str, maximum: int) -> int:
        value = self.text(name)
        if not _DECIMAL.fullmatch(value) or int(value) > maximum:
            self.fail(name, f"is not a whole number from 0 to {maximum}")
        return int(value)

    def hexadecimal(self, name: str) -> int:
        if name not in self._values:
            return 0
        value = self._values[name][0]
        if not _HEXADECIMAL.fullmatch(value):
            self.fail(name, "is not a hexadecimal address such as 0x7f4a00000000")
        return int(value, 16)

    def dimensions(self, name: str) -> Dim3:
        match = _DIMENSIONS.fullmatch(self.text(name))
        x, y, z = (int(number) for number in match.groups()) if match else (0, 0, 0)
        if not all(1 <= size <= MAX_GRID_DIMENSION for size in (x, y, z)):
            self.fail(name, "is not three sizes of at least 1, such as (256,1,1)")
        return x, y, z

    def identity(self) -> bytes:
        return b"".join(line + b"\n" for line in self._lines if line and not line.startswith(b"-kernel id "))
