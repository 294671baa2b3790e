"""Rows of plain dicts as files that spreadsheets and notebooks read."""

import csv
import io
import json
from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

Row = dict[str, Any]

_RUNS_IN_A_SPREADSHEET = ("=", "+", "-", "@", "\t", "\r", "\n")


def spreadsheet_safe(value: Any) -> Any:
    """The value, quoted where a spreadsheet would run it as a formula; numbers, negative ones too, stay numbers."""
    if isinstance(value, str) and value.startswith(_RUNS_IN_A_SPREADSHEET):
        return "'" + value
    return value


def _cell(value: Any) -> Any:
    return json.dumps(value, default=str) if isinstance(value, list | dict) else value


def csv_bytes(keys: Sequence[str], rows: Iterable[Row]) -> bytes:
    """A UTF-8 CSV file with a header line; an empty cell is an unknown value."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\r\n")
    writer.writerow(keys)
    writer.writerows([spreadsheet_safe(_cell(row.get(key))) for key in keys] for row in rows)
    return buffer.getvalue().encode("utf-8", "replace")


def json_bytes(keys: Sequence[str], rows: Iterable[Row]) -> bytes:
    """A JSON list of objects with the same keys, a line each."""
    lines = (json.dumps({key: row.get(key) for key in keys}, default=str) for row in rows)
    return ("[" + ",\n ".join(lines) + "]").encode()


def parquet_bytes(keys: Sequence[str], rows: Iterable[Row]) -> bytes:
    """A Parquet file, zstd-compressed. Columns of one type keep it; a mixed one becomes text."""
    listed = list(rows)
    columns = {}
    for key in keys:
        values = [_cell(row.get(key)) for row in listed]
        try:
            columns[key] = pa.array(values)
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            columns[key] = pa.array([None if value is None else str(value) for value in values])
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink, compression="zstd")
    return sink.getvalue()
