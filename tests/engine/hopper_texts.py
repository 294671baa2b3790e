"""Lines of Hopper kernels, and small kernels made of them, for the engine's tests."""

from tests.engine.kernel_texts import SHARED_BASE, cta, header

EXIT = "0ff0 ffffffff 0 EXIT 0 0 0 0 NoVal "
ADD = "0010 ffffffff 1 R5 FADD 2 R5 R6 0 0 0 NoVal "
FENCE = "0090 ffffffff 0 FENCE.VIEW.ASYNC.S 0 0 0 0 NoVal "
COMMIT = "00f0 ffffffff 0 UTMACMDFLUSH 0 0 0 0 NoVal "
START, END = "0000 ffffffff 0 REPLAY_START 0 0 0 0", "0000 ffffffff 0 REPLAY_END 0 0 0 0"
FULL, EMPTY = 0x400, 0x440
DATA = 0x20000000


def syncs(opcode: str, at: int, value: int, mask: int = 1, width: int = 4) -> str:
    """An mbarrier operation on shared offset ``at``; its second source holds ``value`` in all lanes."""
    lanes = mask.bit_count()
    address = f"{2 if lanes == 1 else 1} {SHARED_BASE + at:#x}{' 0' if lanes > 1 else ''}"
    return f"0020 {mask:08x} 0 SYNCS.{opcode} 2 R8 R9 {width} {address} 0 0 Val 1 00000400 1 {value:x} "


def init(at: int = FULL, arrivals: int = 1) -> str:
    field = (1 << 20) - arrivals  # as the hardware's mbarrier word has it, for the phase and for what is pending
    return syncs("EXCH.64", at, field << 1 | field << 43, width=8)


def arrive_and_expect(byte_count: int, at: int = FULL) -> str:
    return syncs("ARRIVE.TRANS64", at, byte_count)


def arrive(at: int = FULL, mask: int = 1) -> str:
    return syncs("ARRIVE.TRANS64.RED.A1T0", at, 0, mask)


def wait(parity: int = 0, at: int = FULL) -> str:
    return syncs("PHASECHK.TRANS64.TRYWAIT", at, parity << 31, 0xFFFFFFFF)


def look(parity: int = 0, at: int = FULL) -> str:
    return syncs("PHASECHK.TRANS64", at, parity << 31)


def bulk(opcode: str, sectors: int, source: int, fields: str) -> str:
    steps = "32 " * (sectors - 1)
    return f"0040 00000001 0 {opcode} 0 32 {fields} {32 * sectors} 0 4 {source:#x} {sectors} {steps}0 0 NoVal "


def bulk_load(sectors: int, at: int = FULL, source: int = DATA) -> str:
    return bulk("UTMALDG.2D", sectors, source, f"{at:#x} 0")


def multicast_load(sectors: int, cta_mask: int, at: int = FULL, source: int = DATA) -> str:
    return bulk("UTMALDG.2D.MULTICAST", sectors, source, f"{at:#x} 1 {cta_mask:#06x}")


def bulk_store(sectors: int, target: int = DATA) -> str:
    return bulk("UTMASTG.2D", sectors, target, "0x0 0")


def gmma(n: int = 256, *, closes: bool = True, accumulator: int = 24) -> str:
    register = f"R{accumulator}"
    return f"0080 ffffffff 1 {register} HGMMA.64x{n}x16.F32 1 {register} {int(closes)} 0 0 0 NoVal "


def gmma_wait(groups_left: int) -> str:
    return f"0090 ffffffff 0 WARPGROUP.DEPBAR.LE 0 0 {groups_left} 0 Val "


def depbar(groups_left: int) -> str:
    return f"00a0 ffffffff 0 DEPBAR.LE 0 0 {groups_left} 0 Val "


def kernel(*warps: list[str]) -> str:
    """One CTA; every warp exits at its end."""
    return header(threads=32 * len(warps), binary=90, tracer=6) + cta(*[[*warp, EXIT] for warp in warps])


def cluster_kernel(*ctas: list[str], name: str = "7,0,0") -> str:
    """One cluster of CTAs of one warp."""
    text = header(ctas=len(ctas), binary=90, tracer=6)
    for rank, lines in enumerate(ctas):
        place = f"thread block = {rank},0,0\ncluster id = {name}\ncluster cta = {rank},0,0\ncluster rank = {rank}\n"
        text += cta([*lines, EXIT]).replace("thread block = 0,0,0\n", place)
    return text
