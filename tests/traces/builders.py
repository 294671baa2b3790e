"""Small traces for tests: text, ``.tracez`` containers, run directories and archives."""

import io
import struct
import tarfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import zstandard

from traces.generator import GeneratedKernel, WarpText, kernel_text

FIXTURES = Path(__file__).parents[1] / "fixtures" / "traces"


def program(warp_text: WarpText, cta: int, warp: int) -> None:
    """Four instructions; the third is a load."""
    warp_text.op("S2R", 0)
    warp_text.op("IMAD", 0, (0, 3))
    warp_text.memory("LDG.E", 2, (0,), 0x7F4B_0000_0000 + 128 * (8 * cta + warp), 4)
    warp_text.op("EXIT")


def kernel_bytes(
    kernel_id: int = 1, name: str = "_Z4copyPf", ctas: int = 2, threads: int = 64, stream: int = 0
) -> bytes:
    """A whole ``.traceg``: four instructions a warp."""
    kernel = GeneratedKernel(name, (ctas, 1, 1), (threads, 1, 1), program, 0, 16, stream)
    return "".join(kernel_text(kernel, kernel_id, 86)).encode()


def trace_files(kernels: int = 2) -> dict[str, bytes]:
    """A bare Accel-Sim trace by file name."""
    names = [f"kernel-{n}.traceg" for n in range(1, kernels + 1)]
    listed = "MemcpyHtoD,0x00007f4b00000000,512\n" + "".join(f"{name}\n" for name in names)
    files = {name: kernel_bytes(n) for n, name in enumerate(names, start=1)}
    return {"kernelslist.g": listed.encode(), **files}


def write_files(folder: Path, files: Mapping[str, bytes]) -> Path:
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


def tar_bytes(files: Mapping[str, bytes], mode: str = "w") -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:  # type: ignore[call-overload]
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def zip_bytes(files: Mapping[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name), data, compress_type=compression)
    return out.getvalue()


class OneWayStream(io.RawIOBase):
    """Bytes that can be read once and forward, a few at a time, like a network's."""

    def __init__(self, data: bytes, most: int = 1000) -> None:
        super().__init__()
        self._inner = io.BytesIO(data)
        self._most = most

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        data = self._inner.read(min(len(buffer), self._most))
        buffer[: len(data)] = data
        return len(data)


@dataclass
class BinaryCta:
    """A CTA for ``tracez_bytes``: its place in the grid and its warps' instruction lines."""

    at: tuple[int, int, int]
    warps: list[list[bytes]]


def tracez_bytes(header: bytes, ctas: list[BinaryCta], chunk_lines: int = 2, dictionary: bytes = b"") -> bytes:
    """A ``.tracez`` container, with cluster ids of zero."""
    zstd_dictionary = zstandard.ZstdCompressionDict(dictionary) if dictionary else None
    compressor = zstandard.ZstdCompressor(level=3, dict_data=zstd_dictionary, write_content_size=True)
    out = bytearray(header + b"\0" + struct.pack("<II", len(dictionary), chunk_lines) + dictionary)
    index = bytearray(struct.pack("<I", len(ctas)))
    for cta in ctas:
        index += struct.pack("<11I", *cta.at, *[0] * 7, len(cta.warps))
        for lines in cta.warps:
            chunks = [lines[at : at + chunk_lines] for at in range(0, len(lines), chunk_lines)]
            index += struct.pack("<IIQ", len(lines), len(chunks), len(out))
            index += b"".join(struct.pack("<I", len(chunk)) for chunk in chunks)
            out += struct.pack("<II", len(lines), len(chunks))
            for chunk in chunks:
                frame = compressor.compress(b"\n".join(chunk))
                out += struct.pack("<I", len(frame)) + frame
    return bytes(out + index + struct.pack("<Q", len(out)))


def binary_ctas(ctas: int = 2, warps: int = 2) -> list[BinaryCta]:
    """What ``program`` executes, for ``tracez_bytes``."""
    found = []
    for cta in range(ctas):
        lines = []
        for warp in range(warps):
            text = WarpText()
            program(text, cta, warp)
            lines.append([line.encode() for line in text.lines])
        found.append(BinaryCta((cta, 0, 0), lines))
    return found


def header_bytes(ctas: int = 2, threads: int = 64) -> bytes:
    """The header text of ``kernel_bytes``, as a ``.tracez`` stores it."""
    return kernel_bytes(ctas=ctas, threads=threads).split(b"\n#BEGIN_TB")[0]


def small_tracez(ctas: int = 2) -> bytes:
    return tracez_bytes(header_bytes(ctas), binary_ctas(ctas))
