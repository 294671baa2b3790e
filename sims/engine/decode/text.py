"""A kernel's trace text as a :class:`sims.engine.program.Program`: whole CTAs, read as the engine asks for them."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sims.engine.decode import layout as lay
from sims.engine.decode.scan import scan
from sims.engine.decode.sentences import sentence
from sims.engine.decode.statics import InstructionText, LineError, StaticTable, grown, parse_instruction
from sims.engine.pointers import Pointer, bundle
from sims.engine.program import CtaChunk, KernelShape
from traces.accelsim.errors import TraceError

BLOCK_BYTES = 1 << 18
CHUNK_INSTRUCTIONS = 1 << 17
MAX_LINE_BYTES = 1 << 22
"""No instruction line comes near this; a file without newlines must not fill the memory."""
_PADDING = b"\n" * 16
"""Readers look a few bytes ahead and compare whole words."""


class TextProgram:
    """Decodes the body of one kernel file. ``blocks`` are its bytes from the first line after the header on.

    ``table``: of earlier kernels with the same binary version, to go on with.
    ``missing_ctas_allowed``: a ``.tracez`` leaves out CTAs that executed nothing (``shape`` is corrected at the end); in a
    text they mean a cut file.
    """

    def __init__(
        self,
        shape: KernelShape,
        blocks: Iterable[bytes],
        *,
        file: str,
        first_line: int = 1,
        leading_fields: int = 0,
        shared_base: int = 0,
        local_base: int = 0,
        missing_ctas_allowed: bool = False,
        table: StaticTable | None = None,
        chunk_instructions: int = CHUNK_INSTRUCTIONS,
    ) -> None:
        self.shape = shape
        self._file = file
        self._blocks = iter(blocks)
        self._missing_ctas_allowed = missing_ctas_allowed
        self._table = StaticTable(shape.binary_version) if table is None else table
        self._counts = np.zeros(len(self._table.records), lay.COUNT_DTYPE)
        states = np.zeros(1, lay.STATE_DTYPE)
        self._state = states[0]
        self._state["line"] = first_line
        self._state["previous"] = -1
        self._state["warps_per_cta"] = shape.warps_per_cta
        lanes = shape.threads_per_cta - 32 * (shape.warps_per_cta - 1)
        self._state["last_warp_lanes"] = (1 << lanes) - 1
        self._state["leading_fields"] = leading_fields
        self._state["shared_base"], self._state["local_base"] = shared_base, local_base
        self._state["chunk_instructions"] = chunk_instructions
        self._state["ctas_wanted"] = shape.ctas
        self._data = bytearray()
        """Text before the state's ``end`` and padding, where the scanner reads it."""
        self._delivered = 0
        self._cut_line = False
        self._partial = b""
        self._chunk = _ChunkInTheMaking(chunk_instructions, self._state)
        self._arrays = lay.Arrays(
            buffer=np.zeros(0, np.uint8),
            **self._table.arrays(),
            counts=self._counts,
            **self._chunk.arrays,
            state=states,
            scratch=np.zeros(1, lay.SCRATCH_DTYPE),
        )
        self._pointer: Pointer | None = None
        """To the arrays, once they are there to be scanned."""

    @property
    def statics(self) -> NDArray[np.void]:
        """Static records known so far."""
        return self._table.records[: len(self._table)]

    @property
    def opcodes(self) -> list[str]:
        """Full opcode of each static record."""
        return self._table.opcodes

    @property
    def counts(self) -> NDArray[np.int64]:
        """Per static record, over everything decoded so far: warp instructions, and the lanes active in them."""
        return self._counts[: len(self._table)].view(np.int64).reshape(-1, 2)

    @property
    def unknown_opcodes(self) -> dict[str, int]:
        """Warp instructions by mnemonic that the instruction set does not know; they were timed by their family."""
        return self._table.unknown_opcodes(self.counts)

    def chunks(self) -> Iterator[CtaChunk]:
        """Whole CTAs in file order; raises :class:`TraceError` where the text is cut or wrong."""
        while self._delivered < self.shape.ctas:
            status = self._scan()
            if status == lay.STATUS_CHUNK:
                yield self._take_chunk()
            elif status == lay.STATUS_NEW_TEXT:
                self._learn_text()
            elif status == lay.STATUS_FULL:
                self._chunk.grow()
                self._use(**self._chunk.arrays)
            elif status == lay.STATUS_NEED_DATA:
                if not self._read_block():
                    break
            else:
                raise self._error(status)
        if self._state["ctas"]:
            yield self._take_chunk()
        self._check_end()

    def _scan(self) -> int:
        if not self._data:
            return lay.STATUS_NEED_DATA
        if self._pointer is None:
            self._pointer = bundle(self._arrays)
        return int(scan(self._pointer))

    def _use(self, **arrays: NDArray[Any]) -> None:
        """Give the scanner these arrays. A new text rarely needs new ones, and a call of the scanner may be short."""
        if any(getattr(self._arrays, name) is not array for name, array in arrays.items()):
            self._arrays = self._arrays._replace(**arrays)
            self._pointer = None

    def _read_block(self) -> bool:
        """Replace the data, all read, by the next whole lines; False at the end of the text."""
        parts = [self._partial]
        size = len(self._partial)
        for block in self._blocks:
            parts.append(block)
            size += len(block)
            if b"\n" in block:
                break
            if size > MAX_LINE_BYTES:
                raise self._trace_error(f"this line is longer than {MAX_LINE_BYTES} bytes; it is not a trace line")
        self._make_room(size + len(_PADDING))
        filled = 0
        with memoryview(self._data) as room:
            for part in parts:
                room[filled : filled + len(part)] = part
                filled += len(part)
        cut = self._data.rfind(b"\n", 0, filled) + 1
        if not cut:
            # The text ends without a newline: harmless after the last CTA, told as a cut line inside one.
            self._cut_line = filled > 0
            cut = filled
        self._partial = bytes(self._data[cut:filled])
        self._data[cut : cut + len(_PADDING)] = _PADDING
        self._state["position"] = 0
        self._state["end"] = cut + (1 if self._cut_line else 0)
        return bool(self._state["end"] > 0)

    def _make_room(self, size: int) -> None:
        """A new place is a new array for the scanner, so there is one for all blocks."""
        if size > len(self._data):
            self._data = bytearray(size + size // 8)
            self._use(buffer=np.frombuffer(self._data, np.uint8))

    def _learn_text(self) -> None:
        """The scanner stands at a line whose text it does not know: parse it in Python, once."""
        start = int(self._state["position"])
        try:
            self._table.add(self._instruction_at(start))
        except LineError as error:
            if self._at_cut_line(start):
                raise self._trace_error(sentence(lay.STATUS_NEED_DATA, self._state)) from None
            line = self._data[start : self._line_end(start)][:120].decode("latin-1").strip()
            raise self._trace_error(f"{error}: '{line}'") from None
        self._learn_following(start)
        self._counts = grown(self._counts, len(self._table))
        self._use(**self._table.arrays(), counts=self._counts)

    def _learn_following(self, start: int) -> None:
        """After a new text mostly come more: learn the warp's next ones too, up to the first that is known.

        A line that cannot be read is left to the scanner, which tells of it in its turn.
        """
        for _ in range(int(self._state["left"]) - 1):
            start = self._line_end(start) + 1
            if start >= self._state["end"]:
                return
            try:
                instruction = self._instruction_at(start)
                if self._table.knows(instruction):
                    return
                self._table.add(instruction)
            except LineError:
                return

    def _instruction_at(self, start: int) -> InstructionText:
        """The line that begins there. Raises ``LineError``."""
        line = bytes(self._data[start : self._line_end(start)])
        return parse_instruction(line, int(self._state["leading_fields"]))

    def _take_chunk(self) -> CtaChunk:
        chunk = self._chunk.take(self._delivered)
        self._delivered += chunk.ctas
        self._state["ctas_wanted"] = self.shape.ctas - self._delivered
        return chunk

    def _check_end(self) -> None:
        state = self._state
        if self._delivered >= self.shape.ctas:
            return
        if state["phase"] != lay.PHASE_BETWEEN:
            raise self._trace_error(sentence(lay.STATUS_NEED_DATA, state))
        if not self._missing_ctas_allowed or not self._delivered:
            raise self._trace_error(
                f"the file ends after {self._delivered} of the grid's {self.shape.ctas} thread blocks; "
                "trace the kernel again or correct its '-grid dim' line"
            )
        self.shape = replace(self.shape, grid=(self._delivered, 1, 1))

    def _line_end(self, start: int) -> int:
        return self._data.index(b"\n", start)

    def _at_cut_line(self, start: int) -> bool:
        return self._cut_line and bool(self._line_end(start) >= self._state["end"] - 1)

    def _error(self, status: int) -> TraceError:
        if self._at_cut_line(int(self._state["position"])):
            status = lay.STATUS_NEED_DATA
        return self._trace_error(sentence(status, self._state))

    def _trace_error(self, message: str) -> TraceError:
        return TraceError(message, file=self._file, line=int(self._state["line"]))


class _ChunkInTheMaking:
    """The arrays that the scanner fills; a chunk takes copies of their used parts. The state says how much of them is used."""

    def __init__(self, instructions: int, state: np.void) -> None:
        self._state = state
        ctas = max(64, 2048 // int(state["warps_per_cta"]))
        warps = ctas * int(state["warps_per_cta"])
        sectors = instructions + 2 * lay.SECTOR_ROOM
        self.arrays: dict[str, NDArray[Any]] = {
            "warp_start": np.empty(warps, np.int64),
            "warp_length": np.empty(warps, np.int32),
            "static_ids": np.empty(instructions + 4096, np.uint16),
            "operands": np.empty(instructions + 4096, np.int32),
            "sector_addresses": np.empty(sectors, np.int64),
            "sector_masks": np.empty(sectors, np.uint32),
            "cluster_ids": np.empty(ctas, np.int64),
            "cluster_ranks": np.empty(ctas, np.int64),
        }
        """As chunks have them."""
        self._measure()

    def _measure(self) -> None:
        self._state["warp_room"] = len(self.arrays["warp_start"])
        self._state["instruction_room"] = len(self.arrays["static_ids"])
        self._state["sector_room"] = len(self.arrays["sector_addresses"])

    def grow(self) -> None:
        """Double whatever is nearly full."""
        state = self._state
        if (state["ctas"] + 1) * state["warps_per_cta"] > state["warp_room"]:
            self._double("warp_start", "warp_length", "cluster_ids", "cluster_ranks")
        if state["instructions"] >= state["instruction_room"]:
            self._double("static_ids", "operands")
        needed = int(state["sectors_needed"])
        if state["sectors"] + lay.SECTOR_ROOM + needed >= state["sector_room"]:
            self._double("sector_addresses", "sector_masks", more=needed)
        state["sectors_needed"] = 0
        self._measure()

    def _double(self, *names: str, more: int = 0) -> None:
        for name in names:
            self.arrays[name] = grown(self.arrays[name], 2 * len(self.arrays[name]) + more)

    def take(self, first_cta: int) -> CtaChunk:
        """Copy out the whole CTAs read so far and start again."""
        state = self._state
        ctas, instructions, sectors = int(state["ctas"]), int(state["instructions"]), int(state["sectors"])
        used = {
            "warp_start": ctas * int(state["warps_per_cta"]),
            "warp_length": ctas * int(state["warps_per_cta"]),
            "static_ids": instructions,
            "operands": instructions,
            "sector_addresses": sectors,
            "sector_masks": sectors,
            "cluster_ids": ctas,
            "cluster_ranks": ctas,
        }
        state["ctas"] = state["instructions"] = state["sectors"] = 0
        copies = {name: self.arrays[name][:length].copy() for name, length in used.items()}
        return CtaChunk(first_cta=first_cta, ctas=ctas, **copies)
