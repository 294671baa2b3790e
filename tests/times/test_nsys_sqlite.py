"""The SQLite export of Nsight Systems: read when it is one, refused when it is hostile, damaged or of another kind."""

import io
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from traces.times import TimesError, read_times

Export = Callable[..., Path]

KERNEL_COLUMNS = (
    "start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, correlationId INTEGER, demangledName INTEGER,"
    "shortName INTEGER, mangledName INTEGER, gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER,"
    "blockY INTEGER, blockZ INTEGER"
)
ROW = (1000, 1600, 0, 7, 42, 1, 2, 3, 128, 1, 1, 256, 1, 1)


@pytest.fixture
def export(tmp_path: Path) -> Export:
    """Writes an export with one kernel row by default; ``sql`` is run at the end."""

    def write(rows: list[tuple[object, ...]] | None = None, schema: str = "3.24.0", sql: str = "") -> Path:
        path = tmp_path / "export.sqlite"
        path.unlink(missing_ok=True)
        with sqlite3.connect(path) as database:
            database.executescript(f"""
                CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);
                CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);
                CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT);
                CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL ({KERNEL_COLUMNS});
                INSERT INTO StringIds VALUES (1, 'void add<float>(T1 *)'), (2, 'add'), (3, '_Z3addIfEvPT_');
                INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION', '{schema}');
                INSERT INTO TARGET_INFO_GPU VALUES (0, 'NVIDIA B200'), (1, 'NVIDIA H100');
            """)
            marks = ",".join("?" * len(ROW))
            database.executemany(
                f"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ({marks})", [ROW] if rows is None else rows
            )
            database.executescript(sql)
        database.close()
        return path

    return write


def refusal(path: Path) -> str:
    with pytest.raises(TimesError) as caught:
        read_times(path)
    return str(caught.value)


def test_a_kernel_has_all_three_spellings_of_its_name(export: Export) -> None:
    (launch,) = read_times(export()).launches
    assert (launch.name, launch.short_name, launch.mangled_name) == ("void add<float>(T1 *)", "add", "_Z3addIfEvPT_")
    assert (launch.start_ns, launch.duration_ns, launch.stream, launch.correlation_id) == (1000, 600, 7, 42)
    assert (launch.grid, launch.block) == ((128, 1, 1), (256, 1, 1))


def test_the_gpu_is_the_one_that_ran_kernels(export: Export) -> None:
    assert read_times(export()).device_names == ("NVIDIA B200",)


def test_kernels_come_by_start(export: Export) -> None:
    assert [x.start_ns for x in read_times(export([(2000, 2001, *ROW[2:]), ROW])).launches] == [1000, 2000]


def test_an_upload_in_memory_is_read_too(export: Export) -> None:
    assert len(read_times(io.BytesIO(export().read_bytes()), "x.sqlite").launches) == 1


def test_an_old_schema_without_mangled_names_is_read(export: Export) -> None:
    path = export(sql="ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN mangledName")
    assert read_times(path).launches[0].mangled_name is None


def test_a_schema_from_the_future_is_refused_by_its_version(export: Export) -> None:
    assert "export schema 9.1.0" in refusal(export(schema="9.1.0"))


def test_a_missing_column_is_named(export: Export) -> None:
    path = export(sql="ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN gridX")
    assert "has no column gridX" in refusal(path)


def test_an_export_without_the_kernel_table_says_that_nothing_was_captured(export: Export) -> None:
    assert "no kernel was captured" in refusal(export(sql="DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL"))


def test_graphs_traced_as_a_whole_are_told_what_to_change(export: Export) -> None:
    sql = "DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL; CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER)"
    assert "--cuda-graph-trace=node" in refusal(export(sql=sql))


def test_two_devices_are_refused(export: Export) -> None:
    assert "kernels of 2 devices" in refusal(export([ROW, (2000, 2600, 1, *ROW[3:])]))


@pytest.mark.parametrize("end", [1000, 900])
def test_a_duration_of_nothing_is_refused_with_table_and_row(export: Export, end: int) -> None:
    assert "table CUPTI_ACTIVITY_KIND_KERNEL, row 1" in refusal(export([(1000, end, *ROW[2:])]))


@pytest.mark.parametrize("value", ["text", None, b"blob", 1.5])
def test_a_cell_of_another_type_is_refused(export: Export, value: object) -> None:
    assert "the file is damaged" in refusal(export([(1000, value, *ROW[2:])]))


def test_a_database_of_another_program_is_named_so(tmp_path: Path) -> None:
    path = tmp_path / "other.sqlite"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE users (id INTEGER)")
    database.close()
    assert "of another program" in refusal(path)


def test_a_view_in_place_of_the_kernel_table_is_not_read(export: Export) -> None:
    sql = """ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL RENAME TO hidden;
             CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS SELECT * FROM hidden"""
    assert "has no table CUPTI_ACTIVITY_KIND_KERNEL" in refusal(export(sql=sql))


def test_computed_columns_are_not_evaluated(export: Export) -> None:
    sql = f"""DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL;
        CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL ({KERNEL_COLUMNS}, x GENERATED ALWAYS AS (zeroblob(1000000000)))"""
    assert "computed columns" in refusal(export([], sql=sql))


def test_the_file_is_neither_changed_nor_joined_by_another(export: Export, tmp_path: Path) -> None:
    path = export(sql="PRAGMA journal_mode = WAL")
    before = path.read_bytes()
    read_times(path)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["export.sqlite"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(place=st.integers(16, 1 << 20), value=st.integers(0, 255), cut=st.booleans())
def test_a_damaged_file_is_read_or_refused(export: Export, place: int, value: int, cut: bool) -> None:
    path = export()
    data = bytearray(path.read_bytes())
    place %= len(data)
    data[place] = value
    path.write_bytes(data[: max(place, 16)] if cut else data)
    try:
        found = read_times(path)
    except TimesError:
        return
    assert all(launch.duration_ns > 0 for launch in found.launches)
