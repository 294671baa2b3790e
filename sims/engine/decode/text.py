"""A kernel's trace text as a :class:`sims.engine.program.Program`: whole CTAs, read as the engine asks for them."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sims.engine.decode import layout as lay
from sims.engine.decode.operands import SCRATCH_DTYPE
from sims.engine.decode.scan import scan
from sims.engine.decode.sentences import sentence
from sims.engine.decode.statics import LineError, StaticTable, grown, parse_instruction
from sims.engine.program import CtaChunk, KernelShape
from traces.accelsim.errors import TraceError

BLOCK_BYTES = 1 << 20
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
        self._counts = np.zeros((len(self._table.records), 2), np.int64)
        self._state = np.zeros(lay.STATE_SIZE, np.int64)
        self._state[lay.LINE] = first_line
        self._state[lay.WARPS_PER_CTA] = shape.warps_per_cta
        lanes = shape.threads_per_cta - 32 * (shape.warps_per_cta - 1)
        self._state[lay.LAST_WARP_LANES] = (1 << lanes) - 1
        self._state[lay.LEADING_FIELDS] = leading_fields
        self._state[lay.SHARED_BASE], self._state[lay.LOCAL_BASE] = np.array([shared_base, local_base], np.uint64).view(
            np.int64
        )
        self._state[lay.CHUNK_INSTRUCTIONS] = chunk_instructions
        self._state[lay.CTAS_WANTED] = shape.ctas
        self._data = _PADDING
        self._buffer = np.frombuffer(self._data, np.uint8)
        self._end = 0
        self._delivered = 0
        self._cut_line = False
        self._partial = b""
        self._room = _Room(chunk_instructions, shape.warps_per_cta)
        self._scratch = np.zeros(1, SCRATCH_DTYPE)

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
        return self._counts[: len(self._table)]

    @property
    def unknown_opcodes(self) -> dict[str, int]:
        """Warp instructions by mnemonic that the instruction set does not know; they were timed by their family."""
        return self._table.unknown_opcodes(self._counts)

    def chunks(self) -> Iterator[CtaChunk]:
        """Whole CTAs in file order; raises :class:`TraceError` where the text is cut or wrong."""
        while self._delivered < self.shape.ctas:
            status = self._scan()
            if status == lay.STATUS_CHUNK:
                yield self._take_chunk()
            elif status == lay.STATUS_NEW_TEXT:
                self._learn_text()
            elif status == lay.STATUS_FULL:
                self._room.grow(self._state)
            elif status == lay.STATUS_NEED_DATA:
                if not self._read_block():
                    break
            else:
                raise self._error(status)
        if self._state[lay.CTAS]:
            yield self._take_chunk()
        self._check_end()

    def _scan(self) -> int:
        room = self._room
        table = self._table
        return int(
            scan(
                self._buffer,
                self._end,
                self._state,
                table.slots,
                table.entries,
                table.text,
                self._counts,
                table.patterns,
                self._scratch,
                room.warp_start,
                room.warp_length,
                room.static_ids,
                room.operands,
                room.addresses,
                room.masks,
                room.cluster_ids,
                room.cluster_ranks,
            )
        )

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
        data = b"".join(parts)
        cut = data.rfind(b"\n") + 1
        if not cut:
            # The text ends without a newline: harmless after the last CTA, told as a cut line inside one.
            self._cut_line = bool(data)
            cut = len(data)
        self._partial = data[cut:]
        self._data = data[:cut] + _PADDING
        self._buffer = np.frombuffer(self._data, np.uint8)
        self._end = cut + (1 if self._cut_line else 0)
        self._state[lay.POSITION] = 0
        return self._end > 0

    def _learn_text(self) -> None:
        """The scanner stands at a line whose text it does not know: parse it in Python, once."""
        start = int(self._state[lay.POSITION])
        line = self._data[start : self._line_end(start)]
        try:
            self._table.add(parse_instruction(line, int(self._state[lay.LEADING_FIELDS])))
        except LineError as error:
            if self._at_cut_line(start):
                raise self._trace_error(sentence(lay.STATUS_NEED_DATA, self._state)) from None
            raise self._trace_error(f"{error}: '{line[:120].decode('latin-1').strip()}'") from None
        self._counts = grown(self._counts, len(self._table))

    def _take_chunk(self) -> CtaChunk:
        chunk = self._room.take(self._state, self._delivered)
        self._delivered += chunk.ctas
        self._state[lay.CTAS_WANTED] = self.shape.ctas - self._delivered
        return chunk

    def _check_end(self) -> None:
        state = self._state
        if self._delivered >= self.shape.ctas:
            return
        if state[lay.PHASE] != lay.PHASE_BETWEEN:
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
        return self._cut_line and self._line_end(start) >= self._end - 1

    def _error(self, status: int) -> TraceError:
        if self._at_cut_line(int(self._state[lay.POSITION])):
            status = lay.STATUS_NEED_DATA
        return self._trace_error(sentence(status, self._state))

    def _trace_error(self, message: str) -> TraceError:
        return TraceError(message, file=self._file, line=int(self._state[lay.LINE]))


class _Room:
    """The arrays that the scanner fills; a chunk takes copies of their used parts."""

    def __init__(self, instructions: int, warps_per_cta: int) -> None:
        self._warps_per_cta = warps_per_cta
        ctas = max(64, 2048 // warps_per_cta)
        self.warp_start = np.zeros(ctas * warps_per_cta, np.int64)
        self.warp_length = np.zeros(ctas * warps_per_cta, np.int32)
        self.cluster_ids = np.zeros(ctas, np.int64)
        self.cluster_ranks = np.zeros(ctas, np.int64)
        self.static_ids = np.zeros(instructions + 4096, np.uint16)
        self.operands = np.zeros(len(self.static_ids), np.int32)
        self.addresses = np.zeros(instructions + 2 * lay.SECTOR_ROOM, np.int64)
        self.masks = np.zeros(len(self.addresses), np.uint32)

    def grow(self, state: NDArray[np.int64]) -> None:
        """Double whatever is nearly full."""
        if (state[lay.CTAS] + 1) * self._warps_per_cta > len(self.warp_start):
            self.warp_start = np.concatenate([self.warp_start, np.zeros_like(self.warp_start)])
            self.warp_length = np.concatenate([self.warp_length, np.zeros_like(self.warp_length)])
            self.cluster_ids = np.concatenate([self.cluster_ids, np.zeros_like(self.cluster_ids)])
            self.cluster_ranks = np.concatenate([self.cluster_ranks, np.zeros_like(self.cluster_ranks)])
        if state[lay.INSTRUCTIONS] >= len(self.static_ids):
            self.static_ids = np.concatenate([self.static_ids, np.zeros_like(self.static_ids)])
            self.operands = np.concatenate([self.operands, np.zeros_like(self.operands)])
        if state[lay.SECTORS] + lay.SECTOR_ROOM + max(0, state[lay.DETAIL]) >= len(self.addresses):
            larger = 2 * len(self.addresses) + int(state[lay.DETAIL])
            self.addresses = np.concatenate([self.addresses, np.zeros(larger - len(self.addresses), np.int64)])
            self.masks = np.concatenate([self.masks, np.zeros(larger - len(self.masks), np.uint32)])

    def take(self, state: NDArray[np.int64], first_cta: int) -> CtaChunk:
        """Copy out the whole CTAs read so far and start again."""
        ctas, instructions, sectors = (int(state[i]) for i in (lay.CTAS, lay.INSTRUCTIONS, lay.SECTORS))
        warps = ctas * self._warps_per_cta
        state[[lay.CTAS, lay.INSTRUCTIONS, lay.SECTORS]] = 0
        return CtaChunk(
            first_cta=first_cta,
            ctas=ctas,
            warp_start=self.warp_start[:warps].copy(),
            warp_length=self.warp_length[:warps].copy(),
            static_ids=self.static_ids[:instructions].copy(),
            operands=self.operands[:instructions].copy(),
            sector_addresses=self.addresses[:sectors].copy(),
            sector_masks=self.masks[:sectors].copy(),
            cluster_ids=self.cluster_ids[:ctas].copy(),
            cluster_ranks=self.cluster_ranks[:ctas].copy(),
        )
