"""From a SASS opcode to what the timing model has to know about it."""

import re
from dataclasses import dataclass
from functools import lru_cache, partial

from sims.engine import program as p
from sims.engine.isa.families import family_group
from sims.engine.isa.tables import BY_ARCHITECTURE, Group, architecture_of

MAX_WIDTH_BYTES = 64
"""Widest access a lane can make. Nothing wider exists; a mnemonic that claims it must not blow up the sector lists."""


@dataclass(frozen=True, slots=True)
class OpcodeClass:
    """How an opcode is timed. ``latency_cycles`` and ``initiation_cycles`` 0: its unit's, from the configuration."""

    group: Group
    unit: int
    kind: int = p.KIND_ALU
    space: int = p.SPACE_NONE
    width_bytes: int = 0
    bypasses_l1: bool = False
    half_rate: bool = False
    latency_cycles: int = 0
    initiation_cycles: int = 0
    known: bool = True


_UNITS = {
    Group.INT: p.UNIT_INT,
    Group.SP: p.UNIT_SP,
    Group.HALF: p.UNIT_SP,
    Group.DP: p.UNIT_DP,
    Group.SFU: p.UNIT_SFU,
    Group.BRANCH: p.UNIT_BRANCH,
    Group.TEXTURE: p.UNIT_TEXTURE,
    Group.TENSOR: p.UNIT_TENSOR,
    Group.UNIFORM: p.UNIT_UNIFORM,
    Group.GMMA: p.UNIT_GMMA,
}
_MEMORY = {
    Group.LOAD_GENERIC: (p.KIND_LOAD, p.SPACE_GENERIC),
    Group.LOAD_GLOBAL: (p.KIND_LOAD, p.SPACE_GLOBAL),
    Group.LOAD_SHARED: (p.KIND_LOAD, p.SPACE_SHARED),
    Group.LOAD_LOCAL: (p.KIND_LOAD, p.SPACE_LOCAL),
    Group.COPY_ASYNC: (p.KIND_LDGSTS, p.SPACE_GLOBAL),
    Group.STORE_GENERIC: (p.KIND_STORE, p.SPACE_GENERIC),
    Group.STORE_GLOBAL: (p.KIND_STORE, p.SPACE_GLOBAL),
    Group.STORE_SHARED: (p.KIND_STORE, p.SPACE_SHARED),
    Group.STORE_LOCAL: (p.KIND_STORE, p.SPACE_LOCAL),
    Group.ATOMIC_GLOBAL: (p.KIND_ATOMIC, p.SPACE_GLOBAL),
    Group.ATOMIC_SHARED: (p.KIND_ATOMIC, p.SPACE_SHARED),
    Group.TMA_LOAD: (p.KIND_TMA_LOAD, p.SPACE_GLOBAL),
    Group.TMA_STORE: (p.KIND_TMA_STORE, p.SPACE_GLOBAL),
}
# Latency and interval of a warpgroup MMA by its N, as Accel-Sim 2.0 has them; N / 2 from 64 up.
_GMMA_CYCLES = {56: 56, 40: 20, 32: 24, 24: 12, 16: 20, 8: 18}


@lru_cache(maxsize=65536)
def classify(opcode: str, binary_version: int) -> OpcodeClass:
    """The class of a full opcode (``LDG.E.128.STRONG.GPU``) in a trace of that binary version. Never fails."""
    mnemonic, *modifiers = opcode.split(".")
    known = BY_ARCHITECTURE[architecture_of(binary_version)].get(mnemonic)
    group = known or family_group(mnemonic)
    if group in _MEMORY:
        return _memory_class(group, modifiers, binary_version, known=known is not None)
    if group in _UNITS:
        cycles = _gmma_cycles(modifiers) if group is Group.GMMA else 0
        return OpcodeClass(
            group,
            _UNITS[group],
            kind=p.KIND_GMMA if group is Group.GMMA else p.KIND_ALU,
            half_rate=group is Group.HALF,
            latency_cycles=cycles,
            initiation_cycles=cycles,
            known=known is not None,
        )
    return _control_class(group, mnemonic, modifiers)


def width_bytes(modifiers: list[str]) -> int:
    """Bytes a lane moves: the first modifier that is ``N`` or ``UN`` bits, else 4 (so ``LDSM.16.M88.4`` moves 2)."""
    for modifier in modifiers:
        digits = modifier.removeprefix("U")
        # A sector list is bounded by this width, so the cap is applied before the text becomes a number.
        if digits.isascii() and digits.isdigit():
            return min(max(1, int(digits[:6]) // 8), MAX_WIDTH_BYTES)
    return 4


def _memory_class(group: Group, modifiers: list[str], binary_version: int, *, known: bool) -> OpcodeClass:
    kind, space = _MEMORY[group]
    strong_gpu = "STRONG" in modifiers and "GPU" in modifiers
    # BYPASS skips the L1 since Hopper's front end; the one for older binaries reads it as an ordinary access.
    bypasses = strong_gpu or (binary_version >= 90 and "BYPASS" in modifiers)
    global_load = group in (Group.LOAD_GLOBAL, Group.COPY_ASYNC, Group.LOAD_LOCAL)
    return OpcodeClass(
        group,
        p.UNIT_MEM,
        kind,
        space,
        width_bytes(modifiers),
        bypasses_l1=(global_load and bypasses)
        or group in (Group.ATOMIC_GLOBAL, Group.TMA_LOAD, Group.TMA_STORE)
        or (binary_version >= 90 and group is Group.STORE_GLOBAL and bypasses),
        known=known,
    )


def _control_class(group: Group, mnemonic: str, modifiers: list[str]) -> OpcodeClass:
    """Instructions of one cycle on the integer pipe: their effect, not their arithmetic, takes time."""
    one = partial(OpcodeClass, group, latency_cycles=1, initiation_cycles=1)
    match group:
        case Group.EXIT:
            return one(p.UNIT_INT, p.KIND_EXIT)
        case Group.BARRIER:
            kind = p.KIND_BARRIER_ARRIVE if "ARV" in modifiers else p.KIND_BARRIER
            return one(p.UNIT_INT, kind)
        case Group.MEMBAR:
            return one(p.UNIT_MEM, p.KIND_MEMBAR)
        case Group.ASYNC_COMMIT:
            return OpcodeClass(group, p.UNIT_INT, p.KIND_LDGDEPBAR)
        case Group.BULK_COMMIT:
            return one(p.UNIT_MEM, p.KIND_LDGDEPBAR)
        case Group.BULK_CONTROL:
            return one(p.UNIT_MEM)
        case Group.FENCE:
            is_async = modifiers[:2] == ["VIEW", "ASYNC"]
            return one(p.UNIT_MEM, p.KIND_ASYNC_FENCE) if is_async else one(p.UNIT_INT)
        case Group.ASYNC_WAIT:
            return OpcodeClass(group, p.UNIT_INT, p.KIND_DEPBAR)
        case Group.WARPGROUP:
            return OpcodeClass(group, p.UNIT_INT, p.KIND_GMMA_WAIT if "DEPBAR" in modifiers else p.KIND_ALU)
        case Group.TMA_COPY:
            return _bulk_copy_class(modifiers)
        case Group.MBARRIER:
            return one(p.UNIT_MEM, _mbarrier_kind(modifiers))
        case Group.MBARRIER_COPY:
            return one(p.UNIT_MEM, p.KIND_MBARRIER_COPY)
        case _:  # Group.REPLAY
            kind = p.KIND_REPLAY_START if mnemonic == "REPLAY_START" else p.KIND_REPLAY_END
            return OpcodeClass(group, p.UNIT_INT, kind)


def _bulk_copy_class(modifiers: list[str]) -> OpcodeClass:
    """UBLKCP by direction: ``S.G`` fills shared memory, ``G.S`` drains it, anything else touches no global memory."""
    text = ".".join(modifiers)
    if "S.G" in text:
        return OpcodeClass(Group.TMA_COPY, p.UNIT_MEM, p.KIND_TMA_LOAD, p.SPACE_GLOBAL, bypasses_l1=True)
    if "G.S" in text:
        return OpcodeClass(Group.TMA_COPY, p.UNIT_MEM, p.KIND_TMA_STORE, p.SPACE_GLOBAL, bypasses_l1=True)
    return OpcodeClass(Group.TMA_COPY, p.UNIT_INT)


def _mbarrier_kind(modifiers: list[str]) -> int:
    match modifiers[:1]:
        case ["EXCH"]:
            return p.KIND_MBARRIER_INIT
        case ["ARRIVE"]:
            return p.KIND_MBARRIER_ARRIVE
        case ["PHASECHK"] if "TRYWAIT" in modifiers:
            return p.KIND_MBARRIER_WAIT
        case _:
            return p.KIND_MBARRIER_TEST


def _gmma_cycles(modifiers: list[str]) -> int:
    shape = next((match for modifier in modifiers if (match := re.fullmatch(r"\d+x(\d{1,4})(x\d+)?", modifier))), None)
    if shape is None:
        return 0
    n = int(shape.group(1))
    return _GMMA_CYCLES.get(n, max(1, n // 2))
