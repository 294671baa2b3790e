"""Tables filter, sort and page over all rows, by the address, whether the rows are dicts or columns."""

import io
import json
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.test import RequestFactory

from cascade_site.tablerows import ColumnRows, ListedRows, Row
from cascade_site.tables import Column, Table

ROWS = [{"name": f"kernel_{n}", "time": None if n == 7 else n % 10, "size": n} for n in range(250)]
COLUMNS = [Column("name", "Name", "name"), Column("time", "Time", "duration"), Column("size", "Size", "number")]

MakeTable = Callable[..., Table]


@pytest.fixture(params=["dicts", "columns"])
def table(request: pytest.FixtureRequest, rf: RequestFactory) -> MakeTable:
    def make(query: str = "", rows: list[Row] = ROWS, **options: Any) -> Table:
        held = ListedRows(rows) if request.param == "dicts" else ColumnRows(pa.Table.from_pylist(rows))
        return Table(rf.get(f"/?{query}"), COLUMNS, held, **options)

    return make


def first(table: Table) -> Row:
    return table.sorted.part(0, 1)[0]


def test_it_shows_a_page_at_a_time(table: MakeTable) -> None:
    assert len(table().shown) == 100
    assert len(table("page=3").shown) == 50


@pytest.mark.parametrize("page", ["0", "-1", "99", "x", "９", "1e9"])
def test_a_page_that_is_not_there_is_the_nearest_one(table: MakeTable, page: str) -> None:
    assert table(f"page={page}").shown


def test_it_sorts_over_all_rows_by_several_columns(table: MakeTable) -> None:
    row = first(table("sort=-time,size"))
    assert (row["time"], row["size"]) == (9, 9)


def test_text_sorts_without_case(table: MakeTable) -> None:
    rows = [{"name": name, "time": 1, "size": 1} for name in ("b", "C", "a")]
    assert [row["name"] for row in table("sort=name", rows).shown] == ["a", "b", "C"]


@pytest.mark.parametrize("sort", ["time", "-time"])
def test_unknown_values_come_last_either_way(table: MakeTable, sort: str) -> None:
    assert table(f"sort={sort}").sorted.part(249, 250)[0]["time"] is None


def test_it_ignores_a_column_that_is_not_there(table: MakeTable) -> None:
    assert first(table("sort=nonsense"))["size"] == 0


def test_a_click_on_a_header_sorts_by_it_and_keeps_the_others_behind_it(table: MakeTable) -> None:
    headings = {heading.column.key: heading for heading in table("sort=-time").headings}
    assert "sort=time" in headings["time"].href
    assert "sort=-size%2C-time" in headings["size"].href
    assert headings["time"].direction == "descending"


def test_every_parameter_of_the_address_stays_in_its_links(table: MakeTable) -> None:
    assert "run=a&run=b" in table("run=a&run=b&sort=time").headings[0].href


def test_columns_are_chosen_by_the_address(table: MakeTable) -> None:
    assert [column.key for column in table("columns=size&columns=name").columns] == ["name", "size"]


@pytest.mark.parametrize("columns", ["", "nonsense"])
def test_without_a_choice_the_columns_are_those_it_begins_with(rf: RequestFactory, columns: str) -> None:
    hidden = [*COLUMNS, Column("more", "More", shown=False)]
    assert Table(rf.get(f"/?columns={columns}"), hidden, ROWS).columns == COLUMNS


def test_it_filters_by_text_without_case(table: MakeTable) -> None:
    assert len(table("q=KERNEL_24").filtered) == 11


def test_characters_that_no_database_takes_are_not_looked_for(table: MakeTable) -> None:
    assert table("q=ker%00nel_24").query == "ker\N{REPLACEMENT CHARACTER}nel_24"


def test_it_filters_by_pattern(table: MakeTable) -> None:
    assert len(table("q=/_[12]$/").filtered) == 2


def test_it_filters_by_the_demangled_name_too(table: MakeTable) -> None:
    rows = [{"name": "_Z4gemmIfEvPT_", "time": 1, "size": 1}, {"name": "copy", "time": 1, "size": 1}]
    assert len(table("q=gemm<float>", rows).filtered) == 1


@pytest.mark.parametrize("pattern", ["/(/", "/(a%2B)%2B$/", "/((x*)*)*y/"])
def test_a_pattern_it_will_not_run_is_said_and_taken_as_text(table: MakeTable, pattern: str) -> None:
    shown = table(f"q={pattern}")
    assert len(shown.filtered) == 0
    assert shown.problem


def test_it_turns_to_the_page_of_a_row(table: MakeTable) -> None:
    shown = table("sort=-size")
    shown.turn_to(246)
    assert 3 in [row["size"] for row in shown.shown]


def test_columns_know_the_place_of_a_row() -> None:
    rows = ColumnRows(pa.Table.from_pylist(ROWS)).ordered([("size", True)])
    assert rows.place_of("size", 3) == 246
    assert rows.place_of("size", 300) is None


def test_an_export_has_what_is_shown_as_filtered_and_sorted(table: MakeTable) -> None:
    answer = table("q=/_[12]$/&sort=-size&columns=size&format=json").export()
    assert answer is not None
    assert json.loads(answer.content) == [{"size": 2}, {"size": 1}]


def test_an_export_names_its_columns_and_has_no_buttons(rf: RequestFactory) -> None:
    columns = [Column("size", "Size", "number", export_as="size_bytes"), Column("go", "Go", export_as=None)]
    answer = Table(rf.get("/?format=csv"), columns, ROWS[:1], export_also=("name",)).export()
    assert answer is not None
    assert answer.content.decode().splitlines() == ["name,size_bytes", "kernel_0,0"]


def test_an_export_runs_nothing_in_a_spreadsheet(table: MakeTable) -> None:
    answer = table("format=csv", [{"name": "=HYPERLINK()", "time": -5, "size": 1}]).export()
    assert answer is not None
    assert answer.content.decode().splitlines()[1] == "'=HYPERLINK(),-5,1"


def test_a_parquet_export_keeps_the_types(table: MakeTable) -> None:
    answer = table("format=parquet").export()
    assert answer is not None
    assert str(pq.read_table(io.BytesIO(answer.content)).schema.field("size").type) == "int64"


def test_cells_are_text_whatever_is_in_them(table: MakeTable) -> None:
    rows = [{"name": "<script>alert(1)</script>", "time": 1, "size": 1}]
    assert "<script>" not in next(table("", rows).rows).cells
