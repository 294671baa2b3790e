"""The stats block that is being read: its lines so far, and the section that gives a line's names their context."""

import re
from collections import defaultdict
from dataclasses import asdict, dataclass, field
from typing import Any

from sims.statlog.lines import MAX_NUMBER_BYTES, Pairs, field_names, field_pairs, parse_stat_line, table_pairs

KEY_BYTES = 7
MAX_STATS = 100_000
"""More names than any simulator has: a block that passes this is closed."""
MAX_TEXT = 200
MAX_CACHED_LINES = 2048
MAX_CACHED_NAMES = 8192

_PLAIN_NUMBER = re.compile(rb"\s*-?\d+(?:\.\d+)?\s*$")
_DRAM = re.compile(rb"DRAM\[(\d+)\]: ")
_CORE = re.compile(rb"core (\d+):\s*$")
_TABLE_HEADING = re.compile(rb"((?:maximum|average|number|total) [^=\d]*):\s*$")
_TABLE_ROW = re.compile(rb"dram\[(\d+)\]:(.*)")
_SECTION_ENDS = (b"=", b"Memory Partition", b"Cache L2", b"icnt_")
_OWN_CYCLES = re.compile(rb"last_uid=(\d{1,18}),.*sim cycle for this kernel is (\d{1,18})\b")
_LAST_SECTION = b"----------------------------END-of-Interconnect"
_HEADER = (
    b"kernel_launch_uid",
    b"kernel_stream_id",
    b"cascade_same_as",
    b"cascade_limiter",
    b"cascade_occupancy_limiter",
    b"gpgpu_sim::update_stats",
    b"GLOBAL_TIMER",
    _LAST_SECTION,
)
_FOREIGN = frozenset((b"launchi", b"Process", b"thread ", b"GPGPU-S", b"Accel-S", b"Destroy"))
"""How lines begin that no stats block has: what was open before them is finished."""
LAST_LINE = b"gpgpu_silicon_slowdown"


class SectionCache:
    """What was read in one section before: most of its lines, and nearly all names, come again in the next block."""

    def __init__(self) -> None:
        self.lines: dict[bytes, Pairs] = {}
        self.names: dict[bytes, str] = {}
        """Full names by the left side of plain ``name = number`` lines."""
        self.fields: dict[bytes, tuple[str, ...]] = {}
        """Full names of lines with several fields, by what stands before the first equals sign."""

    def pairs(self, line: bytes, section: str) -> Pairs:
        """The statistics of a line with figures this section has not had, perhaps in a form that it has."""
        left, _, right = line.partition(b"=")
        if b"=" not in right:
            return parse_stat_line(line, section)
        names = self.fields.get(left)
        if names is not None and (pairs := field_pairs(names, line)) is not None:
            return pairs
        names = field_names(line, section)
        if len(names) > 1:
            self.fields[left] = names
        return parse_stat_line(line, section)

    def remember(self, line: bytes, pairs: Pairs) -> None:
        """Keep a line's statistics; what is kept is dropped when it has become too much."""
        if len(self.lines) >= MAX_CACHED_LINES:
            self.lines.clear()
        if len(self.names) + len(self.fields) >= MAX_CACHED_NAMES:
            self.names.clear()
            self.fields.clear()
        left, _, right = line.partition(b" = ")
        if len(pairs) == 1 and _PLAIN_NUMBER.match(right):
            self.names[left] = next(iter(pairs))
        else:
            self.lines[line] = pairs


class LineCaches(defaultdict[str, SectionCache]):
    """A cache per section, made at first use."""

    def __init__(self) -> None:
        super().__init__(SectionCache)


@dataclass
class OpenBlock:
    """Lines are handed in by :meth:`read` until it says ``ended``."""

    index: int
    line: int
    names: list[str] | None
    uids: list[int] = field(default_factory=list)
    stream: str = ""
    """As printed: it may be garbage."""
    same_as: int | None = None
    cycles_by_uid: dict[int, int] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    values: Pairs = field(default_factory=dict)
    section: str = ""
    """A prefix of names (``DRAM[3].``), a table's heading, or nothing."""
    ended: bool = False
    saw_last_section: bool = False

    def read(self, lines: list[bytes], position: int, caches: LineCaches) -> int:
        """Read lines from ``position`` until the block ends; the position of the first line that is not its own."""
        values = self.values
        cache = caches[self.section]
        for number in range(position, len(lines)):
            line = lines[number]
            left, _, right = line.partition(b" = ")
            # Half of all lines are "name = number" with a name this section had before: no need to parse them.
            name = cache.names.get(left)
            if name is not None and len(right) < MAX_NUMBER_BYTES:
                try:
                    values[name] = float(right) if b"." in right else int(right)
                    continue
                except ValueError:
                    pass  # a unit behind the number, or no number
            pairs = cache.lines.get(line)
            if pairs is None:
                if self._is_foreign(line):
                    self.ended = True
                    return number
                pairs = self._read_new(line, caches)
                cache = caches[self.section]
                if line.startswith(LAST_LINE):
                    values.update(pairs)
                    self.ended = True
                    return number + 1
            if pairs:
                values.update(pairs)
        self.ended = len(values) > MAX_STATS
        return len(lines)

    @property
    def is_whole(self) -> bool:
        """Whether a log that ends here can lack nothing of the block but host times."""
        if self.names is None or self.saw_last_section:
            return True
        return any(name.startswith(("gpgpu_simulation_rate", "gpu_tot_avg_power")) for name in self.values)

    def _is_foreign(self, line: bytes) -> bool:
        if line[:KEY_BYTES] in _FOREIGN or line.startswith((b"kernel_name", b"cascade: ")):
            return True
        return is_cycles(line) and "gpu_sim_cycle" in self.values

    def _read_new(self, line: bytes, caches: LineCaches) -> Pairs:
        """A line that this section has not had yet: its statistics, remembered unless the line has other effects."""
        if line.startswith(_HEADER):
            self._read_header(line)
            return {}
        # Only headings end in a colon; DRAM[...] has its figures behind it.
        if (line.startswith(b"DRAM[") or line.rstrip().endswith(b":")) and self._enters_section(line):
            return {}
        pairs = self._parse(line, caches)
        # A second count of cycles begins a new block: it may not pass by unseen.
        if not line.startswith(b"gpu_sim_cycle"):
            caches[self.section].remember(line, pairs)
        return pairs

    def _enters_section(self, line: bytes) -> bool:
        if match := _DRAM.match(line):
            self.section = f"DRAM[{match[1].decode()}]."
        elif match := _CORE.match(line):
            self.section = f"core[{match[1].decode()}]."
        elif match := _TABLE_HEADING.match(line):
            self.section = match[1].decode("utf-8", "replace")[:100]
        elif line.startswith(b"distro:"):
            self.section = "warp_issue_distribution"
        else:
            return False
        return True

    def _parse(self, line: bytes, caches: LineCaches) -> Pairs:
        """The line's statistics under their section's name; leaves a section that the line does not belong to."""
        section = self.section
        if section.endswith("."):
            if not line.startswith(_SECTION_ENDS):
                return caches[section].pairs(line, section)
            self.section = ""
        elif section:
            if row := _TABLE_ROW.match(line):
                return table_pairs(f"{section}[{row[1].decode()}]", row[2])
            if section == "warp_issue_distribution" and line[:1].isdigit():
                return table_pairs(section, line)
            self.section = ""
        return caches[""].pairs(line, "")

    def _read_header(self, line: bytes) -> None:
        key, _, value = line.partition(b"=")
        if key.startswith(b"kernel_launch_uid"):
            self.uids = [int(token) for token in value.split()[:4096] if token.isdigit() and len(token) < 19]
        elif key.startswith(b"kernel_stream_id"):
            self.stream = value.strip().decode("ascii", "replace")[:40]
        elif key.startswith(b"cascade_same_as"):
            number = value.strip()
            self.same_as = int(number) if number.isdigit() and len(number) < 19 else None
        elif key.startswith(b"cascade_"):
            self.texts[key.strip().decode()] = value.strip().decode("utf-8", "replace")[:MAX_TEXT]
        elif key.startswith(_LAST_SECTION):
            self.saw_last_section = True
        elif match := _OWN_CYCLES.search(line):
            self.cycles_by_uid[int(match[1])] = int(match[2])

    def to_plain(self) -> dict[str, Any]:
        """As JSON data."""
        return asdict(self)

    @classmethod
    def from_plain(cls, data: dict[str, Any]) -> "OpenBlock":
        """From :meth:`to_plain`."""
        block = cls(**data)
        block.cycles_by_uid = {int(uid): cycles for uid, cycles in block.cycles_by_uid.items()}
        return block


def is_cycles(line: bytes) -> bool:
    """Whether the line is ``gpu_sim_cycle = N``; forks have longer names that begin alike."""
    return line.startswith(b"gpu_sim_cycle") and line[13:].lstrip()[:1] == b"="
