"""A trace as Accel-Sim 1.x reads it: a list of the chosen launches, and beside it kernel files it can open."""

import shutil
import tempfile
from pathlib import Path
from typing import BinaryIO, cast

from traces.accelsim import (
    KernelCommand,
    KernelsList,
    MemcpyCommand,
    TraceError,
    kernel_path,
    open_file,
    parse_kernelslist,
)
from traces.accelsim.files import MAGIC_BYTES, Compression, sniff_compression
from traces.accelsim.kernelslist import Container, KernelFileName
from traces.accelsim.tracez import TracezReader

COPY_BLOCK_BYTES = 1024 * 1024


def lay_out_trace(list_path: Path, kernel_indices: tuple[int, ...], folder: Path) -> None:
    """Write ``folder`` with ``kernelslist.g`` and the kernel files it names.

    Files that Accel-Sim reads by itself are links; others are written anew. ``kernel_indices`` chooses launches by
    number, from 1; empty is all. Raises ``TraceError``.
    """
    folder.mkdir()
    commands = chosen_commands(parse_kernelslist(_read_list(list_path), list_path.name), kernel_indices)
    names: dict[str, str] = {}
    lines = []
    for command in commands:
        if isinstance(command, MemcpyCommand):
            lines.append(f"Memcpy{command.kind},0x{command.address:x},{command.size_bytes}")
            continue
        file = command.file
        if file.name not in names:
            names[file.name] = _place(file, kernel_path(list_path.parent, file.name), folder)
        lines.append(names[file.name])
    (folder / "kernelslist.g").write_text("".join(f"{line}\n" for line in lines), encoding="ascii")


def _read_list(path: Path) -> bytes:
    with open_file(path) as file:
        return file.read()


def chosen_commands(kernelslist: KernelsList, kernel_indices: tuple[int, ...]) -> list[MemcpyCommand | KernelCommand]:
    """The chosen launches with the host-to-device copies in front of them, in the order of the list.

    Copies before a launch that is left out stay: they fill the L2 all the same. Copies after the last chosen launch are
    dropped, because Accel-Sim aborts at a list that ends with one.
    """
    chosen = set(kernel_indices)
    kept: list[MemcpyCommand | KernelCommand] = []
    launches = 0
    end = 0
    for command in kernelslist.commands:
        if isinstance(command, KernelCommand):
            launches += 1
            if not chosen or launches in chosen:
                kept.append(command)
                end = len(kept)
        elif command.kind == "HtoD":
            kept.append(command)
    return kept[:end]


def _place(file: KernelFileName, source: Path, folder: Path) -> str:
    """Make one kernel file readable for Accel-Sim, which goes by the name's end alone; the name it got."""
    stem = file.name.partition(".")[0]
    if file.container is Container.BINARY:
        name = f"{stem}.traceg"
        _write_as_text(source, folder / name)
        return name
    compression = _compression_of(source)
    name = f"{stem}.traceg.xz" if compression is Compression.XZ else f"{stem}.traceg"
    if compression in (Compression.XZ, Compression.NONE):
        (folder / name).symlink_to(source.resolve())
    else:
        with open_file(source) as plain, (folder / name).open("wb") as copy:
            shutil.copyfileobj(plain, copy, COPY_BLOCK_BYTES)
    return name


def _compression_of(path: Path) -> Compression:
    try:
        with path.open("rb") as file:
            return sniff_compression(file.read(MAGIC_BYTES))
    except OSError as error:
        raise TraceError(f"cannot be opened: {error.strerror or error}.", path.name) from error


def _write_as_text(source: Path, target: Path) -> None:
    """A binary trace in the text form that its kernel would have had."""
    with open_file(source) as plain, tempfile.TemporaryFile(dir=target.parent) as copy, target.open("wb") as text:
        stream = plain
        if not plain.seekable():
            shutil.copyfileobj(plain, copy, COPY_BLOCK_BYTES)
            stream = cast(BinaryIO, copy)
        reader = TracezReader(stream, source.name)
        text.write(reader.header_text)
        text.writelines(reader.text())
