"""Tables of the pages: filter, sort and page over **all** rows, by the URL; export of what is shown, by the same URL.

A table works on a list of dicts that a page has in memory (a run's kernels, say). ``?q=`` filters by text (``/…/`` as
a regular expression), ``?sort=-error,name`` sorts by several columns, ``?page=`` pages, ``?format=csv|json|parquet`` exports.
"""

import io
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.utils.functional import cached_property

from cascade_site.exports import csv_bytes, parquet_bytes

PAGE_ROWS = 100
LONGEST_PATTERN = 200

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Column:
    """One column: ``key`` into the rows, how its cells are shown, and the unit for the header."""

    key: str
    title: str
    kind: str = "text"
    """What ``parts/cell.html`` knows: ``text``, ``name``, ``link``, ``number``, ``duration``, ``size``, ``percent``, …"""
    unit: str = ""
    help: str = ""
    config: str = ""
    """The GPU config the column is about, for its colour."""

    @property
    def is_number(self) -> bool:
        return self.kind not in ("text", "words", "name", "state", "when", "config", "link")


@dataclass(frozen=True, slots=True)
class Heading:
    """A column's header: where a click sorts to, and how it is sorted now."""

    column: Column
    href: str
    direction: str
    """``ascending``, ``descending`` or empty."""


class Table:
    """One table on one page. ``name`` prefixes its query parameters where a page has several."""

    def __init__(
        self,
        request: HttpRequest,
        columns: Sequence[Column],
        rows: Sequence[Row],
        *,
        name: str = "",
        sort: str = "",
        search: Sequence[str] = ("name",),
        title: str = "table",
        page_rows: int = PAGE_ROWS,
    ) -> None:
        self.request = request
        self.columns = list(columns)
        self.all_rows = rows
        self.prefix = f"{name}-" if name else ""
        self.search = search
        self.title = title
        self.page_rows = page_rows
        self.query = self._parameter("q")
        self.sort = self._parameter("sort") or sort
        self.problem = ""

    def _parameter(self, name: str) -> str:
        return self.request.GET.get(self.prefix + name, "").strip()

    def href(self, **changes: Any) -> str:
        """The page's address with some of this table's parameters changed; None removes one."""
        query = self.request.GET.copy()
        for name, value in changes.items():
            query.pop(self.prefix + name, None)
            if value is not None:
                query[self.prefix + name] = str(value)
        return "?" + urlencode(query, doseq=True)

    @cached_property
    def filtered(self) -> list[Row]:
        """The rows that match ``?q=``; a broken pattern matches as plain text and says so."""
        if not self.query:
            return list(self.all_rows)
        text = self.query[:LONGEST_PATTERN]
        matches = self._plain(text)
        if len(text) > 2 and text.startswith("/") and text.endswith("/"):
            matches = self._pattern(text[1:-1]) or matches
        return [row for row in self.all_rows if any(matches(str(row.get(key) or "")) for key in self.search)]

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

    @property
    def sort_keys(self) -> list[tuple[str, bool]]:
        """``[(key, descending), …]`` of the columns that exist."""
        known = {column.key for column in self.columns}
        keys = [(key.lstrip("-"), key.startswith("-")) for key in self.sort.split(",") if key]
        return [(key, descending) for key, descending in keys if key in known]

    @cached_property
    def sorted(self) -> list[Row]:
        """All filtered rows in order; a missing value comes last whichever way a column is sorted."""
        rows = self.filtered
        for key, descending in reversed(self.sort_keys):
            present = [row for row in rows if row.get(key) is not None]
            missing = [row for row in rows if row.get(key) is None]
            rows = sorted(present, key=lambda row: _comparable(row[key]), reverse=descending) + missing
        return rows

    @property
    def headings(self) -> list[Heading]:
        current = dict(self.sort_keys)
        headings = []
        for column in self.columns:
            descending = current.get(column.key)
            first_click_descends = column.is_number
            wanted = not descending if descending is not None else first_click_descends
            direction = "" if descending is None else "descending" if descending else "ascending"
            href = self.href(sort=("-" if wanted else "") + column.key, page=None)
            headings.append(Heading(column, href, direction))
        return headings

    @property
    def pages(self) -> int:
        return max(1, -(-len(self.filtered) // self.page_rows))

    @property
    def page(self) -> int:
        text = self._parameter("page")
        return min(max(1, int(text)), self.pages) if text.isascii() and text.isdigit() and len(text) < 10 else 1

    @property
    def rows(self) -> list[list[tuple[Column, Any, Row]]]:
        """The page's rows as cells: ``(column, value, row)``."""
        start = (self.page - 1) * self.page_rows
        shown = self.sorted[start : start + self.page_rows]
        return [[(column, row.get(column.key), row) for column in self.columns] for row in shown]

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
    def page_name(self) -> str:
        return f"{self.prefix}page"

    @property
    def unfiltered_href(self) -> str:
        return self.href(q=None, page=None)

    @property
    def exports(self) -> list[tuple[str, str]]:
        return [(kind, self.href(format=kind, page=None)) for kind in ("csv", "json", "parquet")]

    def export(self) -> HttpResponse | None:
        """The answer to ``?format=``, as filtered and sorted; None where the page itself is asked for."""
        kind = self._parameter("format")
        rows = [{column.key: row.get(column.key) for column in self.columns} for row in self.sorted] if kind else []
        if kind == "json":
            return _download(json.dumps(rows, default=str, indent=1).encode(), "application/json", f"{self.title}.json")
        if kind == "csv":
            return _download(csv_bytes(self._keys, rows), "text/csv; charset=utf-8", f"{self.title}.csv")
        if kind == "parquet":
            body = parquet_bytes(self._keys, rows)
            return _download(body, "application/vnd.apache.parquet", f"{self.title}.parquet")
        return None

    @property
    def _keys(self) -> list[str]:
        return [column.key for column in self.columns]


def _comparable(value: Any) -> Any:
    if isinstance(value, str):
        return value.casefold()
    return tuple(value) if isinstance(value, list) else value


def _download(body: bytes, content_type: str, filename: str) -> HttpResponse:
    safe = re.sub(r"[^A-Za-z0-9._-]", "_", filename)
    response = HttpResponse(io.BytesIO(body), content_type=content_type)
    response["Content-Disposition"] = f'attachment; filename="{safe}"'
    return response
