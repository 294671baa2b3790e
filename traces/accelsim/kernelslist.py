"""``kernelslist.g``: the commands of a trace, one a line, in launch order.

Accel-Sim looks at the start of a line only, and skips what it does not know without a word. Here a skipped line is a
warning.
"""

import re
from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from traces.accelsim.errors import TraceError
from traces.accelsim.files import Compression, split_compression

MAX_LIST_BYTES = 64 * 1024 * 1024
MAX_WARNINGS = 20

_MEMCPY = re.compile(r"(Memcpy\w*),(0[xX][0-9a-fA-F]{1,16}),(\d{1,19})((?:,[^,]*)*)", re.ASCII)
_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+=-]*")
_IDS = re.compile(r"kernel-(?:.*_)?(\d{1,18})(?:-ctx_(0x[0-9a-fA-F]{1,16}))?", re.ASCII)


class Container(StrEnum):
    """How the instructions of a kernel are stored."""

    TEXT = "traceg"
    BINARY = "tracez"


@dataclass(frozen=True, slots=True)
class KernelFileName:
    """What the name of a kernel file tells."""

    name: str
    container: Container
    compression: Compression
    kernel_id: int | None
    """The last number of the name; ids have gaps, may start at 0 and repeat in another context."""
    context: str | None
    """``0x...`` of the CUDA context, in names written by newer tracers."""


@dataclass(frozen=True, slots=True)
class MemcpyCommand:
    """A copy that the application made. Only ``HtoD`` copies mean something to a simulator: they fill the L2's tags."""

    kind: str
    """``HtoD``, ``DtoH``, ``Vulkan``, ..."""
    address: int
    size_bytes: int
    line: int


@dataclass(frozen=True, slots=True)
class KernelCommand:
    """A launch of the kernel in ``file``, which lies beside the list."""

    file: KernelFileName
    line: int


@dataclass(frozen=True, slots=True)
class KernelsList:
    commands: tuple[MemcpyCommand | KernelCommand, ...]
    warnings: tuple[str, ...]

    @property
    def kernels(self) -> list[KernelCommand]:
        return [command for command in self.commands if isinstance(command, KernelCommand)]


def parse_kernel_file_name(name: str) -> KernelFileName | None:
    """Takes ``kernel-2254-ctx_0x35fc7de0.tracez`` and the like apart; None for any other name."""
    stem, compression = split_compression(name)
    base, _, suffix = stem.rpartition(".")
    if not base.startswith("kernel") or suffix not in set(Container) or not _FILE_NAME.fullmatch(name):
        return None
    ids = _IDS.fullmatch(base)
    kernel_id = int(ids[1]) if ids else None
    return KernelFileName(name, Container(suffix), compression, kernel_id, ids[2] if ids else None)


def stored_names(listed: str) -> list[str]:
    """The names under which a listed kernel file may be stored, best first.

    People compress (or unpack) a trace's kernels after its list was written, so the compressed and plain twins count.
    """
    stem = split_compression(listed)[0]
    twins = [f"{stem}.{compression}" if compression else stem for compression in Compression]
    return list(dict.fromkeys([listed, *twins]))


def kernel_path(folder: Path, listed: str) -> Path:
    """Where a listed kernel file lies in a trace's folder. Raises ``TraceError`` when it is not there."""
    for name in stored_names(listed):
        if (folder / name).is_file():
            return folder / name
    raise TraceError("is not beside the list that names it: copy the whole trace.", listed)


def parse_kernelslist(data: bytes, file: str) -> KernelsList:
    """The commands in the bytes of a list. Raises ``TraceError`` for something else or an unusable kernel file's name.

    A list without a kernel is returned as it is: whether that is an error is for the caller to say.
    """
    _refuse_foreign_file(data, file)
    reader = _Reader(file)
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").splitlines(), start=1):
        text = line.decode("utf-8", errors="replace").rstrip()
        if text:
            reader.take(text, number)
    return KernelsList(tuple(reader.commands), tuple(reader.all_warnings()))


def _refuse_foreign_file(data: bytes, file: str) -> None:
    if len(data) > MAX_LIST_BYTES:
        raise TraceError(f"is larger than {MAX_LIST_BYTES} bytes: not a list of kernels.", file)
    start = data.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    if start in (b"{", b"["):
        raise TraceError("is JSON, not a list of kernels with one command a line.", file)
    if b"\0" in data:
        raise TraceError("is a binary file, not a list of kernels with one command a line.", file)


class _Reader:
    def __init__(self, file: str) -> None:
        self._file = file
        self.commands: list[MemcpyCommand | KernelCommand] = []
        self._warnings: list[str] = []
        self._not_simulated: Counter[str] = Counter()

    def take(self, text: str, number: int) -> None:
        if text.startswith(("Memcpy", "Memset")):
            self._take_memcpy(text, number)
        elif text.startswith("kernel"):
            self._take_kernel(text, number)
        elif text.startswith("dumpTextures"):
            self._not_simulated["dumpTextures"] += 1
        elif _base_name(text).startswith("kernel") and text == text.lstrip():
            self._take_kernel(text, number)
        else:
            self._warn(f"line {number} was ignored, as Accel-Sim does: {text[:80]!r}")

    def all_warnings(self) -> list[str]:
        counted = [
            f"{count} {kind} command{'s' if count > 1 else ''} cannot be simulated and were ignored"
            for kind, count in self._not_simulated.items()
        ]
        more = len(self._warnings) - MAX_WARNINGS
        shown = self._warnings[:MAX_WARNINGS]
        return counted + shown + ([f"and {more} more lines like these"] if more > 0 else [])

    def _warn(self, message: str) -> None:
        self._warnings.append(message)

    def _take_memcpy(self, text: str, number: int) -> None:
        match = _MEMCPY.fullmatch(text)
        kind = text.partition(",")[0]
        if kind == "MemcpyHtoD" and (not match or match[4]):
            message = f"{text[:80]!r} is not 'MemcpyHtoD,0x<address>,<bytes>'; Accel-Sim stops at such a line."
            raise TraceError(message, self._file, number)
        if kind not in ("MemcpyHtoD", "MemcpyDtoH"):
            self._not_simulated[kind[:40]] += 1
        if match:
            address, size_bytes = int(match[2], 16), int(match[3])
            self.commands.append(MemcpyCommand(match[1].removeprefix("Memcpy"), address, size_bytes, number))

    def _take_kernel(self, text: str, number: int) -> None:
        name = _base_name(text)
        if name != text:
            self._warn(f"line {number} has a path, where Accel-Sim would not find it; {name!r} beside the list is used")
        parsed = parse_kernel_file_name(name)
        if parsed is None:
            raise TraceError(_unusable_file(name), self._file, number)
        self.commands.append(KernelCommand(parsed, number))


def _base_name(text: str) -> str:
    return re.split(r"[/\\]", text)[-1]


def _unusable_file(name: str) -> str:
    if split_compression(name)[0].endswith(".trace"):
        return (
            f"{name[:80]!r} is a raw trace: run Accel-Sim's post-traces-processing on the folder "
            "and use the kernelslist.g that it writes."
        )
    return f"{name[:80]!r} is not the name of a kernel trace (.traceg or .tracez, plain or .xz, .gz, .zst)."
