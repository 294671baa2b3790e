"""Small kernel texts for the decoder's tests."""

import io
from collections.abc import Iterable

from sims.engine.decode import TextProgram, open_program
from sims.engine.program import CtaChunk

HEADER = """-kernel name = _Z4testv
-kernel id = 1
-grid dim = ({ctas},1,1)
-block dim = ({threads},1,1)
-shmem = 0
-nregs = 16
-binary version = {binary}
-cuda stream id = 0
-shmem base_addr = {shared}
-local mem base_addr = {local}
-nvbit version = 1.5.5
-accelsim tracer version = {tracer}
-enable lineinfo = {lineinfo}

#traces format = [line_num] PC mask dest_num [reg_dests] opcode src_num [reg_srcs] mem_width [mem_addresses] immediate

"""
EXIT = "0ff0 ffffffff 0 EXIT 0 0 0 "
SHARED_BASE, LOCAL_BASE = 0x7F4A00000000, 0x7F4A02000000


def header(
    ctas: int = 1, threads: int = 32, *, binary: int = 86, tracer: int = 5, lineinfo: int = 0, windows: bool = True
) -> str:
    return HEADER.format(
        ctas=ctas,
        threads=threads,
        binary=binary,
        tracer=tracer,
        lineinfo=lineinfo,
        shared=hex(SHARED_BASE if windows else 0),
        local=hex(LOCAL_BASE if windows else 0),
    )


def cta(*warps: Iterable[str]) -> str:
    """The text of a CTA whose warps are lists of instruction lines."""
    body = "".join(
        f"\nwarp = {k}\ninsts = {len(lines)}\n" + "".join(f"{line}\n" for line in lines)
        for k, lines in enumerate(map(list, warps))
    )
    return f"\n#BEGIN_TB\n\nthread block = 0,0,0\n{body}\n#END_TB\n"


def kernel(*lines: str, exit_line: str = EXIT, **options: int) -> str:
    """A kernel of one warp that runs ``lines`` and exits."""
    return header(**options) + cta([*lines, exit_line])  # type: ignore[arg-type]


def decode(
    text: str | bytes, *, name: str = "kernel-1.traceg", chunk: int = 1 << 17
) -> tuple[TextProgram, list[CtaChunk]]:
    data = text.encode() if isinstance(text, str) else text
    with open_program(io.BytesIO(data), name, chunk_instructions=chunk) as program:
        return program, list(program.chunks())
