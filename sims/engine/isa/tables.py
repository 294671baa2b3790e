"""SASS mnemonics by architecture and the class each one is timed as.

The classes are those of a trace-driven Accel-Sim run: what matters to timing is the functional unit a mnemonic goes
to, so a whole group shares one row. An architecture is its predecessor plus what it added or moved. Mnemonics are the
first dot-separated part of the SASS opcode.
"""

from enum import Enum


class Group(Enum):
    """Timing class of a mnemonic."""

    INT = "int"
    SP = "sp"
    HALF = "half"  # packed half precision at half the SP initiation interval
    DP = "dp"
    SFU = "sfu"
    BRANCH = "branch"
    TEXTURE = "texture"
    TENSOR = "tensor"
    UNIFORM = "uniform"
    GMMA = "gmma"
    EXIT = "exit"
    BARRIER = "barrier"
    MEMBAR = "membar"
    ASYNC_COMMIT = "async_commit"  # closes a group of asynchronous copies
    ASYNC_WAIT = "async_wait"
    BULK_COMMIT = "bulk_commit"  # closes a group of bulk stores
    BULK_CONTROL = "bulk_control"  # the bulk copy unit's other instructions; they move nothing
    FENCE = "fence"
    WARPGROUP = "warpgroup"
    LOAD_GENERIC = "load_generic"
    LOAD_GLOBAL = "load_global"
    LOAD_SHARED = "load_shared"
    LOAD_LOCAL = "load_local"
    COPY_ASYNC = "copy_async"  # LDGSTS: global to shared memory without a register
    STORE_GENERIC = "store_generic"
    STORE_GLOBAL = "store_global"
    STORE_SHARED = "store_shared"
    STORE_LOCAL = "store_local"
    ATOMIC_GLOBAL = "atomic_global"
    ATOMIC_SHARED = "atomic_shared"
    TMA_LOAD = "tma_load"
    TMA_STORE = "tma_store"
    TMA_COPY = "tma_copy"  # UBLKCP: the direction is in its modifiers
    MBARRIER = "mbarrier"
    MBARRIER_COPY = "mbarrier_copy"  # ARRIVES.LDGSTSBAR
    REPLAY = "replay"


VOLTA: dict[Group, str] = {
    Group.SP: "FADD FADD32I FCHK FFMA FFMA32I FMNMX FMUL FMUL32I FSEL FSET FSETP FSWZADD HMUL2 HMNMX2",
    Group.HALF: "HADD2 HADD2_32I HFMA2 HFMA2_32I HMUL2_32I HSET2 HSETP2",
    Group.SFU: "MUFU",
    Group.DP: "DADD DFMA DMUL DSETP DMNMX",
    Group.TENSOR: "HMMA",
    # Integer, conversion, movement, predicates, constants: one pipe. The Volta table has IMMA here, too.
    Group.INT: "BMSK BREV FLO IABS IADD IADD3 IADD32I IDP IDP4A IMAD IMMA IMNMX IMUL IMUL32I ISCADD ISCADD32I ISETP "
    "LEA LOP "
    "LOP3 LOP32I POPC SHF SHL SHR VABSDIFF VABSDIFF4 F2F F2I I2F I2I I2IP FRND MOV MOV32I PRMT SEL SGXT SHFL MOVM "
    "PLOP3 PSETP P2R R2P LDC MATCH QSPC CCTL CCTLL CCTLT ERRBAR B2R CS2R CSMTEST GETLMEMBASE LEPC NOP PMTRIG R2B S2R "
    "SETCTAID SETLMEMBASE VOTE VOTE_VTG SUATOM SULD SURED SUST OUT AL2P ALD AST ISBERD ISBEWR IPA PIXLD",
    Group.BRANCH: "BMOV BPT BRA BREAK BRX BSSY BSYNC CALL JMP JMX KILL NANOSLEEP RET RPCMOV RTT WARPSYNC YIELD",
    Group.TEXTURE: "TEX TLD TLD4 TMML TXD TXQ",
    Group.EXIT: "EXIT",
    Group.BARRIER: "BAR",
    Group.MEMBAR: "MEMBAR",
    Group.ASYNC_WAIT: "DEPBAR",
    Group.LOAD_GENERIC: "LD",
    Group.LOAD_GLOBAL: "LDG",
    Group.LOAD_SHARED: "LDS",
    Group.LOAD_LOCAL: "LDL",
    Group.STORE_GENERIC: "ST",
    Group.STORE_GLOBAL: "STG",
    Group.STORE_SHARED: "STS",
    Group.STORE_LOCAL: "STL",
    Group.ATOMIC_GLOBAL: "ATOM ATOMG RED",
    Group.ATOMIC_SHARED: "ATOMS",
    Group.REPLAY: "REPLAY_START REPLAY_END",
}

TURING: dict[Group, str] = {
    Group.TENSOR: "IMMA BMMA KILL",
    Group.BRANCH: "BRXU JMXU",
    Group.LOAD_SHARED: "LDSM",
    Group.UNIFORM: "R2UR S2UR UBMSK UBREV UCLEA UFLO UIADD3 UIMAD UISETP ULDC ULEA ULOP ULOP3 UMOV UP2UR UPLOP3 "
    "UPOPC UPRMT "
    "UPSETP UR2UP USEL USGXT USHF USHL USHR VOTEU",
}

AMPERE: dict[Group, str] = {
    Group.TENSOR: "DMMA",
    Group.INT: "F2FP F2IP I2FP FMNMX3 SGXT LDTRAM SPMETADATA GENMETADATA VHMNMX CREDUX",
    Group.UNIFORM: "REDUX UF2FP UIABS UIMNMX",
    Group.COPY_ASYNC: "LDGSTS",
    Group.ASYNC_COMMIT: "LDGDEPBAR",
}

HOPPER: dict[Group, str] = {
    Group.GMMA: "HGMMA QGMMA IGMMA BGMMA",
    Group.SP: "VIMNMX VIMNMX3",
    # Accel-Sim 2.0 lets several of Hopper's cluster and set-up instructions, and STSM, pass as no-operations.
    Group.INT: "VIADD VIADDMNMX CGAERRBAR ACQBULK STSM UCGABAR_ARV UCGABAR_WAIT USETMAXREG PREEXIT USETSHMSZ",
    Group.BRANCH: "ELECT",
    Group.BULK_COMMIT: "UTMACMDFLUSH",
    Group.BULK_CONTROL: "UTMACCTL UTMAPF UBLKPF",
    Group.FENCE: "FENCE",
    Group.WARPGROUP: "WARPGROUP",
    Group.ATOMIC_GLOBAL: "REDG",
    Group.STORE_SHARED: "STAS",
    Group.TMA_LOAD: "UTMALDG",
    Group.TMA_STORE: "UTMASTG UTMAREDG UBLKRED",
    Group.TMA_COPY: "UBLKCP",
    Group.MBARRIER: "SYNCS",
    Group.MBARRIER_COPY: "ARRIVES",
}

# Before Volta only what was dropped since; these tables complete the families, they were not measured.
PASCAL: dict[Group, str] = {
    Group.SP: "FCMP RRO",
    Group.INT: "BFE BFI ICMP IMAD32I IMADSP ISAD ISET LOP3 PSET SHL SHR SHF XMAD VADD VMAD VMNMX VSET VSHL VSHR "
    "CSET CSETP "
    "STP TEXDEPBAR",
    Group.BRANCH: "BRK CAL CONT JCAL LONGJMP PBK PCNT PEXIT PLONGJMP PRET SSY SYNC",
    Group.TEXTURE: "TEXS TLDS TLD4S",
}


def merged(*tables: dict[Group, str]) -> dict[str, Group]:
    """One mnemonic-to-group map; a later table moves a mnemonic that an earlier one has."""
    return {mnemonic: group for table in tables for group, names in table.items() for mnemonic in names.split()}


BY_ARCHITECTURE: dict[str, dict[str, Group]] = {
    "pascal": merged(VOLTA, PASCAL),
    "volta": merged(VOLTA),
    "turing": merged(VOLTA, TURING),
    "ampere": merged(VOLTA, TURING, AMPERE),
    "hopper": merged(VOLTA, TURING, AMPERE, HOPPER),
    # Blackwell is Hopper's table; what it added is timed by family.
    "blackwell": merged(VOLTA, TURING, AMPERE, HOPPER),
}


def architecture_of(binary_version: int) -> str:
    """The table for a ``-binary version`` (35 to 121). Ada (89) has Ampere's; unknown ones take the nearest below."""
    for first, name in ((100, "blackwell"), (90, "hopper"), (80, "ampere"), (75, "turing"), (70, "volta")):
        if binary_version >= first:
            return name
    return "pascal"
