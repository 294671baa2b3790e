"""Writes kernel traces as Accel-Sim's post-processed text, without a GPU: for the sample, for tests and benchmarks.

The text is what an NVBit tracer of version 5 writes for compiled code, its habits included: only vector registers are
operands (255 is the zero register), instructions that no lane executes are there with an empty mask, and the last field
is the last immediate operand.
"""

import lzma
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

ALL_LANES = 0xFFFFFFFF
ZERO_REGISTER = 255
INSTRUCTION_BYTES = 16
SHARED_BASE_ADDRESS = 0x7F4A_0000_0000
LOCAL_BASE_ADDRESS = 0x7F4A_0200_0000
TRACE_FORMAT = (
    "#traces format = [line_num] PC mask dest_num [reg_dests] opcode src_num [reg_srcs] "
    "mem_width [adrrescompress?] [mem_addresses] immediate"
)

Dim3 = tuple[int, int, int]


def access_bytes(opcode: str) -> int:
    """Bytes a lane, as the tracer takes them from the opcode: ``LDG.E.64`` is 8, without a number 4."""
    for part in opcode.split("."):
        digits = part.removeprefix("U")
        if digits.isdigit():
            return int(digits) // 8
    return 4


def address_field(base: int, stride: int, mask: int) -> str:
    """Lane i at ``base + i * stride``, for the active lanes, which are one run: mode 1, or mode 2 for a single lane."""
    if not mask:
        return "1 0x0 0"
    first = base + stride * ((mask & -mask).bit_length() - 1)
    return f"1 0x{first:x} {stride}" if mask & (mask - 1) else f"2 0x{first:x}"


class WarpText:
    """The instruction lines of one warp. ``pc`` may be set back, for a loop."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.pc = 0

    def op(
        self,
        opcode: str,
        destination: int | None = None,
        sources: tuple[int, ...] = (),
        mask: int = ALL_LANES,
        immediate: int = 0,
    ) -> None:
        """An instruction that does not touch memory."""
        self._append(opcode, destination, sources, mask, "0", immediate)

    def memory(
        self,
        opcode: str,
        destination: int | None,
        sources: tuple[int, ...],
        base: int,
        stride: int,
        mask: int = ALL_LANES,
    ) -> None:
        """A load or store whose lane i is at ``base + i * stride``."""
        self._append(
            opcode, destination, sources, mask, f"{access_bytes(opcode)} {address_field(base, stride, mask)}", 0
        )

    def skip(self, instructions: int) -> None:
        """Leaves out instructions that this warp jumps over."""
        self.pc += INSTRUCTION_BYTES * instructions

    def _append(
        self, opcode: str, destination: int | None, sources: tuple[int, ...], mask: int, access: str, immediate: int
    ) -> None:
        written = "0 " if destination is None else f"1 R{destination} "
        read = "".join(f"R{source} " for source in sources)
        self.lines.append(f"{self.pc:04x} {mask:08x} {written}{opcode} {len(sources)} {read}{access} {immediate} ")
        self.pc += INSTRUCTION_BYTES


@dataclass(frozen=True, slots=True)
class GeneratedKernel:
    """A launch, and what each of its warps executes: ``program(warp_text, cta index along x, warp index)``."""

    name: str
    grid: Dim3
    block: Dim3
    program: Callable[[WarpText, int, int], None]
    shared_memory_bytes: int = 0
    registers_per_thread: int = 16
    stream: int = 0

    @property
    def warps_per_cta(self) -> int:
        return -(-self.block[0] * self.block[1] * self.block[2] // 32)


@dataclass(frozen=True, slots=True)
class GeneratedMemcpy:
    """A copy to the device."""

    address: int
    size_bytes: int


def kernel_text(kernel: GeneratedKernel, kernel_id: int, binary_version: int) -> Iterator[str]:
    """The trace of a kernel, its header first and then CTA by CTA."""
    yield _header_text(kernel, kernel_id, binary_version)
    for z in range(kernel.grid[2]):
        for y in range(kernel.grid[1]):
            for x in range(kernel.grid[0]):
                yield _cta_text(kernel, (x, y, z))


def _header_text(kernel: GeneratedKernel, kernel_id: int, binary_version: int) -> str:
    grid, block = (",".join(map(str, size)) for size in (kernel.grid, kernel.block))
    return (
        f"-kernel name = {kernel.name}\n"
        f"-kernel id = {kernel_id}\n"
        f"-grid dim = ({grid})\n"
        f"-block dim = ({block})\n"
        f"-shmem = {kernel.shared_memory_bytes}\n"
        f"-nregs = {kernel.registers_per_thread}\n"
        f"-binary version = {binary_version}\n"
        f"-cuda stream id = {kernel.stream}\n"
        f"-shmem base_addr = 0x{SHARED_BASE_ADDRESS:016x}\n"
        f"-local mem base_addr = 0x{LOCAL_BASE_ADDRESS:016x}\n"
        "-nvbit version = 1.5.5\n"
        "-accelsim tracer version = 5\n"
        "-enable lineinfo = 0\n"
        f"\n{TRACE_FORMAT}\n\n\n"
    )


def _cta_text(kernel: GeneratedKernel, cta: Dim3) -> str:
    linear_x = cta[0] + kernel.grid[0] * (cta[1] + kernel.grid[1] * cta[2])
    parts = [f"\n#BEGIN_TB\n\nthread block = {cta[0]},{cta[1]},{cta[2]}"]
    for warp in range(kernel.warps_per_cta):
        text = WarpText()
        kernel.program(text, linear_x, warp)
        parts.append(f"\nwarp = {warp}\ninsts = {len(text.lines)}")
        parts.extend(text.lines)
    parts.append("\n#END_TB\n")
    return "\n".join(parts)


def write_trace(
    folder: Path, commands: list[GeneratedKernel | GeneratedMemcpy], binary_version: int, compressed: bool = True
) -> None:
    """Writes ``kernelslist.g`` and the kernel files (``.traceg`` or ``.traceg.xz``) into a new or empty folder."""
    folder.mkdir(parents=True, exist_ok=True)
    suffix = ".traceg.xz" if compressed else ".traceg"
    lines: list[str] = []
    kernel_id = 0
    for command in commands:
        if isinstance(command, GeneratedMemcpy):
            lines.append(f"MemcpyHtoD,0x{command.address:016x},{command.size_bytes}")
            continue
        kernel_id += 1
        lines.append(f"kernel-{kernel_id}{suffix}")
        with closing(_writer(folder / lines[-1], compressed)) as file:
            for text in kernel_text(command, kernel_id, binary_version):
                file.write(text.encode())
    (folder / "kernelslist.g").write_text("".join(f"{line}\n" for line in lines))


def _writer(path: Path, compressed: bool) -> BinaryIO:
    return cast(BinaryIO, lzma.open(path, "wb")) if compressed else path.open("wb")
