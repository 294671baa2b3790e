"""Nsight Systems' SQLite export (``nsys export --type sqlite``), read as a file from a stranger.

An SQLite file is a program as much as data: views, triggers, generated columns and virtual tables run when they are
read. So the file is opened read-only, its schema is not trusted, only plain tables are read, work and size are bounded.
"""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from traces.times.launches import MAX_LAUNCHES, Launch, TimesError, TimesReport, checked_duration, one_device

MAGIC = b"SQLite format 3\0"

_KERNELS = "CUPTI_ACTIVITY_KIND_KERNEL"
_NEEDED = ("start", "end", "deviceId", "streamId", "demangledName", "shortName",
           "gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ")  # fmt: skip
_OPTIONAL = ("correlationId", "mangledName")
_GPU_TABLES = ("TARGET_INFO_GPU", "TARGET_INFO_CUDA_DEVICE", "TARGET_INFO_CUDA_GPU")
_KNOWN_MAJORS = (1, 2, 3)
_SECONDS = 60.0


def read_sqlite(path: Path, file: str) -> TimesReport:
    """All kernels of an export, by start.

    :raises TimesError: for a file that is no export, is hostile, damaged, of an unknown schema, or without kernels
    """
    try:
        with _opened(path) as database:
            return _read(database, file)
    # A damaged schema makes even the error's text undecodable.
    except (sqlite3.Error, UnicodeError) as error:
        raise TimesError(
            f"{file}: cannot be read as an SQLite export of Nsight Systems ({str(error)[:200]})."
        ) from error


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    # `immutable`: no lock, no journal beside the file, whatever its header asks for.
    with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True)) as database:
        database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 1 << 24)
        database.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        for pragma in ("trusted_schema = OFF", "cell_size_check = ON", "query_only = ON", "mmap_size = 0"):
            database.execute(f"PRAGMA {pragma}")
        database.text_factory = lambda raw: raw.decode("utf-8", "replace")
        deadline = time.monotonic() + _SECONDS
        database.set_progress_handler(lambda: time.monotonic() > deadline, 100_000)
        database.set_authorizer(_reads_only)
        yield database


def _reads_only(action: int, *_: str | None) -> int:
    if action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ):
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY


def _read(database: sqlite3.Connection, file: str) -> TimesReport:
    tables = _plain_tables(database)
    warnings = _check_schema(database, tables, file)
    if _KERNELS not in tables:
        hint = "profile with -t cuda"
        if "CUPTI_ACTIVITY_KIND_GRAPH_TRACE" in tables:
            hint = "CUDA graphs were traced as a whole: profile with --cuda-graph-trace=node"
        raise TimesError(f"{file}: has no table {_KERNELS}, so no kernel was captured; {hint}.")
    columns = _columns(tables, database, _KERNELS, file)
    missing = [name for name in _NEEDED if name not in columns]
    if missing:
        raise TimesError(f"{file}: the table {_KERNELS} has no column {missing[0]}; this schema is not known.")
    names = _strings(database, tables, file)
    launches = _launches(database, columns, names, file)
    devices = _device_names(database, tables, file)
    launches_of = {launch.device for launch in launches}
    one_device(launches, file)
    used = tuple(sorted({devices[device] for device in launches_of if device in devices}))
    return TimesReport("nsys-sqlite", launches, warnings, None, used)


def _plain_tables(database: sqlite3.Connection) -> dict[str, str]:
    """Ordinary tables only: reading a view or a virtual table runs what the file says."""
    rows = database.execute("SELECT type, name, sql FROM sqlite_master")
    return {
        name: sql
        for kind, name, sql in rows
        if kind == "table" and isinstance(sql, str) and sql.upper().startswith("CREATE TABLE")
    }


def _columns(tables: dict[str, str], database: sqlite3.Connection, table: str, file: str) -> set[str]:
    sql = tables[table].upper()
    if "GENERATED ALWAYS" in sql or " AS (" in sql:
        raise TimesError(f"{file}: the table {table} has computed columns, which no export of Nsight Systems has.")
    # PRAGMA table_info is denied by the authorizer; an empty result has the column names as well.
    return {column[0] for column in database.execute(f"SELECT * FROM {table} LIMIT 0").description}  # noqa: S608


def _check_schema(database: sqlite3.Connection, tables: dict[str, str], file: str) -> list[str]:
    if "META_DATA_EXPORT" not in tables:
        if _KERNELS not in tables and "StringIds" not in tables:
            raise TimesError(f"{file}: is an SQLite file of another program, not an export of Nsight Systems.")
        return ["The export does not say its schema version (an old nsys); its columns were checked instead."]
    rows = database.execute("SELECT name, value FROM META_DATA_EXPORT LIMIT 1000")
    facts = {name: value for name, value in rows if isinstance(value, str)}
    version = facts.get("EXPORT_SCHEMA_VERSION", "")
    major = version.partition(".")[0]
    if not major.isdecimal():
        return ["The export does not say its schema version; its columns were checked instead."]
    if int(major) not in _KNOWN_MAJORS:
        raise TimesError(
            f"{file}: has the export schema {version[:20]}, known are {_KNOWN_MAJORS[0]} to {_KNOWN_MAJORS[-1]}; "
            "export cuda_gpu_trace as CSV instead."
        )
    return []


def _strings(database: sqlite3.Connection, tables: dict[str, str], file: str) -> dict[int, str]:
    if "StringIds" not in tables:
        raise TimesError(f"{file}: has no table StringIds, which holds the kernels' names; export it again.")
    _columns(tables, database, "StringIds", file)
    wanted = " UNION ".join(
        f"SELECT {column} FROM {_KERNELS}"  # noqa: S608 - our own column names
        for column in ("demangledName", "shortName", "mangledName")
        if column in _columns(tables, database, _KERNELS, file)
    )
    rows = database.execute(f"SELECT id, value FROM StringIds WHERE id IN ({wanted})")  # noqa: S608
    return {key: value for key, value in rows if isinstance(key, int) and isinstance(value, str)}


def _launches(database: sqlite3.Connection, columns: set[str], names: dict[int, str], file: str) -> list[Launch]:
    selected = [*_NEEDED, *(name if name in columns else "NULL" for name in _OPTIONAL)]
    query = ", ".join(f'"{name}"' if name != "NULL" else name for name in selected)
    rows = database.execute(f"SELECT {query} FROM {_KERNELS} ORDER BY start, rowid LIMIT {MAX_LAUNCHES + 1}")  # noqa: S608
    launches = []
    for number, row in enumerate(rows, start=1):
        where = f"{file}, table {_KERNELS}, row {number} by start"
        if not all(isinstance(value, int) for value in row[: len(_NEEDED)]):
            raise TimesError(f"{where}: holds something other than whole numbers; the file is damaged.")
        start, end, device, stream, demangled, short, *sides, correlation, mangled = row
        if demangled not in names and short not in names:
            raise TimesError(f"{where}: its name is not in the table StringIds; the file is damaged.")
        launches.append(
            Launch(
                name=names.get(demangled) or names[short],
                duration_ns=checked_duration(float(end - start), where),
                grid=tuple(sides[:3]),
                block=tuple(sides[3:]),
                start_ns=start,
                stream=stream,
                device=str(device),
                correlation_id=correlation if isinstance(correlation, int) else None,
                mangled_name=names.get(mangled) if isinstance(mangled, int) else None,
                short_name=names.get(short),
            )
        )
    if not launches:
        raise TimesError(f"{file}: the table {_KERNELS} is empty: no kernel was captured; profile with -t cuda.")
    if len(launches) > MAX_LAUNCHES:
        raise TimesError(f"{file}: has more than {MAX_LAUNCHES} launches; profile fewer steps.")
    return launches


def _device_names(database: sqlite3.Connection, tables: dict[str, str], file: str) -> dict[str, str]:
    for table in _GPU_TABLES:
        if table in tables:
            key = "id" if "id" in _columns(tables, database, table, file) else "gpuId"
            rows = database.execute(f"SELECT {key}, name FROM {table} LIMIT 1024")  # noqa: S608 - our own names
            return {str(device): name for device, name in rows if isinstance(name, str)}
    return {}
