"""The signature of a kernel's work: equal for launches that differ only in where their buffers lie.

Weights and caches of a model's layers are different buffers, but the layers do the same. So absolute addresses do not
enter; what does: every instruction and its operands in order, the shape of each memory access within the warp, how the
accesses of one instruction move from warp to warp, their place in a line, and which instructions touch near-by memory.
"""

import hashlib
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sims.engine import program as p
from sims.engine.jit import compiled
from sims.engine.program import CtaChunk, KernelShape

NEAR_BYTES = 1 << 16
"""First accesses of two instructions closer than this are taken to be into one buffer; their distance counts."""
LINE_MASK = 127
_NEVER = -1

HASHED_OPERAND, HASHED_SECTORS, HASHED_VALUES, HASHED_SECTORS_AND_VALUES = range(4)
VALUES = 3
"""Numbers behind a TMA's sectors, and of each mbarrier that an operation is on."""


@compiled
def mix(state: Any, value: Any) -> Any:
    """One step of a multiply-xor hash (64 bits)."""
    mixed = (state ^ np.uint64(value)) * np.uint64(0x9E3779B97F4A7C15)
    return mixed ^ (mixed >> np.uint64(29))


@compiled
def hash_chunk(
    state: Any,
    text_hash: Any,
    operand_form: Any,
    last_address: Any,
    static_ids: Any,
    operands: Any,
    addresses: Any,
    masks: Any,
) -> Any:
    """Go on from ``state`` over a chunk. ``last_address`` keeps each instruction's last first sector over chunks."""
    for i in range(len(static_ids)):
        static = static_ids[i]
        state = mix(state, text_hash[static])
        operand = operands[i]
        form = operand_form[static]
        if form == HASHED_OPERAND or operand < 0:
            state = mix(state, operand)
            continue
        at = np.int64(operand)
        if form != HASHED_VALUES:
            count = addresses[at]
            state = mix(state, count)
            if count > 0:
                first = addresses[at + 1]
                state = mix(state, movement(last_address, static, first))
                last_address[static] = first
                for j in range(at + 1, at + 1 + count):
                    state = mix(state, addresses[j] - first)
                    state = mix(state, masks[j])
            at += 1 + count
        if form != HASHED_SECTORS:
            triples: Any = masks[at]
            for j in range(at, at + VALUES * max(1, triples)):
                state = mix(state, addresses[j])
    return state


@compiled
def movement(last_address: Any, static: Any, first: Any) -> Any:
    """How far an instruction moved; at its first access its place in a line, or its distance to one near by."""
    if last_address[static] != _NEVER:
        return first - last_address[static]
    for other in range(len(last_address)):
        if last_address[other] != _NEVER and abs(first - last_address[other]) < NEAR_BYTES:
            return first - last_address[other]
    return first & LINE_MASK


class Digest:
    """Collects the signature of one kernel, chunk by chunk."""

    def __init__(self, shape: KernelShape) -> None:
        self._shape = (shape.name, shape.grid, shape.block, shape.shared_memory_bytes, shape.registers_per_thread)
        self._binary_version = shape.binary_version
        self._state = 0
        self._text_hash = np.zeros(0, np.uint64)
        self._form = np.zeros(0, np.int8)
        self._last_address = np.zeros(0, np.int64)
        self._known: dict[bytes, tuple[int, int]] = {}

    def add(self, chunk: CtaChunk, statics: NDArray[np.void], opcodes: list[str]) -> None:
        """The next chunk, with the program's static records as they are now."""
        self._extend(statics, opcodes)
        lengths = hashlib.blake2b(chunk.warp_length.tobytes(), digest_size=8)
        lengths.update(chunk.cluster_ids.tobytes() + chunk.cluster_ranks.tobytes())
        seed = np.uint64(self._state ^ int.from_bytes(lengths.digest(), "little"))
        self._state = hash_chunk(
            seed,
            self._text_hash,
            self._form,
            self._last_address,
            chunk.static_ids,
            chunk.operands,
            chunk.sector_addresses,
            chunk.sector_masks,
        )

    def signature(self) -> str:
        """The signature, once all chunks are in."""
        text = f"{self._shape}|{self._binary_version}|{self._state:016x}"
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()

    def _extend(self, statics: NDArray[np.void], opcodes: list[str]) -> None:
        known = len(self._text_hash)
        if len(statics) <= known:
            return
        added = [static_hash(statics[i].tobytes(), opcodes[i]) for i in range(known, len(statics))]
        self._text_hash = np.append(self._text_hash, np.array(added, np.uint64))
        self._form = np.append(self._form, operand_forms(statics[known:]))
        self._last_address = np.append(self._last_address, np.full(len(added), _NEVER, np.int64))


@lru_cache(maxsize=1 << 16)
def static_hash(record: bytes, opcode: str) -> int:
    """64 bits of a static record that do not depend on the order in which texts were met."""
    return int.from_bytes(hashlib.blake2b(record + opcode.encode(), digest_size=8).digest(), "little")


def operand_forms(statics: NDArray[np.void]) -> NDArray[np.int8]:
    """How the operand of each record is to be hashed."""
    kind, space = statics["kind"], statics["space"]
    forms = np.zeros(len(statics), np.int8)
    forms[(space == p.SPACE_GLOBAL) | (space == p.SPACE_LOCAL)] = HASHED_SECTORS
    forms[np.isin(kind, (p.KIND_TMA_LOAD, p.KIND_TMA_STORE))] = HASHED_SECTORS_AND_VALUES
    mbarriers = (p.KIND_MBARRIER_INIT, p.KIND_MBARRIER_ARRIVE, p.KIND_MBARRIER_WAIT, p.KIND_MBARRIER_COPY)
    forms[np.isin(kind, mbarriers)] = HASHED_VALUES
    return forms
