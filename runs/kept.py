"""Rows that change no more, kept in the process: while a run goes on its ended sims and its trace are asked for at every view."""

import threading
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from typing import Any

MOST_ROWS = 200_000
"""Some 40 MB of kernels."""


class Kept:
    """Lists of rows by a key that holds everything they depend on; those asked for longest ago go first."""

    def __init__(self, most_rows: int = MOST_ROWS) -> None:
        self._most_rows = most_rows
        self._rows = 0
        self._kept: OrderedDict[Hashable, Sequence[Any]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> Sequence[Any] | None:
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def keep(self, key: Hashable, rows: Sequence[Any]) -> None:
        with self._lock:
            self._rows += len(rows) - len(self._kept.pop(key, ()))
            self._kept[key] = rows
            while self._rows > self._most_rows:
                _, oldest = self._kept.popitem(last=False)
                self._rows -= len(oldest)
