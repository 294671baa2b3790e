"""The compiled decoder and its plain twin read the same thing out of any well-formed line."""

import os

from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.engine.kernel_texts import EXIT, LOCAL_BASE, SHARED_BASE, decode, kernel
from tests.engine.twins.decoder import decode_warp, described

MEMORY_OPCODES = (
    ("LDG.E", 4), ("LDG.E.64", 8), ("LDG.E.128", 16), ("LDG.E.U8", 1), ("LDG.E.STRONG.GPU", 4), ("STG.E", 4),
    ("STG.E.U16", 2),
    ("LDS", 4), ("LDS.U.128", 16), ("STS.64", 8), ("LDSM.16.M88.4", 2), ("LDL", 4), ("LDL.64", 8), ("STL.128", 16),
    ("STL.U8", 1), ("STL.U16", 2), ("ST.E.U8", 1),
    ("LD.E", 4), ("ST.E.64", 8), ("RED.E.ADD.F32.FTZ.RN.STRONG.GPU", 4), ("ATOMG.E.ADD.64.STRONG.GPU", 8),
    ("ATOMS.ADD", 4),
    ("LDGSTS.E.BYPASS.128", 16),
)  # fmt: skip
PLAIN_OPCODES = ("FFMA", "IADD3", "MUFU.RCP", "HMMA.16816.F32", "BRA", "S2R", "NOVELTY.X", "DEPBAR.LE")

masks = st.one_of(st.just(0xFFFFFFFF), st.just(0), st.integers(0, 0xFFFFFFFF))
bases = st.one_of(
    st.integers(0, 2**16), st.integers(SHARED_BASE - 64, SHARED_BASE + 4096),
    st.integers(LOCAL_BASE - 64, LOCAL_BASE + 4096), st.integers(LOCAL_BASE + 16380, LOCAL_BASE + 16390),
    st.integers(0x7F4B00000000, 0x7F4B00010000), st.integers(0, 2**64 - 1),
)  # fmt: skip
deltas = st.one_of(st.sampled_from((0, 4, 8, 16, 32, 128)), st.integers(-(2**20), 2**20))


@st.composite
def memory_lines(draw: st.DrawFn) -> str:
    opcode, width = draw(st.sampled_from(MEMORY_OPCODES))
    mask = draw(masks)
    lanes = mask.bit_count()
    mode = draw(st.sampled_from((0, 1, 2)))
    base = draw(bases)
    if mode == 0:
        part = " ".join(f"0x{(base + draw(deltas)) % 2**64:016x}" for _ in range(lanes))
    elif mode == 1:
        part = f"0x{base:x} {draw(deltas)}"
    else:
        step = draw(st.one_of(st.none(), deltas))
        part = " ".join([f"0x{base:x}", *(str(draw(deltas) if step is None else step) for _ in range(lanes - 1))])
    pc = 16 * draw(st.integers(0, 5))
    return f"{pc:04x} {mask:08x} 1 R4 {opcode} 1 R2 {width} {mode} {part} 0 "


@st.composite
def plain_lines(draw: st.DrawFn) -> str:
    sources = draw(st.lists(st.integers(0, 255), max_size=5))
    registers = "".join(f" R{register}" for register in sources)
    immediate = draw(st.one_of(st.just(""), st.integers(0, 3).map(str)))
    pc = 16 * draw(st.integers(0, 5))
    opcode = draw(st.sampled_from(PLAIN_OPCODES))
    return f"{pc:04x} {draw(masks):08x} 1 R7 {opcode} {len(sources)}{registers} 0 {immediate} "


@settings(max_examples=int(os.environ.get("CASCADE_EXAMPLES", "300")), deadline=None)
@given(st.lists(st.one_of(memory_lines(), plain_lines()), max_size=12))
@example(
    ["0000 ffffffff 1 R4 LDG.E 1 R2 4 1 0x7f4b00000000 4 0 ", "0000 ffffffff 1 R4 LDG.E 1 R2 4 1 0x7f4b00000e0c 4 0 "]
)
@example(["0000 ffffffff 1 R4 LDG.E 1 R2 4 1 0xffffffffffffff81 4 0 "])  # runs over the end of the address space
@example(["0000 00000003 1 R4 RED.E 1 R2 4 1 0xffffffffffffffe0 32 0 "] * 2)
def test_compiled_and_plain_decoder_agree(lines: list[str]) -> None:
    # Every line twice, so that the second reading takes the remembered text and address pattern.
    lines = [line for line in lines for _ in range(2)]
    program, chunks = decode(kernel(*lines))
    expected = decode_warp([*lines, EXIT], 86, shared_base=SHARED_BASE, local_base=LOCAL_BASE)
    assert list(described(chunks[0], 0, 0, 1, program.statics, program.opcodes)) == expected
