"""Tables filter, sort and page over all rows, by the address."""

import json

import pytest
from django.test import RequestFactory

from cascade_site.tables import Column, Table

ROWS = [{"name": f"kernel_{n}", "time": None if n == 7 else n % 10, "size": n} for n in range(250)]
COLUMNS = [Column("name", "Name", "name"), Column("time", "Time", "duration"), Column("size", "Size", "number")]


def table(rf: RequestFactory, query: str = "", **options: object) -> Table:
    return Table(rf.get(f"/?{query}"), COLUMNS, ROWS, **options)  # type: ignore[arg-type]


def test_it_shows_a_page_at_a_time(rf: RequestFactory) -> None:
    assert len(table(rf).rows) == 100
    assert len(table(rf, "page=3").rows) == 50


@pytest.mark.parametrize("page", ["0", "-1", "99", "x", "９", "1e9"])
def test_a_page_that_is_not_there_is_the_nearest_one(rf: RequestFactory, page: str) -> None:
    assert table(rf, f"page={page}").rows


def test_it_sorts_over_all_rows_by_several_columns(rf: RequestFactory) -> None:
    first = table(rf, "sort=-time,size").sorted[0]
    assert (first["time"], first["size"]) == (9, 9)


@pytest.mark.parametrize("sort", ["time", "-time"])
def test_unknown_values_come_last_either_way(rf: RequestFactory, sort: str) -> None:
    assert table(rf, f"sort={sort}").sorted[-1]["time"] is None


def test_it_ignores_a_column_that_is_not_there(rf: RequestFactory) -> None:
    assert table(rf, "sort=nonsense").sorted[0]["size"] == 0


def test_it_filters_by_text_without_case(rf: RequestFactory) -> None:
    assert len(table(rf, "q=KERNEL_24").filtered) == 11


def test_it_filters_by_pattern(rf: RequestFactory) -> None:
    assert len(table(rf, "q=/_[12]$/").filtered) == 2


@pytest.mark.parametrize("pattern", ["/(/", "/(a%2B)%2B$/", "/((x*)*)*y/"])
def test_a_pattern_it_will_not_run_is_said_and_taken_as_text(rf: RequestFactory, pattern: str) -> None:
    shown = table(rf, f"q={pattern}")
    assert shown.filtered == []
    assert shown.problem


def test_an_export_has_what_is_shown_as_filtered_and_sorted(rf: RequestFactory) -> None:
    answer = table(rf, "q=/_[12]$/&sort=-size&format=json").export()
    assert answer is not None
    assert [row["size"] for row in json.loads(answer.content)] == [2, 1]


def test_an_export_runs_nothing_in_a_spreadsheet(rf: RequestFactory) -> None:
    rows = [{"name": "=HYPERLINK()", "time": -5, "size": 1}]
    answer = Table(rf.get("/?format=csv"), COLUMNS, rows).export()
    assert answer is not None
    assert answer.content.decode().splitlines()[1] == "'=HYPERLINK(),-5,1"


def test_a_parquet_export_keeps_the_types(rf: RequestFactory) -> None:
    import io

    import pyarrow.parquet as pq

    answer = table(rf, "format=parquet").export()
    assert answer is not None
    assert str(pq.read_table(io.BytesIO(answer.content)).schema.field("size").type) == "int64"
