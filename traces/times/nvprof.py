"""nvprof ``--print-gpu-trace``, as CSV and as the table it prints by default."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from traces.times.launches import Launch, TimesError, TimesReport, checked_duration, one_device
from traces.times.tables import Columns, LaunchTable, device_names, dimensions, stream_number
from traces.times.text import Numbers, ns_per_unit

_INVALID = re.compile(r"(\d+) records have invalid timestamps")
_LAUNCH_NUMBER = re.compile(r"\[(\d{1,19})\]$")
_TIME = re.compile(r"([\d.,]+)\s*([a-zA-Zµμ]+)")
_GAP = re.compile(r"\s{2,}")


def read_csv_rows(header: Sequence[str], rows: Iterator[tuple[int, list[str]]], file: str, line: int) -> TimesReport:
    """The rows below the header; the first of them holds the units, which differ per file and per column."""
    units_line, units = next(rows, (line, []))
    if not any(ns_per_unit(unit) for unit in units[:2]):
        raise TimesError(f"{file}, line {units_line}: the row of units below the header is missing.")
    columns = Columns.of(header, units, f"{file}, line {units_line}")
    table = LaunchTable(columns, file)
    for number, row in rows:
        if not row:
            break
        if len(row) != columns.count:
            raise TimesError(
                f"{file}, line {number}: has {len(row)} columns where the header has {columns.count}; the file is cut."
            )
        # Rows of unified memory have no duration; a launch without one was lost by the profiler.
        if columns.cell(row, "duration"):
            table.add(number, row)
    return _report("nvprof-csv", [_without_number(launch) for launch in table.launches()], file)


def read_table_lines(header: str, lines: Iterator[str], file: str, line: int) -> TimesReport:
    """The table form: columns two or more spaces apart, times with their unit (``781.66us``)."""
    names = [name.strip("*").lower() for name in _GAP.split(header.strip())]
    numbers, launches = Numbers(file), list[Launch]()
    for number, text in enumerate(lines, start=line + 1):
        cells = _GAP.split(text.strip(), maxsplit=len(names) - 1)
        if len(cells) < len(names):
            if text.strip() and not text.startswith(("==", "Regs:", "SSMem:", "DSMem:", "SrcMemType", "DstMemType")):
                raise TimesError(f"{file}, line {number}: has {len(cells)} columns of {len(names)}; the file is cut.")
            if launches:
                break
            continue
        row = dict(zip(names, cells, strict=True))
        if row["name"].startswith("[") or row["grid size"] == "-":
            continue
        launches.append(_table_launch(row, numbers, f"{file}, line {number}"))
    return _report("nvprof-table", launches, file)


def _table_launch(row: dict[str, str], numbers: Numbers, where: str) -> Launch:
    launch = Launch(
        name=row["name"],
        duration_ns=checked_duration(_time_ns(row["duration"], numbers, where), where),
        grid=dimensions(row["grid size"], where),
        block=dimensions(row["block size"], where),
        start_ns=_time_ns(row["start"], numbers, where),
        stream=stream_number(row.get("stream", "")),
        device=row.get("device"),
    )
    return _without_number(launch)


def _time_ns(text: str, numbers: Numbers, where: str) -> float:
    match = _TIME.fullmatch(text)
    scale = ns_per_unit(match[2]) if match else None
    if match is None or scale is None:
        raise TimesError(f"{where}: {text[:40]!r} is not a time with its unit.")
    return round(numbers.read(match[1], where) * scale, 3)


def _report(source: str, launches: list[Launch], file: str) -> TimesReport:
    if not launches:
        raise TimesError(f"{file}: has no kernel with a time; profile with `nvprof --print-gpu-trace --csv`.")
    one_device(launches, file)
    return TimesReport(source, launches, [], None, device_names(launches))


def _without_number(launch: Launch) -> Launch:
    """The launch with the correlation id taken off its name, where older versions put it: ``gemm(float*) [117]``."""
    match = _LAUNCH_NUMBER.search(launch.name)
    if match is None:
        return launch
    number = int(match[1]) if launch.correlation_id is None else launch.correlation_id
    return replace(launch, name=launch.name[: match.start()].rstrip(), correlation_id=number)


def preamble_warnings(preamble: Sequence[str]) -> list[str]:
    """What nvprof said before the table that a reader of the times has to know."""
    return [
        f"nvprof lost {match[1]} records (invalid timestamps): kernels may be missing."
        for text in preamble
        if (match := _INVALID.search(text))
    ]
