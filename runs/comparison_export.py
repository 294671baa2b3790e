"""A comparison body as CSV or Parquet: one row per kernel and GPU config."""

import csv
import io
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from cascade_site.exports import spreadsheet_safe

_SCHEMA = pa.schema(
    [
        ("index", pa.int64()),
        ("name", pa.string()),
        ("real_ns", pa.float64()),
        ("real_share", pa.float64()),
        ("gpu_config", pa.string()),
        ("sim_id", pa.string()),
        ("cycles", pa.int64()),
        ("simulated_ns", pa.float64()),
        ("error", pa.float64()),
        ("ratio", pa.float64()),
        ("speedup", pa.float64()),
        ("difference_ns", pa.float64()),
        ("share", pa.float64()),
        ("share_of_error", pa.float64()),
    ]
)
COLUMNS: tuple[str, ...] = tuple(_SCHEMA.names)
_CELL_COLUMNS = COLUMNS[5:]
_ROWS_PER_CHUNK = 1000


def to_csv(comparison: dict[str, Any]) -> Iterator[bytes]:
    """Chunks of a UTF-8 CSV file with a header line; an empty cell is an unknown value."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for number, row in enumerate(rows(comparison), start=1):
        writer.writerow([spreadsheet_safe(value) for value in row])
        if number % _ROWS_PER_CHUNK == 0:
            yield _drain(buffer)
    yield _drain(buffer)


def to_parquet(comparison: dict[str, Any]) -> bytes:
    """A Parquet file, zstd-compressed; the run's and trace's ids are in the file's metadata."""
    columns = list(zip(*rows(comparison), strict=True)) or [()] * len(COLUMNS)
    arrays = [pa.array(column, type=field.type) for column, field in zip(columns, _SCHEMA, strict=True)]
    origin = {key: str(comparison[key]) for key in ("run_id", "trace_id", "baseline")}
    table = pa.Table.from_arrays(arrays, schema=_SCHEMA.with_metadata(origin))
    sink = io.BytesIO()
    pq.write_table(table, sink, compression="zstd")
    return sink.getvalue()


def rows(comparison: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
    """One tuple per kernel and config in the order of :data:`COLUMNS`; a kernel no config simulated has one row too."""
    for kernel in comparison["kernels"]:
        head = (kernel["index"], kernel["name"], kernel["real_ns"], kernel["real_share"])
        for config, cell in kernel["configs"].items():
            yield (*head, config, *(cell[column] for column in _CELL_COLUMNS))
        if not kernel["configs"]:
            yield (*head, None, *(None for _ in _CELL_COLUMNS))


def _drain(buffer: io.StringIO) -> bytes:
    # Names from a log may hold half a surrogate pair, which UTF-8 cannot carry.
    chunk = buffer.getvalue().encode("utf-8", "replace")
    buffer.seek(0)
    buffer.truncate()
    return chunk
