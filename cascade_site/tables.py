"""Tables of the pages: filter, sort and page over **all** rows, by the URL; export of what is shown, by the same URL.

``?q=`` filters by text (``/…/`` as a regular expression), ``?sort=-error,name`` sorts by several columns, ``?page=``
pages, ``?columns=`` chooses the columns, ``?format=csv|json|parquet`` exports.
"""

import io
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.functional import cached_property
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from cascade_site.cells import cell
from cascade_site.exports import csv_bytes, json_bytes, parquet_bytes
from cascade_site.fields import storable_text
from cascade_site.tablerows import ListedRows, Row, Rows, Search
from traces.times.names import demangled

PAGE_ROWS = 100
LONGEST_PATTERN = 200
MOST_SORT_KEYS = 3

_SELECT = '<td><input type="checkbox" form="{0}" name="{0}" value="{1}" aria-label="Select {1}" data-select></td>'


@dataclass(frozen=True, slots=True)
class Column:
    """One column: ``key`` into the rows, how its cells are shown, and the unit for the header."""

    key: str
    title: str
    kind: str = "text"
    """What ``cascade_site.cells`` knows: ``text``, ``name``, ``link``, ``number``, ``duration``, ``size``, ``percent``, …"""
    unit: str = ""
    help: str = ""
    config: str = ""
    """The GPU config the column is about, for the choice of columns."""
    colour: int | None = None
    """That config's."""
    shown: bool = True
    """Whether it is there before anyone has chosen columns."""
    sorts: bool = True
    export_as: str | None = ""
    """Its name in exports, where that is not ``key``; None for what is only there to be looked at."""
    show: Callable[[Row], SafeString | str] | None = None
    """What its cell is, where no ``kind`` will do."""

    @property
    def is_number(self) -> bool:
        return self.kind not in ("text", "words", "name", "state", "when", "link")

    @property
    def css_class(self) -> str:
        return self.kind if self.kind in ("name", "words") else "number" if self.is_number else ""

    def cell(self, row: Row) -> SafeString:
        """Its cell of a row."""
        content = self.show(row) if self.show else cell(self.kind, row.get(self.key), row)
        return format_html('<td class="{}">{}</td>', self.css_class, content)


@dataclass(frozen=True, slots=True)
class Heading:
    """A column's header: where a click sorts to, and how it is sorted now."""

    column: Column
    href: str
    direction: str
    """``ascending``, ``descending`` or empty."""
    place: int
    """Which of several sort keys it is, from 1; 0 for none, or the only one."""


@dataclass(frozen=True, slots=True)
class ShownRow:
    """One row of the page."""

    row: Row
    cells: SafeString


class Table:
    """One table on one page. ``name`` prefixes its query parameters where a page has several."""

    def __init__(
        self,
        request: HttpRequest,
        columns: Sequence[Column],
        rows: Sequence[Row] | Rows,
        *,
        name: str = "",
        sort: str = "",
        search: Sequence[str] = ("name",),
        title: str = "table",
        page_rows: int = PAGE_ROWS,
        dress: Callable[[Row], Row] | None = None,
        select: str = "",
        export_also: Sequence[str] = (),
    ) -> None:
        """
        :param search: the keys that ``?q=`` looks at
        :param dress: what a row that is shown has besides its columns: ``href``, ``anchor``, ``css_class``
        :param select: the name of the checkboxes that choose rows by their ``id``, for the form of that name
        :param export_also: keys that are in every export, whichever columns are shown
        """
        self.request = request
        self.every_column = list(columns)
        self.all_rows: Rows = ListedRows(rows) if isinstance(rows, list | tuple) else rows  # type: ignore[assignment]
        self.prefix = f"{name}-" if name else ""
        self.search = search
        self.title = title
        self.page_rows = page_rows
        self.dress = dress
        self.select = select
        self.export_also = export_also
        self.pinned: list[Row] = []
        self.query = self._parameter("q")
        self.sort = self._parameter("sort") or sort
        self.problem = ""
        self._wanted_page = self._parameter("page")

    def _parameter(self, name: str) -> str:
        # What the database cannot store it cannot be asked for either.
        return storable_text(self.request.GET.get(self.prefix + name, "")).strip()

    def href(self, **changes: Any) -> str:
        """The page's address with some of this table's parameters changed; None removes one."""
        query = self.request.GET.copy()
        for name, value in changes.items():
            query.pop(self.prefix + name, None)
            if value is not None:
                query[self.prefix + name] = str(value)
        return "?" + query.urlencode()

    @property
    def _chosen(self) -> set[str]:
        listed = self.request.GET.getlist(self.prefix + "columns")
        return {key for value in listed for key in value.split(",")} & {column.key for column in self.every_column}

    @cached_property
    def columns(self) -> list[Column]:
        """Those that were chosen, in the table's order; without a choice those that begin shown."""
        chosen = self._chosen
        return [column for column in self.every_column if (column.key in chosen if chosen else column.shown)]

    @property
    def choices(self) -> list[tuple[Column, bool]]:
        """Every column, and whether it is shown."""
        return [(column, column in self.columns) for column in self.every_column]

    @cached_property
    def filtered(self) -> Rows:
        """The rows that match ``?q=``; a broken pattern matches as plain text and says so."""
        if not self.query:
            return self.all_rows
        text = self.query[:LONGEST_PATTERN]
        matches = self._plain(text)
        if len(text) > 2 and text.startswith("/") and text.endswith("/"):
            matches = self._pattern(text[1:-1]) or matches
        # People search for what they see, and see mangled names demangled.
        search = Search(
            text, lambda value: bool(matches(value) or (value.startswith("_Z") and matches(demangled(value))))
        )
        return self.all_rows.matching(search, self.search)

    @staticmethod
    def _plain(text: str) -> Any:
        needle = text.casefold()
        return lambda value: needle in value.casefold()

    def _pattern(self, pattern: str) -> Any:
        # Nested repeats backtrack for minutes on a long kernel name: they are not worth having here.
        if re.search(r"[*+}]\)?[*+{]|\)[*+{]", pattern):
            self.problem = "Repeats of repeats are not searched for; the text was taken as it stands."
            return None
        try:
            return re.compile(pattern, re.IGNORECASE).search
        except re.error as error:
            self.problem = f"The pattern cannot be read ({error}); the text was taken as it stands."
            return None

    @cached_property
    def sort_keys(self) -> list[tuple[str, bool]]:
        """``[(key, descending), …]`` of the columns that exist and sort, each once."""
        known = {column.key for column in self.every_column if column.sorts}
        wanted = [(key.lstrip("-"), key.startswith("-")) for key in self.sort.split(",")]
        return list({key: (key, descending) for key, descending in reversed(wanted) if key in known}.values())[::-1]

    @cached_property
    def sorted(self) -> Rows:
        """All filtered rows in order."""
        return self.filtered.ordered(self.sort_keys)

    @property
    def headings(self) -> list[Heading]:
        return [self._heading(column) for column in self.columns]

    def _heading(self, column: Column) -> Heading:
        """A click makes the column the first key; those it was sorted by before decide between equal values."""
        keys = self.sort_keys
        current = dict(keys)
        place = next((n for n, (key, _) in enumerate(keys, start=1) if key == column.key), 0)
        descending = not current[column.key] if place == 1 else current.get(column.key, column.is_number)
        others = [(key, down) for key, down in keys if key != column.key]
        sort = ",".join(
            f"{'-' if down else ''}{key}" for key, down in [(column.key, descending), *others][:MOST_SORT_KEYS]
        )
        direction = "" if not place else "descending" if current[column.key] else "ascending"
        href = self.href(sort=sort, page=None) if column.sorts else ""
        return Heading(column, href, direction, place if len(keys) > 1 else 0)

    @property
    def pages(self) -> int:
        return max(1, -(-len(self.filtered) // self.page_rows))

    @property
    def page(self) -> int:
        text = self._wanted_page
        return min(max(1, int(text)), self.pages) if text.isascii() and text.isdigit() and len(text) < 10 else 1

    def turn_to(self, place: int | None) -> None:
        """Show the page that has the row at this place of the sorted ones, unless a page was asked for."""
        if not self._wanted_page and place is not None:
            self._wanted_page = str(place // self.page_rows + 1)

    @cached_property
    def shown(self) -> list[Row]:
        """The page's rows."""
        start = (self.page - 1) * self.page_rows
        rows = self.sorted.part(start, start + self.page_rows)
        return [row | self.dress(row) for row in rows] if self.dress else rows

    @property
    def rows(self) -> Iterator[ShownRow]:
        return map(self._shown_row, self.shown)

    @property
    def pinned_rows(self) -> Iterator[ShownRow]:
        """Rows that stay on top, whatever the others are filtered and sorted by."""
        return map(self._shown_row, self.pinned)

    def _shown_row(self, row: Row) -> ShownRow:
        first = format_html(_SELECT, self.select, row["id"]) if self.select else ""
        cells = [(first,), *((column.cell(row),) for column in self.columns)]
        return ShownRow(row, format_html_join("", "{}", cells))

    @property
    def previous_href(self) -> str | None:
        return self.href(page=self.page - 1) if self.page > 1 else None

    @property
    def next_href(self) -> str | None:
        return self.href(page=self.page + 1) if self.page < self.pages else None

    @property
    def query_name(self) -> str:
        return f"{self.prefix}q"

    @property
    def columns_name(self) -> str:
        return f"{self.prefix}columns"

    def _others(self, *names: str) -> list[tuple[str, str]]:
        """The address's parameters without some of this table's, for a form's hidden fields."""
        left_out = {self.prefix + name for name in names}
        return [(name, value) for name, values in self.request.GET.lists() for value in values if name not in left_out]

    @property
    def others_than_query(self) -> list[tuple[str, str]]:
        return self._others("q", "page")

    @property
    def others_than_columns(self) -> list[tuple[str, str]]:
        return self._others("columns", "page")

    @property
    def unfiltered_href(self) -> str:
        return self.href(q=None, page=None)

    @property
    def unsorted_href(self) -> str:
        return self.href(sort=None, page=None)

    @property
    def default_columns_href(self) -> str:
        return self.href(columns=None)

    @property
    def exports(self) -> list[tuple[str, str]]:
        return [(kind, self.href(format=kind, page=None)) for kind in _WRITERS]

    def export(self) -> HttpResponse | None:
        """The answer to ``?format=``, as filtered and sorted; None where the page itself is asked for."""
        writer = _WRITERS.get(self._parameter("format"))
        if writer is None:
            return None
        key_of = {key: key for key in self.export_also}
        key_of |= {
            column.export_as or column.key: column.key for column in self.columns if column.export_as is not None
        }
        rows = ({name: row.get(key) for name, key in key_of.items()} for row in self.sorted.each())
        content_type, write = writer
        return _download(write(list(key_of), rows), content_type, f"{self.title}.{self._parameter('format')}")


_WRITERS: dict[str, tuple[str, Callable[[Sequence[str], Iterator[Row]], bytes]]] = {
    "csv": ("text/csv; charset=utf-8", csv_bytes),
    "json": ("application/json", json_bytes),
    "parquet": ("application/vnd.apache.parquet", parquet_bytes),
}


def _download(body: bytes, content_type: str, filename: str) -> HttpResponse:
    safe = re.sub(r"[^A-Za-z0-9._-]", "_", filename)
    response = HttpResponse(io.BytesIO(body), content_type=content_type)
    response["Content-Disposition"] = f'attachment; filename="{safe}"'
    return response
