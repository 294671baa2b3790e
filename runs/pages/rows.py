"""Runs as rows of a table that the database filters, sorts and pages, since there may be a hundred thousand."""

from collections.abc import Iterator, Sequence
from functools import cached_property

from django.db.models import Count, F, OrderBy, Q

from cascade_site.tablerows import Row, Search, SortKeys
from runs.models import Run, RunQuerySet, RunStatus

FIELDS = (
    "id",
    "name",
    "trace_id",
    "status",
    "simulator",
    "configs",
    "created_at",
    "started_at",
    "finished_at",
    "wall_s",
    "instructions_per_s",
    "slowdown",
    "fastest_ns",
    "error",
    "mape",
    "geomean_ratio",
)
"""What a row has under these names, and can be sorted by."""
FEW = 500
NEVER_NULL = frozenset({"id", "trace_id", "status", "simulator", "configs", "created_at"})


class RunRows:
    """Runs, those of one state where ``status`` names one, counted by state in one query."""

    def __init__(self, runs: RunQuerySet, status: str = "", order: SortKeys = (), *, is_search: bool = False) -> None:
        self._runs = runs
        self._status = status
        self._order = order
        self._is_search = is_search

    @cached_property
    def counts(self) -> dict[str, int]:
        """How many runs there are in each state, whichever state is shown."""
        runs = self._runs.order_by()
        if self._is_search:
            # Not by GROUP BY, for which SQLite would walk the states' index and jump to each run to look into it.
            return runs.aggregate(**{value: Count("status", filter=Q(status=value)) for value in RunStatus.values})
        found = dict(runs.values_list("status").annotate(n=Count("*")))
        return {value: found.get(value, 0) for value in RunStatus.values}

    def __len__(self) -> int:
        return self.counts.get(self._status, 0) if self._status else sum(self.counts.values())

    def matching(self, search: Search, keys: Sequence[str]) -> "RunRows":
        text = search.text
        found = Q(pk__icontains=text) | Q(name__icontains=text) | Q(trace__id__icontains=text)
        runs = self._runs.filter(found | Q(configs__icontains=text))
        # Looking for a text means looking at every run: where few have it, once is enough.
        ids = list(runs.order_by().values_list("pk", flat=True)[: FEW + 1])
        if len(ids) <= FEW:
            return RunRows(Run.objects.filter(pk__in=ids), self._status, self._order)
        return RunRows(runs, self._status, self._order, is_search=True)

    def ordered(self, keys: SortKeys) -> "RunRows":
        return RunRows(self._runs, self._status, keys, is_search=self._is_search)

    @property
    def _sorted(self) -> RunQuerySet:
        runs = self._runs.filter(status=self._status) if self._status else self._runs
        # The way the last key goes, so that one of the table's indexes has them in this order.
        newest_last = bool(self._order) and not self._order[-1][1]
        ties = ("created_at", "pk") if newest_last else ("-created_at", "-pk")
        return runs.order_by(*(_by(key, descending) for key, descending in self._order), *ties)

    def part(self, start: int, stop: int | None) -> list[Row]:
        # Sorting drags along every column that is asked for: the ids alone are sorted, the few rows are fetched by them.
        ids = self._ids(start, len(self) if stop is None else min(stop, len(self)))
        runs = Run.objects.with_sims().in_bulk(ids)
        return [row_of(runs[run_id]) for run_id in ids if run_id in runs]

    def _ids(self, start: int, stop: int) -> list[str]:
        """Those of some rows, counted from the end that is closer: a database walks over all rows before them."""
        if len(self) - stop >= start:
            return list(self._sorted.values_list("pk", flat=True)[start:stop])
        backwards = self._sorted.reverse().values_list("pk", flat=True)
        return list(backwards[max(len(self) - stop, 0) : max(len(self) - start, 0)])[::-1]

    def each(self) -> Iterator[Row]:
        return iter(self._sorted.values(*FIELDS).iterator(chunk_size=2000))


def _by(key: str, descending: bool) -> OrderBy | str:
    if key in NEVER_NULL:
        return f"-{key}" if descending else key
    return F(key).desc(nulls_last=True) if descending else F(key).asc(nulls_last=True)


def row_of(run: Run) -> Row:
    """A run that is shown; its cells look at the run itself where a field is not enough."""
    return {"run": run, **{field: getattr(run, field) for field in FIELDS}}
