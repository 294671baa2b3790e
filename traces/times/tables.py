"""Tables with one row per launch: what is common to Nsight Systems' and nvprof's, in CSV as in JSON."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from traces.times.launches import MAX_LAUNCHES, Dim3, Launch, TimesError, checked_duration
from traces.times.text import Numbers, ns_per_unit

# Only short cells are given to these: with blanks on both sides of a part they take a time that grows with the square.
_LONGEST_CELL = 200
_HEADER = re.compile(r"\s*(?P<name>[^()]*?)\s*(\((?P<unit>[^()]*)\))?\s*")
_DIMENSIONS = re.compile(r"\s*\(?\s*(\d+)\s*[x,\s]\s*(\d+)\s*[x,\s]\s*(\d+)\s*\)?\s*")
_DEVICE_INDEX = re.compile(r"(?P<name>.*?)\s*\((?P<index>\d+)\)")

# Column names in lower case, without unit: those of nsys and nvprof, and of tables people derive from them.
_ALIASES: dict[str, tuple[str, ...]] = {
    "start": ("start", "start_ns"),
    "duration": ("duration", "duration_ns"),
    "correlation": ("corrid", "correlation_id", "corr_id"),
    "grid_x": ("grdx", "grid x"), "grid_y": ("grdy", "grid y"), "grid_z": ("grdz", "grid z"),
    "block_x": ("blkx", "block x"), "block_y": ("blky", "block y"), "block_z": ("blkz", "block z"),
    "grid": ("grid", "grid size", "gridxyz"),
    "block": ("block", "block size", "blockxyz"),
    "device": ("device",),
    "stream": ("strm", "stream"),
    "name": ("name",),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Columns:
    """Where each fact of a launch is in a row, and how many nanoseconds its time columns' units have."""

    place: dict[str, int]
    start_scale: float
    duration_scale: float
    count: int

    @classmethod
    def of(cls, header: Sequence[str], units: Sequence[str], where: str) -> "Columns":
        """Read a header row, with the units row below it where there is one.

        :raises TimesError: without a duration or name column, or with an unknown time unit
        """
        matches = [_HEADER.fullmatch(cell[:_LONGEST_CELL]) for cell in header]
        names = [match["name"].lower() if match else "" for match in matches]
        place = {fact: names.index(name) for fact, known in _ALIASES.items() for name in known if name in names}
        for needed in ("duration", "name"):
            if needed not in place:
                raise TimesError(f"{where}: the table has no {needed} column; export cuda_gpu_trace.")
        written = {
            fact: (units[place[fact]] if place[fact] < len(units) else "") or _unit_of(header[place[fact]])
            for fact in ("start", "duration")
            if fact in place
        }
        scales = {fact: _scale(unit, f"{where}: the {fact} column") for fact, unit in written.items()}
        return cls(place, scales.get("start", 1.0), scales["duration"], len(header))

    def cell(self, row: Sequence[str], fact: str) -> str:
        """The text of a fact in a row, empty where the table or the row has none."""
        place = self.place.get(fact)
        return row[place].strip() if place is not None and place < len(row) else ""


def _unit_of(cell: str) -> str:
    match = _HEADER.fullmatch(cell[:_LONGEST_CELL])
    if match and match["unit"]:
        return match["unit"]
    # A derived table says it in the name itself.
    return "ns" if cell.lower().strip().endswith("_ns") else ""


def _scale(unit: str, where: str) -> float:
    scale = ns_per_unit(unit)
    if scale is None:
        raise TimesError(f"{where} has the unit {unit!r}, which is no unit of time.")
    return scale


class LaunchTable:
    """Turns rows into launches, skipping what is no kernel (copies, memsets, page faults)."""

    def __init__(self, columns: Columns, file: str) -> None:
        self._columns = columns
        self._file = file
        self._numbers = Numbers(file)
        self._shared: dict[str, str] = {}
        self._rows: list[tuple[int, Sequence[str]]] = []

    def add(self, line: int, row: Sequence[str]) -> None:
        """Keep a row if it is a kernel's.

        :raises TimesError: when there are too many
        """
        if not self._is_kernel(row):
            return
        if len(self._rows) >= MAX_LAUNCHES:
            raise TimesError(f"{self._file}, line {line}: has more than {MAX_LAUNCHES} launches; profile fewer steps.")
        for fact in ("start", "duration"):
            self._numbers.look_at(self._columns.cell(row, fact))
        self._rows.append((line, [self._shared.setdefault(cell, cell) for cell in row]))

    def _is_kernel(self, row: Sequence[str]) -> bool:
        _, name = split_nvtx(self._columns.cell(row, "name"))
        return name != "" and not name.startswith(("[CUDA ", "[Unified "))

    def launches(self) -> list[Launch]:
        """All kernels in the order of the file."""
        self._numbers.check()
        return [self._launch(row, f"{self._file}, line {line}") for line, row in self._rows]

    @property
    def decimal_comma(self) -> bool:
        """Whether the file writes a comma before the decimals."""
        return self._numbers.decimal_comma

    def _launch(self, row: Sequence[str], where: str) -> Launch:
        columns, cell = self._columns, self._columns.cell
        duration_ns = self._numbers.read(cell(row, "duration"), where) * columns.duration_scale
        start = cell(row, "start")
        nvtx, name = split_nvtx(cell(row, "name"))
        correlation = cell(row, "correlation")
        return Launch(
            name=self._shared.setdefault(name, name),
            duration_ns=checked_duration(round(duration_ns, 3), where),
            grid=self._dimensions(row, "grid", where),
            block=self._dimensions(row, "block", where),
            start_ns=round(self._numbers.read(start, where) * columns.start_scale, 3) if start else None,
            stream=stream_number(cell(row, "stream")),
            device=cell(row, "device") or None,
            correlation_id=int(correlation) if correlation.isdecimal() and len(correlation) < 20 else None,
            nvtx=nvtx,
        )

    def _dimensions(self, row: Sequence[str], what: str, where: str) -> Dim3 | None:
        whole = self._columns.cell(row, what)
        if whole:
            return dimensions(whole, where)
        parts = [self._columns.cell(row, f"{what}_{axis}") for axis in "xyz"]
        if not any(parts):
            return None
        return dimensions(" ".join(parts), where)


def dimensions(text: str, where: str) -> Dim3:
    """A grid or block: ``(128, 1, 1)``, ``128x1x1`` or `` 128    1    1``.

    :raises TimesError: for another text, or a side of zero
    """
    match = _DIMENSIONS.fullmatch(text.strip().replace(",", " ")) if len(text) < 60 else None
    sides = tuple(int(side) for side in match.groups()) if match else ()
    if len(sides) != 3 or 0 in sides:
        raise TimesError(f"{where}: {text[:40]!r} is not a grid or block of three sizes.")
    return sides


def split_nvtx(name: str) -> tuple[str | None, str]:
    """The NVTX range that nsys puts before a kernel's name with a slash, and the name."""
    before, slash, after = name.rpartition("/")
    if not slash or not after or before.endswith("operator"):
        return None, name
    return before, after


def stream_number(text: str) -> int | str | None:
    """A stream as a number where it is one."""
    if not text or text == "-":
        return None
    return int(text) if text.isdecimal() and len(text) < 20 else text


def device_names(launches: Iterable[Launch]) -> tuple[str, ...]:
    """The GPUs' names, without the device index that nsys and nvprof add: ``NVIDIA B200 (0)``."""
    found = {launch.device for launch in launches if launch.device}
    bare = {match["name"] if (match := _DEVICE_INDEX.fullmatch(device[:_LONGEST_CELL])) else device for device in found}
    return tuple(sorted(bare))
