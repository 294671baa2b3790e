"""Instruction texts and their static records: what the scanner asks for when it meets a text it does not know."""

import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sims.engine import program as p
from sims.engine.decode import layout as lay
from sims.engine.decode import mbarriers
from sims.engine.decode.patterns import PATTERN_DTYPE
from sims.engine.isa import Group, OpcodeClass, classify

MAX_STATICS = 1 << 16
KEPT_LINES = 1 << 13
"""Lines whose meaning is kept: a step's kernels are the same few, over and over, and each is decoded anew."""
KEPT_LINE_BYTES = 2048
"""32 addresses take 700. What is longer must not fill the memory."""
_REGISTER = re.compile(r"(UR|R|UP|P)(\d{1,3})")
_MARKS = ("Val", "NoVal")


class LineError(ValueError):
    """An instruction line that cannot be read; the program adds file and line."""


@dataclass(frozen=True, slots=True)
class InstructionText:
    """The constant part of an instruction line."""

    pc: int
    mask: int
    destinations: tuple[str, ...]
    opcode: str
    sources: tuple[str, ...]
    closes_gmma_group: bool
    line: bytes
    """From the first field to the width field, blanks included."""
    text: bytes
    """Its part from the destination count on: what a later line must repeat to be the same instruction."""


def parse_instruction(line: bytes, leading_fields: int) -> InstructionText:
    """Read the constant part of one line; raises :class:`LineError` with a sentence about what is wrong."""
    return (_parsed if len(line) <= KEPT_LINE_BYTES else _parsed.__wrapped__)(line, leading_fields)


@lru_cache(maxsize=KEPT_LINES)
def _parsed(line: bytes, leading_fields: int) -> InstructionText:
    fields = [(match.start(), match.group().decode("latin-1")) for match in re.finditer(rb"\S+", line)]
    words = [word for _, word in fields]
    at = leading_fields
    pc = _number(words, at, 16, "PC")
    mask = _number(words, at + 1, 16, "lane mask")
    destinations, after = _registers(words, at + 2, 1, "destination")
    if after >= len(words):
        raise LineError("the line ends before the opcode")
    opcode = words[after]
    sources, width_at = _registers(words, after + 1, p.MAX_SOURCES, "source")
    closes = False
    if "GMMA" in opcode and _has_gmma_flag(words[width_at:]):
        closes = words[width_at] == "1"
        width_at += 1
    if width_at >= len(words):
        raise LineError("the line ends before the memory width")
    end = fields[width_at][0]
    return InstructionText(
        pc, mask, destinations, opcode, sources, closes, line[fields[0][0] : end], line[fields[at + 2][0] : end]
    )


def _number(words: list[str], at: int, base: int, what: str) -> int:
    if at >= len(words):
        raise LineError(f"the line ends before the {what}")
    try:
        return int(words[at], base)
    except ValueError:
        raise LineError(f"the {what} '{words[at][:40]}' is not a number") from None


def _registers(words: list[str], at: int, most: int, what: str) -> tuple[tuple[str, ...], int]:
    """The counted register list at ``at`` and the index after it."""
    count = _number(words, at, 10, f"number of {what} registers")
    if not 0 <= count <= most:
        raise LineError(f"{count} {what} registers; an instruction has at most {most}")
    names = tuple(words[at + 1 : at + 1 + count])
    if len(names) < count:
        raise LineError(f"the line ends inside its {what} registers")
    for name in names:
        match = _REGISTER.fullmatch(name)
        if match is None or int(match.group(2)) > 255:
            raise LineError(f"'{name[:40]}' is not a register (R0 to R255, UR, P or UP)")
    return names, at + 1 + count


def _has_gmma_flag(rest: list[str]) -> bool:
    """Old tracers write no flag: with it four numbers follow the sources (flag, width, two immediates), else fewer."""
    numbers = 0
    for word in rest:
        if word in _MARKS:
            return numbers >= 4 and rest[0] in ("0", "1")
        numbers += 1
    return numbers >= 4 and rest[0] in ("0", "1")


class StaticTable:
    """Static records by text and the scanner's entries by PC. Both only grow.

    One table can serve the kernels of a trace one after another: what they have in common is then parsed once.
    """

    def __init__(self, binary_version: int) -> None:
        self.binary_version = binary_version
        self.records = np.zeros(256, p.STATIC_DTYPE)
        self.opcodes: list[str] = []
        self.unknown_ids: dict[int, str] = {}
        """Static ids of opcodes that no table knows, and their mnemonics."""
        self.entries = np.zeros(256, lay.ENTRY_DTYPE)
        self.entry_count = 0
        self.slots = np.full(lay.PC_SLOTS, -1, np.int32)
        self.text = np.zeros(1 << 14, np.uint8)
        self.text_used = 0
        # Room for most kernels: whenever an array grows, the scanner needs a new bundle of pointers.
        self.patterns = np.zeros(64, PATTERN_DTYPE)
        self.pattern_count = 0
        self._ids: dict[bytes, tuple[int, int]] = {}
        self._known: set[tuple[int, bytes]] = set()

    def __len__(self) -> int:
        return len(self.opcodes)

    def knows(self, instruction: InstructionText) -> bool:
        """Whether the text was added at its PC."""
        return (instruction.pc, instruction.text) in self._known

    def add(self, instruction: InstructionText) -> None:
        """Make the text known at its PC. Raises :class:`LineError` beyond 65,535 texts."""
        info = classify(instruction.opcode, self.binary_version)
        if instruction.text not in self._ids:
            self._ids[instruction.text] = self._add_records(instruction, info)
        static_id, action = self._ids[instruction.text]
        line_start = self._add_text(instruction.line)
        slot = (instruction.pc >> 3) & (lay.PC_SLOTS - 1)
        self.entries = grown(self.entries, self.entry_count + 1)
        self.entries[self.entry_count] = (
            instruction.pc,
            line_start,
            len(instruction.line),
            line_start + len(instruction.line) - len(instruction.text),
            len(instruction.text),
            instruction.mask & 0xFFFFFFFF,
            -1,
            self.slots[slot],
            static_id,
            action,
            info.width_bytes,
            _fixed_operand(instruction, info),
            len(instruction.destinations),
            self._add_pattern(action),
        )
        # New entries go to the front of their chain: execution that has just reached a function stays in it.
        self.slots[slot] = self.entry_count
        self.entry_count += 1
        self._known.add((instruction.pc, instruction.text))

    def _add_records(self, instruction: InstructionText, info: OpcodeClass) -> tuple[int, int]:
        """One record, or the three forms (global, shared, local) of a generic access; returns first id and action."""
        action = operand_action(info)
        generic = action == lay.OPERAND_GENERIC
        spaces = (p.SPACE_GLOBAL, p.SPACE_SHARED, p.SPACE_LOCAL) if generic else (info.space,)
        first = len(self.opcodes)
        if first + len(spaces) >= MAX_STATICS:
            raise LineError(
                f"more than {MAX_STATICS - 1} different instructions in one kernel; the decoder has no room"
            )
        self.records = grown(self.records, first + len(spaces))
        for space in spaces:
            self.records[len(self.opcodes)] = static_record(instruction, info, space)
            if not info.known:
                self.unknown_ids[len(self.opcodes)] = instruction.opcode.split(".")[0]
            self.opcodes.append(instruction.opcode)
        return first, action

    def _add_pattern(self, action: int) -> int:
        if not lay.OPERAND_GLOBAL <= action <= lay.OPERAND_ATOMIC:
            return -1
        self.patterns = grown(self.patterns, self.pattern_count + 1)
        self.pattern_count += 1
        return self.pattern_count - 1

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What the scanner knows, by its fields."""
        return {"slots": self.slots, "entries": self.entries, "text": self.text, "patterns": self.patterns}

    def _add_text(self, text: bytes) -> int:
        start = self.text_used
        self.text = grown(self.text, start + len(text) + 8)  # the scanner compares whole words
        self.text[start : start + len(text)] = np.frombuffer(text, np.uint8)
        self.text_used += len(text)
        return start

    def unknown_opcodes(self, counts: NDArray[np.int64]) -> dict[str, int]:
        """Warp instructions of mnemonics that no table knows, from the counts per static."""
        found: Counter[str] = Counter()
        for static_id, mnemonic in self.unknown_ids.items():
            if counts[static_id, 0]:
                found[mnemonic] += int(counts[static_id, 0])
        return dict(found)


class TableShelf:
    """Tables of earlier kernels by binary version. A table that has grown large is given up for a new one."""

    MAX_TEXTS = MAX_STATICS // 2
    """One kernel may need many texts, and a table ends at 65,535."""

    def __init__(self) -> None:
        self._tables: dict[int, StaticTable] = {}

    def table_for(self, binary_version: int) -> StaticTable:
        """The table to go on with."""
        table = self._tables.get(binary_version)
        if table is None or len(table) > self.MAX_TEXTS:
            table = self._tables[binary_version] = StaticTable(binary_version)
        return table


def operand_action(info: OpcodeClass) -> int:
    """What the scanner reads from the rest of a line of this class."""
    match info.kind:
        case p.KIND_TMA_LOAD | p.KIND_TMA_STORE:
            return lay.OPERAND_TMA
        case p.KIND_ATOMIC if info.space == p.SPACE_GLOBAL:
            return lay.OPERAND_ATOMIC
        case p.KIND_DEPBAR | p.KIND_GMMA_WAIT:
            return lay.OPERAND_IMMEDIATE
        case p.KIND_BARRIER | p.KIND_BARRIER_ARRIVE:
            return lay.OPERAND_BARRIER
        case p.KIND_GMMA:
            return lay.OPERAND_FIXED
        case p.KIND_REPLAY_START | p.KIND_REPLAY_END:
            return lay.OPERAND_MARKER
        case p.KIND_EXIT:
            return lay.OPERAND_EXIT
        case p.KIND_MBARRIER_INIT | p.KIND_MBARRIER_ARRIVE | p.KIND_MBARRIER_WAIT | p.KIND_MBARRIER_COPY:
            return lay.OPERAND_MBARRIER
    return {
        p.SPACE_GLOBAL: lay.OPERAND_GLOBAL,
        p.SPACE_SHARED: lay.OPERAND_SHARED,
        p.SPACE_LOCAL: lay.OPERAND_LOCAL,
        p.SPACE_GENERIC: lay.OPERAND_GENERIC,
    }.get(info.space, lay.OPERAND_NONE)


def static_record(instruction: InstructionText, info: OpcodeClass, space: int) -> tuple[object, ...]:
    """The record in the field order of ``STATIC_DTYPE``. Only vector registers take part in the scoreboard."""
    destination = next((int(name[1:]) for name in instruction.destinations if name.startswith("R")), -1)
    sources = [int(name[1:]) for name in instruction.sources if name.startswith("R")]
    distinct = list(dict.fromkeys(sources))
    return (
        info.unit,
        info.kind,
        destination,
        len(sources),
        len(distinct),
        _padded(sources),
        _padded(distinct),
        space,
        info.bypasses_l1 and space == p.SPACE_GLOBAL,
        info.half_rate,
        info.latency_cycles,
        info.initiation_cycles,
    )


def _padded(registers: list[int]) -> tuple[int, ...]:
    return tuple(registers + [0] * (p.MAX_SOURCES - len(registers)))


def _fixed_operand(instruction: InstructionText, info: OpcodeClass) -> int:
    if info.kind == p.KIND_GMMA:
        return int(instruction.closes_gmma_group)
    if info.group is Group.BARRIER:
        return int(info.kind == p.KIND_BARRIER_ARRIVE)
    if info.group is Group.REPLAY:
        return int(info.kind == p.KIND_REPLAY_START)
    if info.group in (Group.MBARRIER, Group.MBARRIER_COPY):
        return mbarrier_form(instruction.opcode)
    return 0


_ARRIVE_FORMS = {
    "ART0": mbarriers.MBARRIER_ARRIVE_MANY,
    "A1T0": mbarriers.MBARRIER_ARRIVE,
    "A0TR": mbarriers.MBARRIER_EXPECT,
    "A0TX": mbarriers.MBARRIER_COMPLETE,
    "A0T1": mbarriers.MBARRIER_EXPECT_ONE,
}


def mbarrier_form(opcode: str) -> int:
    """Which of the mbarrier operations an opcode is."""
    parts = opcode.split(".")
    if parts[0] == "ARRIVES":
        return mbarriers.MBARRIER_COPY_ARRIVE if "ARVCNT" in parts else mbarriers.MBARRIER_COPY_COMPLETE
    if "EXCH" in parts:
        return mbarriers.MBARRIER_INIT
    if "PHASECHK" in parts:
        return mbarriers.MBARRIER_WAIT if "TRYWAIT" in parts else mbarriers.MBARRIER_TEST
    if "ARRIVE" not in parts:
        return mbarriers.MBARRIER_TEST
    return next((form for name, form in _ARRIVE_FORMS.items() if name in parts), mbarriers.MBARRIER_ARRIVE_AND_EXPECT)


def grown(array: Any, needed: int) -> Any:
    """The array, or a copy of twice the length when ``needed`` rows do not fit."""
    if needed <= len(array):
        return array
    larger = np.zeros((max(needed, 2 * len(array)), *array.shape[1:]), array.dtype)
    larger[: len(array)] = array
    return larger
