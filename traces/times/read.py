"""One entrance for all files of real times: what a file is, is told by what is in it."""

import csv
import itertools
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

from traces.times import ncu, nsys, nvprof
from traces.times.launches import TimesError, TimesReport
from traces.times.nsys_sqlite import MAGIC, read_sqlite
from traces.times.text import text_lines
from traces.times.timeline import read_timeline

_MAX_JSON_BYTES = 1 << 29
_MAX_PREAMBLE_LINES = 100_000
_KINDS = (
    "cuda_gpu_trace of Nsight Systems (CSV, JSON, SQLite), CSV of Nsight Compute or nvprof, or corrected_timeline.json"
)

_RowReader = Callable[[Sequence[str], Iterator[tuple[int, list[str]]], str, int], TimesReport]


def read_times(
    source: Path | BinaryIO, name: str | None = None, alignment: Path | BinaryIO | None = None
) -> TimesReport:
    """The real launches in a file of any kind that we know.

    :param source: a path, or a binary stream that can seek
    :param name: what errors call the file; the path's own name without it
    :param alignment: ``trace_alignment.json`` for a ``corrected_timeline.json``
    :raises TimesError: one sentence: which file, which line or table, what to do
    """
    if isinstance(source, Path):
        try:
            with source.open("rb") as stream:
                return read_times(stream, name or source.name, alignment)
        except OSError as error:
            raise TimesError(f"{name or source.name}: cannot be opened ({error.strerror}).") from error
    file = name or "the file of times"
    head = source.read(4096)
    source.seek(0)
    if not head.strip():
        raise TimesError(f"{file}: is empty; give {_KINDS}.")
    if head.startswith(MAGIC):
        return _sqlite(source, file)
    if head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"["):
        return _json(source, file, alignment)
    return _text(source, file)


def _sqlite(stream: BinaryIO, file: str) -> TimesReport:
    # SQLite needs a file of its own: an upload may be in memory, or in a folder that others write to.
    with tempfile.TemporaryDirectory(prefix="cascade-times-") as folder:
        copy = Path(folder) / "times.sqlite"
        with copy.open("wb") as target:
            shutil.copyfileobj(stream, target, 1 << 20)
        return read_sqlite(copy, file)


def _json(stream: BinaryIO, file: str, alignment: Path | BinaryIO | None) -> TimesReport:
    document = _parsed(stream.read(_MAX_JSON_BYTES + 1), file)
    if isinstance(document, list):
        return nsys.read_json(document, file)
    if not isinstance(document, dict) or "steps" not in document:
        hint = " Its kernels name trace kernels: this is a trace_alignment.json." if _is_alignment(document) else ""
        raise TimesError(f"{file}: is JSON without steps or rows; give {_KINDS}.{hint}")
    return read_timeline(document, file, _alignment(alignment))


def _parsed(text: bytes, file: str) -> Any:
    if len(text) > _MAX_JSON_BYTES:
        raise TimesError(f"{file}: is larger than {_MAX_JSON_BYTES >> 20} MiB; export fewer steps, or SQLite.")
    try:
        return json.loads(text, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise TimesError(f"{file}, line {error.lineno}: is not JSON ({error.msg}); the file may be cut.") from error
    except (ValueError, RecursionError) as error:
        raise TimesError(f"{file}: is not JSON that can be read ({str(error)[:80]}).") from error


def _no_constant(text: str) -> float:
    raise ValueError(f"{text} is not a JSON number")


def _is_alignment(document: Any) -> bool:
    kernels = document.get("kernels") if isinstance(document, dict) else None
    return bool(kernels) and isinstance(kernels, list) and isinstance(kernels[0], dict) and "trace_kernel" in kernels[0]


def _alignment(source: Path | BinaryIO | None) -> dict[str, Any] | None:
    if source is None:
        return None
    text = source.read_bytes() if isinstance(source, Path) else source.read(_MAX_JSON_BYTES + 1)
    document = _parsed(text, "trace_alignment.json")
    if not isinstance(document, dict):
        raise TimesError("trace_alignment.json: is not an object with kernels.")
    return document


def _text(stream: BinaryIO, file: str) -> TimesReport:
    lines = text_lines(stream, file)
    preamble: list[str] = []
    for number, line in enumerate(itertools.islice(lines, _MAX_PREAMBLE_LINES), start=1):
        if _is_nvprof_table(line):
            report = nvprof.read_table_lines(line, lines, file, number)
            return replace(report, warnings=report.warnings + nvprof.preamble_warnings(preamble))
        if line.startswith(("[", "{")) and not _is_log_message(line):
            return _json_after_text(line, lines, file)
        for delimiter in ",;\t":
            header = _cells(line, delimiter)
            reader = _reader_for(header, f"{file}, line {number}")
            if reader is not None:
                rows = nsys.csv_rows(lines, delimiter, file, number + 1)
                report = reader(header, rows, file, number)
                return replace(report, warnings=report.warnings + nvprof.preamble_warnings(preamble))
        if "No kernels were profiled" in line:
            raise TimesError(f"{file}, line {number}: nvprof says that no kernels were profiled.")
        if len(preamble) < 1000:
            preamble.append(line)
    raise TimesError(f"{file}: has no header of a table of kernel times; give {_KINDS}.")


def _is_log_message(line: str) -> bool:
    """Whether a line that begins like JSON is a program's message: ``[INFO] step 1``."""
    return line.rstrip() not in ("[", "{", "[{") and not line.startswith(('[{"', '{"'))


def _json_after_text(line: str, lines: Iterator[str], file: str) -> TimesReport:
    document = _parsed("".join(itertools.chain([line], lines)).encode(), file)
    if not isinstance(document, list):
        raise TimesError(f"{file}: is JSON without rows; give {_KINDS}.")
    return nsys.read_json(document, file)


def _cells(line: str, delimiter: str) -> list[str]:
    if delimiter not in line or len(line) > 200_000:
        return []
    try:
        return [cell.strip() for cell in next(csv.reader([line], delimiter=delimiter), [])]
    except csv.Error:
        return []


def _is_nvprof_table(line: str) -> bool:
    return line.split()[:2] == ["Start", "Duration"] and "Grid Size" in line


def _reader_for(header: Sequence[str], where: str) -> _RowReader | None:
    """Which table a header begins, None when it begins none.

    :raises TimesError: for tables of the same tools that hold no times of launches
    """
    names = {cell.partition("(")[0].strip().lower() for cell in header}
    if {"id", "kernel name"} <= names:
        return ncu.read_details_rows if "metric name" in names else ncu.read_raw_rows
    if {"grid x", "duration", "name"} <= names:
        return nvprof.read_csv_rows
    if {"duration", "name"} <= names or {"duration_ns", "name"} <= names:
        return nsys.read_trace_rows
    if {"avg", "instances"} <= names:
        return nsys.read_summary_rows
    if {"launch attribute", "value"} <= names or {"session attribute", "value"} <= names:
        raise TimesError(
            f"{where}: is Nsight Compute's session page, which has no kernels; export --page raw or details."
        )
    if {"kernel", "correlation_id"} <= names:
        raise TimesError(f"{where}: counts events, it has no times; profile with `nvprof --print-gpu-trace --csv`.")
    return None
