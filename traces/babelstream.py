"""BabelStream's six kernels in double precision, as compiled for Ampere (SASS version 86), for the sample trace.

init, copy, mul, add and triad are one element a thread; dot is a grid-stride loop and a tree in shared memory.
"""

from traces.generator import ALL_LANES, ZERO_REGISTER, GeneratedKernel, GeneratedMemcpy, WarpText

BINARY_VERSION = 86
ELEMENT_BYTES = 8
BLOCK_THREADS = 1024
DOT_CTAS = 64
HEAP_ADDRESS = 0x7F4B_0000_0000
A_ADDRESS = HEAP_ADDRESS + 0x0100_0000
B_ADDRESS = HEAP_ADDRESS + 0x0140_0000
C_ADDRESS = HEAP_ADDRESS + 0x0180_0000
SUMS_ADDRESS = HEAP_ADDRESS + 0x01C0_0000
DEFAULT_ELEMENTS = 1 << 18
"""2 MiB an array."""


def babelstream_commands(elements: int = DEFAULT_ELEMENTS) -> list[GeneratedKernel | GeneratedMemcpy]:
    """One round of BabelStream over arrays of ``elements``, a multiple of ``DOT_CTAS * BLOCK_THREADS``."""
    if elements <= 0 or elements % (DOT_CTAS * BLOCK_THREADS):
        raise ValueError(f"elements must be a multiple of {DOT_CTAS * BLOCK_THREADS}, not {elements}.")
    grid = (elements // BLOCK_THREADS, 1, 1)
    block = (BLOCK_THREADS, 1, 1)

    def dot(warp_text: WarpText, cta: int, warp: int) -> None:
        _dot(warp_text, cta, warp, rounds=elements // (DOT_CTAS * BLOCK_THREADS))

    return [
        GeneratedMemcpy(SUMS_ADDRESS, ELEMENT_BYTES * DOT_CTAS),
        GeneratedKernel("_Z11init_kernelIdEvPT_S1_S1_S0_S0_S0_", grid, block, _init, registers_per_thread=12),
        GeneratedKernel("_Z11copy_kernelIdEvPKT_PS0_", grid, block, _copy, registers_per_thread=10),
        GeneratedKernel("_Z10mul_kernelIdEvPT_PKS0_", grid, block, _mul, registers_per_thread=12),
        GeneratedKernel("_Z10add_kernelIdEvPKT_S2_PS0_", grid, block, _add, registers_per_thread=12),
        GeneratedKernel("_Z12triad_kernelIdEvPT_PKS0_S3_", grid, block, _triad, registers_per_thread=14),
        GeneratedKernel(
            "_Z10dot_kernelIdEvPKT_S2_PS0_i",
            (DOT_CTAS, 1, 1),
            block,
            dot,
            shared_memory_bytes=ELEMENT_BYTES * BLOCK_THREADS,
            registers_per_thread=18,
        ),
    ]


def _element_offset(cta: int, warp: int) -> int:
    """Bytes from an array's start to the element of the warp's lane 0."""
    return ELEMENT_BYTES * (cta * BLOCK_THREADS + warp * 32)


def _thread_index(w: WarpText) -> None:
    """R0 = blockIdx.x * blockDim.x + threadIdx.x, R3 = threadIdx.x, R9 = bytes an element."""
    w.op("IMAD.MOV.U32", 1, (ZERO_REGISTER, ZERO_REGISTER))
    w.op("S2R", 0)
    w.op("S2R", 3)
    w.op("ULDC.64")
    w.op("IMAD", 0, (0, 3))
    w.op("MOV", 9, immediate=ELEMENT_BYTES)


def _pointer(w: WarpText, register: int) -> None:
    w.op("IMAD.WIDE", register, (0, 9))


def _load(w: WarpText, register: int, address: int) -> None:
    w.memory("LDG.E.64", register, (register,), address, ELEMENT_BYTES)


def _store(w: WarpText, pointer: int, value: int, address: int) -> None:
    w.memory("STG.E.64", None, (pointer, value), address, ELEMENT_BYTES)


def _init(w: WarpText, cta: int, warp: int) -> None:
    offset = _element_offset(cta, warp)
    arrays = ((2, A_ADDRESS), (4, B_ADDRESS), (6, C_ADDRESS))
    _thread_index(w)
    w.op("MOV", 10)
    w.op("MOV", 11)
    for register, _ in arrays:
        _pointer(w, register)
    for register, address in arrays:
        _store(w, register, 10, address + offset)
    w.op("EXIT")


def _copy(w: WarpText, cta: int, warp: int) -> None:
    offset = _element_offset(cta, warp)
    _thread_index(w)
    _pointer(w, 2)
    _load(w, 2, A_ADDRESS + offset)
    _pointer(w, 4)
    _store(w, 4, 2, C_ADDRESS + offset)
    w.op("EXIT")


def _mul(w: WarpText, cta: int, warp: int) -> None:
    offset = _element_offset(cta, warp)
    _thread_index(w)
    _pointer(w, 2)
    _load(w, 2, C_ADDRESS + offset)
    _pointer(w, 6)
    w.op("DMUL", 4, (2,))
    _store(w, 6, 4, B_ADDRESS + offset)
    w.op("EXIT")


def _add(w: WarpText, cta: int, warp: int) -> None:
    offset = _element_offset(cta, warp)
    _thread_index(w)
    _pointer(w, 2)
    _pointer(w, 4)
    _load(w, 2, A_ADDRESS + offset)
    _load(w, 4, B_ADDRESS + offset)
    _pointer(w, 8)
    w.op("DADD", 6, (2, 4))
    _store(w, 8, 6, C_ADDRESS + offset)
    w.op("EXIT")


def _triad(w: WarpText, cta: int, warp: int) -> None:
    offset = _element_offset(cta, warp)
    _thread_index(w)
    _pointer(w, 4)
    _pointer(w, 2)
    _load(w, 4, C_ADDRESS + offset)
    _load(w, 2, B_ADDRESS + offset)
    w.op("MOV", 10)
    w.op("MOV", 11)
    _pointer(w, 8)
    w.op("DFMA", 6, (4, 10, 2))
    _store(w, 8, 6, A_ADDRESS + offset)
    w.op("EXIT")


def _dot(w: WarpText, cta: int, warp: int, rounds: int) -> None:
    _thread_index(w)
    w.op("CS2R", 4)
    w.op("ISETP.GE.AND", None, (0,))
    w.op("BSSY", immediate=0x190)
    w.op("BRA", mask=0, immediate=0x180)
    _dot_loop(w, _element_offset(cta, warp), rounds)
    w.op("BSYNC")
    w.op("IMAD.SHL.U32", 8, (3, ZERO_REGISTER), immediate=ELEMENT_BYTES)
    w.memory("STS.64", None, (8, 4), ELEMENT_BYTES * warp * 32, ELEMENT_BYTES)
    w.op("ISETP.GE.AND", None, (ZERO_REGISTER,))
    w.op("BRA", mask=0)
    _dot_tree(w, warp)
    w.op("ISETP.NE.AND", None, (3,))
    leader = 1 if warp == 0 else 0
    w.op("EXIT", mask=ALL_LANES & ~leader)
    if leader:
        w.memory("LDS.64", 2, (ZERO_REGISTER,), 0, 0, leader)
        w.op("S2R", 4, mask=leader)
        w.op("MOV", 5, mask=leader, immediate=ELEMENT_BYTES)
        w.op("IMAD.WIDE.U32", 4, (4, 5), mask=leader)
        w.memory("STG.E.64", None, (4, 2), SUMS_ADDRESS + ELEMENT_BYTES * cta, 0, leader)
        w.op("EXIT", mask=leader)


def _dot_loop(w: WarpText, offset: int, rounds: int) -> None:
    """Each thread multiplies and adds every (grid x block)-th element."""
    top = w.pc
    for done in range(rounds):
        w.pc = top
        at = offset + ELEMENT_BYTES * done * DOT_CTAS * BLOCK_THREADS
        _pointer(w, 12)
        _pointer(w, 14)
        _load(w, 12, A_ADDRESS + at)
        _load(w, 14, B_ADDRESS + at)
        w.op("IADD3", 0, (0, ZERO_REGISTER))
        w.op("ISETP.GE.AND", None, (0,))
        w.op("DFMA", 4, (12, 14, 4))
        w.op("BRA", mask=ALL_LANES if done + 1 < rounds else 0, immediate=top)


def _dot_tree(w: WarpText, warp: int) -> None:
    """Halves the partial sums in shared memory until one is left; the threads of the upper half jump over the work."""
    top = w.pc
    half = BLOCK_THREADS // 2
    own = ELEMENT_BYTES * warp * 32
    while half:
        w.pc = top
        working = (1 << min(32, max(0, half - warp * 32))) - 1
        w.op("BAR.SYNC.DEFER_BLOCKING")
        w.op("ISETP.GE.AND", None, (3, 10))
        w.op("BSSY", immediate=top + 16 * 9)
        w.op("BRA", mask=ALL_LANES & ~working, immediate=top + 16 * 8)
        if working:
            w.op("LEA", 11, (10, 8), mask=working, immediate=3)
            w.memory("LDS.64", 6, (8,), own, ELEMENT_BYTES, working)
            w.memory("LDS.64", 12, (11,), own + ELEMENT_BYTES * half, ELEMENT_BYTES, working)
            w.op("DADD", 6, (6, 12), mask=working)
            w.memory("STS.64", None, (8, 6), own, ELEMENT_BYTES, working)
        else:
            w.skip(5)
        w.op("BSYNC")
        w.op("SHF.R.U32.HI", 10, (ZERO_REGISTER, 10), immediate=1)
        w.op("ISETP.NE.AND", None, (10,))
        half //= 2
        w.op("BRA", mask=ALL_LANES if half else 0, immediate=top)
