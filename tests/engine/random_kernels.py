"""Small random kernels: a little of everything that moves data, on few addresses, so that requests meet."""

from random import Random

from tests.engine.kernel_texts import EXIT, LOCAL_BASE, cta, header

GLOBAL_BASE = 0x20000000
MASKS = (0xFFFFFFFF, 0xFFFFFFFF, 0x0000FFFF, 0x00000001, 0x0F0F0F0F, 0)
STRIDES = (4, 4, 8, 32, 0)
ALU = ("FADD", "FFMA", "IADD3", "MUFU.RCP", "HMMA.16816.F32", "DADD", "MOV")
LOADS = ("LDG.E", "LDG.E", "LDG.E", "LDG.E.STRONG.GPU")
STORES = ("STG.E", "STG.E", "STG.E.STRONG.GPU")


def random_line(random: Random, global_bytes: int) -> str:
    """One instruction. Registers are few as well: some wait for each other."""
    mask = random.choice(MASKS)
    place = f"{GLOBAL_BASE + 4 * random.randrange(global_bytes // 4):#x} {random.choice(STRIDES)}"
    register = random.randrange(8, 24)
    match random.choice(["alu", "alu", "load", "load", "store", "local", "shared", "atomic", "copy", "wait"]):
        case "alu":
            sources = " ".join(f"R{random.randrange(8, 24)}" for _ in range(3))
            return f"0010 {mask:08x} 1 R{register} {random.choice(ALU)} 3 {sources} 0 0 "
        case "load":
            return f"0020 {mask:08x} 1 R{register} {random.choice(LOADS)} 1 R2 4 1 {place} 0 "
        case "store":
            return f"0030 {mask:08x} 0 {random.choice(STORES)} 2 R2 R{register} 4 1 {place} 0 "
        case "local":
            place = f"{LOCAL_BASE + 4 * random.randrange(16):#x} 0"
            if random.random() < 0.5:
                return f"0040 {mask:08x} 1 R{register} LDL 1 R2 4 1 {place} 0 "
            return f"0050 {mask:08x} 0 STL 2 R2 R{register} 4 1 {place} 0 "
        case "shared":
            place = f"{4 * random.randrange(64):#x} {random.choice(STRIDES)}"
            if random.random() < 0.5:
                return f"0060 {mask:08x} 1 R{register} LDS 1 R2 4 1 {place} 0 "
            return f"0070 {mask:08x} 0 STS 2 R2 R{register} 4 1 {place} 0 "
        case "atomic":
            if random.random() < 0.5:
                return f"0080 {mask:08x} 1 R{register} ATOMG.E.ADD.STRONG.GPU 2 R2 R5 4 1 {place} 0 "
            return f"0090 {mask:08x} 0 RED.E.ADD.STRONG.GPU 2 R2 R5 4 1 {place} 0 "
        case "copy":
            return random.choice(
                [f"00a0 {mask:08x} 0 LDGSTS.E 2 R2 R3 4 1 {place} 0 ", "00b0 ffffffff 0 LDGDEPBAR 0 0 0 "]
            )
        case _:
            return random.choice(
                [
                    "00c0 ffffffff 0 DEPBAR.LE 0 0 0 ",
                    "00d0 ffffffff 0 MEMBAR.SC.GPU 0 0 0 ",
                    "00e0 ffffffff 0 BAR.SYNC 0 0 0 0 ",
                ]
            )


# A warp's end waits for loads and stores, but not for asynchronous copies: what is left of those falls to the next kernel.
WAIT_FOR_COPIES = ("00b0 ffffffff 0 LDGDEPBAR 0 0 0 ", "00c0 ffffffff 0 DEPBAR.LE 0 0 0 ")


def random_kernel(random: Random, *, max_ctas: int = 12, global_bytes: int = 1 << 16) -> str:
    """CTAs of one to four warps, each its own instructions; they wait for their copies before they end."""
    warps, ctas = random.randint(1, 4), random.randint(1, max_ctas)

    def warp() -> list[str]:
        lines = [random_line(random, global_bytes) for _ in range(random.randint(0, 25))]
        return [*lines, *WAIT_FOR_COPIES, EXIT]

    return header(ctas=ctas, threads=32 * warps) + "".join(cta(*(warp() for _ in range(warps))) for _ in range(ctas))


def store_flood(ctas: int, stores: int) -> str:
    """Every warp only stores whole lines, to places of its own: request buffers fill."""

    def warp(number: int) -> list[str]:
        addresses = (GLOBAL_BASE + 128 * (number * stores + n) for n in range(stores))
        return [*(f"0030 ffffffff 0 STG.E 2 R2 R5 4 1 {address:#x} 4 0 " for address in addresses), EXIT]

    return header(ctas=ctas, threads=128) + "".join(cta(*(warp(4 * i + w) for w in range(4))) for i in range(ctas))
