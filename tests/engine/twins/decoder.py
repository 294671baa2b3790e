"""The decoder in plain Python.

It shares nothing with the scanner but the instruction set and the layout of the results.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from sims.engine import program as p
from sims.engine.isa import classify
from sims.engine.program import CtaChunk

Sectors = tuple[tuple[int, int], ...]
"""(sector address, byte mask), in order of service."""
LOCAL_BYTES = 16384
"""As far above its base as Accel-Sim takes a generic address for a local one."""


@dataclass(frozen=True, slots=True)
class PlainInstruction:
    """A dynamic instruction as a reader of the trace would write it down."""

    opcode: str
    space: int
    operand: int | Sectors | tuple[int, ...] | None


def decode_warp(
    lines: list[str], binary_version: int, *, leading_fields: int = 0, shared_base: int = 0, local_base: int = 0
) -> list[PlainInstruction]:
    """The instruction lines of one warp; the markers of replay regions are none."""
    return [
        _decode_line(line.split()[leading_fields:], binary_version, shared_base, local_base)
        for line in lines
        if " REPLAY_" not in line
    ]


def _decode_line(words: list[str], binary_version: int, shared_base: int, local_base: int) -> PlainInstruction:
    mask = int(words[1], 16)
    lanes = [lane for lane in range(32) if mask >> lane & 1]
    destinations = int(words[2])
    opcode = words[3 + destinations]
    sources = int(words[4 + destinations])
    rest = words[5 + destinations + sources :]
    info = classify(opcode, binary_version)
    if info.kind == p.KIND_GMMA:
        numbers = [word for word in rest if word.lstrip("-").isdigit()]
        return PlainInstruction(opcode, info.space, int(rest[0]) if len(numbers) >= 4 else 0)
    if info.kind in (p.KIND_DEPBAR, p.KIND_GMMA_WAIT):
        return PlainInstruction(opcode, info.space, int(rest[1]) if len(rest) > 1 else 0)
    if info.space == p.SPACE_NONE or info.kind in (p.KIND_TMA_LOAD, p.KIND_TMA_STORE):
        return PlainInstruction(opcode, info.space, None)
    if not lanes or rest[0] == "0":
        return PlainInstruction(opcode, p.SPACE_GLOBAL if info.space == p.SPACE_GENERIC else info.space, None)
    addresses = _addresses(rest[1:], len(lanes))
    space = _resolved(addresses[0], shared_base, local_base) if info.space == p.SPACE_GENERIC else info.space
    if space == p.SPACE_SHARED:
        return PlainInstruction(opcode, space, conflict_degree(addresses))
    if space == p.SPACE_LOCAL:
        return PlainInstruction(opcode, space, local_sectors(addresses, lanes, info.width_bytes))
    if info.kind == p.KIND_ATOMIC:
        return PlainInstruction(opcode, space, transactions(addresses, info.width_bytes))
    return PlainInstruction(opcode, space, coalesced(addresses, info.width_bytes))


def _addresses(words: list[str], lanes: int) -> list[int]:
    mode, *values = words
    if mode == "0":
        return [int(value, 16) for value in values[:lanes]]
    base = int(values[0], 16)
    if mode == "1":
        return [(base + int(values[1]) * i) % 2**64 for i in range(lanes)]
    addresses = [base]
    for delta in values[1:lanes]:
        addresses.append((addresses[-1] + int(delta)) % 2**64)
    return addresses


def _resolved(address: int, shared_base: int, local_base: int) -> int:
    if not shared_base or not local_base or shared_base <= address < local_base:
        return p.SPACE_SHARED
    return p.SPACE_LOCAL if local_base <= address < local_base + LOCAL_BYTES else p.SPACE_GLOBAL


def conflict_degree(addresses: list[int]) -> int:
    """The bank that has to serve the most different words decides."""
    banks: dict[int, set[int]] = {}
    for address in addresses:
        banks.setdefault(address // 4 % 32, set()).add(address // 4)
    return max(len(words) for words in banks.values())


def coalesced(addresses: list[int], width: int) -> Sectors:
    """Byte by byte."""
    masks: dict[int, int] = {}
    for address in addresses:
        for byte in range(address, address + width):
            sector = byte % 2**64 // 32 * 32
            masks[sector] = masks.get(sector, 0) | 1 << byte % 32
    return tuple(sorted(((_signed(sector), mask) for sector, mask in masks.items()), key=_descending))


def local_sectors(addresses: list[int], lanes: list[int], width: int) -> Sectors:
    """Each 4-byte word of the 32 lanes is 128 contiguous bytes, keyed by the word's number."""
    masks: dict[int, int] = {}
    for address, lane in zip(addresses, lanes, strict=True):
        first = address % 4 if width < 4 else 0
        for chunk in range(max(1, width // 4)):
            word = address % (1 << 56) // 4 + chunk
            for byte in range(4 * lane + first, 4 * lane + min(4, first + width)):
                sector = word * 128 + byte // 32 * 32
                masks[sector] = masks.get(sector, 0) | 1 << byte % 32
    return tuple(sorted(masks.items(), reverse=True))


def transactions(addresses: list[int], width: int) -> Sectors:
    """First fit of the lanes into transactions per sector; the last made is served first."""
    made: dict[int, list[set[int]]] = {}
    for address in addresses:
        sector = address // 32 * 32
        wanted = {byte for byte in range(address, address + width) if byte < sector + 32}
        own = made.setdefault(sector, [])
        free = next((taken for taken in own if not taken & wanted), None)
        if free is None:
            own.append(set(wanted))
        else:
            free |= wanted
    return tuple(
        (_signed(sector), sum(1 << byte % 32 for byte in taken))
        for sector in sorted(made, reverse=True)
        for taken in reversed(made[sector])
    )


def _signed(address: int) -> int:
    return address - 2**64 if address >= 2**63 else address


def _descending(item: tuple[int, int]) -> int:
    return -(item[0] % 2**64)


def described(
    chunk: CtaChunk, cta: int, warp: int, warps_per_cta: int, statics: object, opcodes: list[str]
) -> Iterator[PlainInstruction]:
    """One warp of a compiled chunk in the twin's words."""
    at = cta * warps_per_cta + warp
    start = int(chunk.warp_start[at])
    for i in range(start, start + int(chunk.warp_length[at])):
        static_id, operand = int(chunk.static_ids[i]), int(chunk.operands[i])
        record = statics[static_id]  # type: ignore[index]
        yield PlainInstruction(opcodes[static_id], int(record["space"]), _operand(chunk, record, operand))


def _operand(chunk: CtaChunk, record: object, operand: int) -> int | Sectors | None:
    kind, space = int(record["kind"]), int(record["space"])  # type: ignore[index]
    if kind in (p.KIND_GMMA, p.KIND_DEPBAR, p.KIND_GMMA_WAIT):
        return operand
    if space == p.SPACE_NONE or kind in (p.KIND_TMA_LOAD, p.KIND_TMA_STORE) or operand < 0:
        return None
    if space == p.SPACE_SHARED:
        return operand
    count = int(chunk.sector_addresses[operand])
    return tuple(
        (int(chunk.sector_addresses[j]), int(chunk.sector_masks[j])) for j in range(operand + 1, operand + 1 + count)
    )
