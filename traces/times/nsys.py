"""Nsight Systems' reports: ``cuda_gpu_trace`` (once ``gputrace``) as CSV and JSON, and the kernel summaries."""

import csv
from collections.abc import Iterator, Sequence
from typing import Any

from traces.times.launches import MAX_LAUNCHES, Launch, TimesError, TimesReport, checked_duration, one_device
from traces.times.tables import Columns, LaunchTable, device_names, dimensions, split_nvtx
from traces.times.text import Numbers, ns_per_unit

# What `nsys stats` prints between two reports of one run.
_NEXT_REPORT = ("Processing [", "NOTICE:", "SKIPPED:", "Generating ", "**")
_AVERAGED = "The file is a summary: each launch of a kernel gets the kernel's average time."


def read_trace_rows(header: Sequence[str], rows: Iterator[tuple[int, list[str]]], file: str, line: int) -> TimesReport:
    """The rows below the header of a ``cuda_gpu_trace`` CSV (or of a table with its columns).

    :param rows: (line number, cells)
    """
    columns = Columns.of(header, (), f"{file}, line {line}")
    table = LaunchTable(columns, file)
    for number, row in rows:
        if not row or row[0].startswith(_NEXT_REPORT):
            break
        if len(row) != columns.count:
            raise TimesError(
                f"{file}, line {number}: has {len(row)} columns where the header has {columns.count}; "
                "the file is cut or was edited."
            )
        table.add(number, row)
    return _report("nsys-csv", table, file)


def read_json(document: list[Any], file: str) -> TimesReport:
    """The parsed JSON of ``nsys stats --format json``: a list with one object per row."""
    header: list[str] = []
    for place, row in enumerate(document, start=1):
        if not isinstance(row, dict):
            raise TimesError(f"{file}, row {place}: is not an object; export cuda_gpu_trace with --format json.")
        if not header:
            header = list(row)
    columns = Columns.of(header, (), file)
    table = LaunchTable(columns, file)
    for place, row in enumerate(document, start=1):
        table.add(place, [_cell(row.get(name)) for name in header])
    return _report("nsys-json", table, file)


def _cell(value: Any) -> str:
    return "" if value is None else str(value)


def _report(source: str, table: LaunchTable, file: str) -> TimesReport:
    launches = table.launches()
    if not launches:
        raise TimesError(f"{file}: has no kernel, only copies or nothing; profile with `nsys profile -t cuda`.")
    one_device(launches, file)
    warnings = ["The file writes a comma before the decimals."] if table.decimal_comma else []
    return TimesReport(source, launches, warnings, None, device_names(launches))


def read_summary_rows(
    header: Sequence[str], rows: Iterator[tuple[int, list[str]]], file: str, line: int
) -> TimesReport:
    """The rows of ``cuda_gpu_kern_sum`` or ``cuda_gpu_kern_gb_sum``: averages of all launches of a kernel."""
    names = [cell.partition("(")[0].strip().lower() for cell in header]
    average = header[names.index("avg")]
    scale = ns_per_unit(average.partition("(")[2].rstrip(") "))
    if scale is None or "name" not in names:
        raise TimesError(f"{file}, line {line}: is not a kernel summary with an average in a unit of time.")
    numbers, launches = Numbers(file), list[Launch]()
    for number, row in rows:
        if not row or row[0].startswith(_NEXT_REPORT):
            break
        where = f"{file}, line {number}"
        if len(row) != len(header):
            raise TimesError(f"{where}: has {len(row)} columns where the header has {len(header)}; the file is cut.")
        cells = dict(zip(names, row, strict=True))
        nvtx, name = split_nvtx(cells["name"].strip())
        launch = Launch(
            name=name,
            duration_ns=checked_duration(numbers.read(cells["avg"], where) * scale, where),
            grid=dimensions(cells["gridxyz"], where) if cells.get("gridxyz", "").strip() else None,
            block=dimensions(cells["blockxyz"], where) if cells.get("blockxyz", "").strip() else None,
            nvtx=nvtx,
        )
        instances = numbers.read(cells["instances"], where)
        if instances + len(launches) > MAX_LAUNCHES:
            raise TimesError(f"{where}: has more than {MAX_LAUNCHES} launches; profile fewer steps.")
        launches.extend([launch] * int(instances))
    if not launches:
        raise TimesError(f"{file}: is a summary without any kernel; profile with `nsys profile -t cuda`.")
    return TimesReport("nsys-summary", launches, [_AVERAGED])


def csv_rows(lines: Iterator[str], delimiter: str, file: str, first_line: int) -> Iterator[tuple[int, list[str]]]:
    """Rows with the line each ends on; the tools' own ``==...==`` messages between them are left out.

    :raises TimesError: where the text is no CSV
    """
    reader = csv.reader(lines, delimiter=delimiter)
    try:
        for row in reader:
            if row and row[0].startswith("=="):
                continue
            yield first_line + reader.line_num - 1, row
    except csv.Error as error:
        line = first_line + reader.line_num - 1
        raise TimesError(f"{file}, line {line}: is not readable as CSV ({error}).") from error
