"""Opens a kernel file as a program."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from sims.engine.decode.statics import TableShelf
from sims.engine.decode.text import BLOCK_BYTES, CHUNK_INSTRUCTIONS, TextProgram
from sims.engine.program import KernelShape
from traces.accelsim import BodyReader, KernelHeader, open_body


def shape_of(header: KernelHeader) -> KernelShape:
    """The launch a header describes."""
    return KernelShape(
        name=header.name,
        grid=header.grid,
        block=header.block,
        shared_memory_bytes=header.shared_memory_bytes,
        registers_per_thread=header.registers_per_thread,
        stream=header.stream,
        binary_version=header.binary_version,
    )


def leading_fields_of(header: KernelHeader) -> int:
    """Fields before the PC: CTA x, y, z and warp in old traces, the source line with line information."""
    return 4 * header.lines_name_their_warp + header.has_line_info


def blocks_of(body: BodyReader) -> Iterator[bytes]:
    """The body in pieces."""
    while block := body.read(BLOCK_BYTES):
        yield block


@contextmanager
def open_program(
    source: Path | BinaryIO,
    name: str | None = None,
    *,
    shelf: TableShelf | None = None,
    chunk_instructions: int = CHUNK_INSTRUCTIONS,
    read_by: Callable[[Iterator[bytes]], Iterator[bytes]] = iter,
) -> Iterator[TextProgram]:
    """A kernel file (``.traceg`` or ``.tracez``, compressed or not) as a program; the file is closed at the end.

    ``shelf`` carries what kernels have in common from one to the next. ``read_by`` gets the body's blocks and hands them on.
    Raises ``TraceError`` for a bad header here, for a bad body while chunks are read.
    """
    header, body = open_body(source, name)
    with body:
        yield TextProgram(
            shape_of(header),
            read_by(blocks_of(body)),
            file=body.file,
            first_line=body.first_line,
            leading_fields=leading_fields_of(header),
            shared_base=header.shared_base_address,
            local_base=header.local_base_address,
            missing_ctas_allowed=".tracez" in body.file,
            table=shelf.table_for(header.binary_version) if shelf else None,
            chunk_instructions=chunk_instructions,
        )
