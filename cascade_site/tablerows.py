"""What a table's rows can be: a list of dicts, or columns of which only the rows that are shown become dicts.

Both filter and sort over all rows, and hand out the few that a page shows. A missing value comes last whichever way a
column is sorted; text sorts without case.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Row = dict[str, Any]
SortKeys = Sequence[tuple[str, bool]]
"""``(key, descending)``, the most important first."""


@dataclass(frozen=True, slots=True)
class Search:
    """What is looked for: the text as it was typed, and what it means for one value."""

    text: str
    matches: Callable[[str], bool]


class Rows(Protocol):
    """Rows in some order."""

    def __len__(self) -> int: ...

    def matching(self, search: Search, keys: Sequence[str]) -> "Rows":
        """The rows with a text that matches under one of the keys."""

    def ordered(self, keys: SortKeys) -> "Rows":
        """The same rows in another order; equal ones stay as they were."""

    def part(self, start: int, stop: int) -> list[Row]:
        """Some of the rows as dicts."""

    def each(self) -> Iterator[Row]:
        """All of them, one after the other."""


class ListedRows:
    """Rows that are dicts already."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def matching(self, search: Search, keys: Sequence[str]) -> Self:
        kept = [row for row in self._rows if any(search.matches(str(row.get(key) or "")) for key in keys)]
        return type(self)(kept)

    def ordered(self, keys: SortKeys) -> Self:
        rows = list(self._rows)
        for key, descending in reversed(keys):
            present = [row for row in rows if row.get(key) is not None]
            missing = [row for row in rows if row.get(key) is None]
            rows = sorted(present, key=lambda row: _comparable(row[key]), reverse=descending) + missing
        return type(self)(rows)

    def part(self, start: int, stop: int) -> list[Row]:
        return list(self._rows[start:stop])

    def each(self) -> Iterator[Row]:
        return iter(self._rows)


def _comparable(value: Any) -> Any:
    if isinstance(value, str):
        return value.casefold()
    return tuple(value) if isinstance(value, list) else value


class ColumnRows:
    """Rows of an Arrow table: tens of thousands cost nothing until they are shown."""

    def __init__(self, table: pa.Table, order: NDArray[np.int64] | None = None) -> None:
        self._table = table
        self._order = np.arange(table.num_rows) if order is None else order

    def __len__(self) -> int:
        return len(self._order)

    def matching(self, search: Search, keys: Sequence[str]) -> Self:
        kept = np.zeros(self._table.num_rows, dtype=bool)
        for key in keys:
            texts = _dictionary(self._table[key])
            # Kernels repeat: each name is looked at once.
            kept |= np.array([search.matches(text or "") for text in texts.dictionary.to_pylist()], dtype=bool)[
                texts.indices.to_numpy(zero_copy_only=False)
            ]
        return type(self)(self._table, self._order[kept[self._order]])

    def ordered(self, keys: SortKeys) -> Self:
        if not keys:
            return self
        columns = {key: _sortable(self._table[key]) for key, _ in keys}
        chosen = pa.table(columns).take(self._order)
        by = [(key, "descending" if descending else "ascending", "at_end") for key, descending in keys]
        return type(self)(self._table, self._order[pc.sort_indices(chosen, sort_keys=by).to_numpy()])

    def part(self, start: int, stop: int) -> list[Row]:
        return list(self._table.take(self._order[start:stop]).to_pylist())

    def each(self) -> Iterator[Row]:
        for batch in self._table.take(self._order).to_batches(max_chunksize=2000):
            yield from batch.to_pylist()

    def place_of(self, key: str, value: Any) -> int | None:
        """Where the first row with this value stands."""
        found = np.flatnonzero(self._table[key].to_numpy()[self._order] == value)
        return int(found[0]) if found.size else None


def _dictionary(column: pa.ChunkedArray) -> pa.DictionaryArray:
    whole = column.combine_chunks()
    return whole if pa.types.is_dictionary(whole.type) else whole.fill_null("").dictionary_encode()


def _sortable(column: pa.ChunkedArray) -> pa.ChunkedArray:
    text = column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column
    return pc.utf8_lower(text) if pa.types.is_string(text.type) else text
