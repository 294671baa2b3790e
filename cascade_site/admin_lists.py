"""What the admin's lists have in common, so that each comes in a few cheap queries however many rows there are.

Two of Django's conveniences read every row of a table: the date hierarchy, and the filter over whatever values a column
has. The lists use neither.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from django.contrib import admin
from django.core.paginator import Paginator
from django.db.models import PROTECT, QuerySet
from django.http import HttpRequest

MOST_COUNTED = 10_000
MOST_NAMED = 20


def value_filter(name: str, values: Sequence[str]) -> type[admin.SimpleListFilter]:
    """A filter of a column by the values that it may have.

    :param name: the column's name, which is also the parameter's in the address
    """

    class ValueFilter(admin.SimpleListFilter):
        title = name
        parameter_name = name

        def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
            return [(value, value) for value in values]

        def queryset(self, request: HttpRequest, queryset: "QuerySet[Any]") -> "QuerySet[Any]":
            return queryset.filter(**{name: self.value()}) if self.value() else queryset

    return ValueFilter


class BoundedPaginator(Paginator):
    """Pages over the first ten thousand rows: counting many millions takes seconds, and nobody turns to page 20,000."""

    @cached_property
    def count(self) -> int:
        rows: Any = self.object_list
        return int(rows[:MOST_COUNTED].count())


class ReadOnlyAdmin(admin.ModelAdmin):
    """Rows that only the app itself writes, the newest first."""

    ordering = ["-pk"]
    list_per_page = 50
    show_full_result_count = False
    paginator = BoundedPaginator

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class WithBelongings(admin.ModelAdmin):
    """Rows that are deleted with what belongs to them. Of that nobody needs to hold a permission: only the app writes it,
    and without its owner it is nothing. It is counted and not listed, for there may be a million rows of it."""

    def get_deleted_objects(
        self, objs: Any, request: HttpRequest
    ) -> tuple[list[str], dict[str, int], set[str], list[str]]:
        chosen = list(objs)
        rows = self.model._base_manager.filter(pk__in=[row.pk for row in chosen])
        counts = {str(self.opts.verbose_name_plural): len(chosen)}
        protected = _belongings(rows, counts)
        needed = (
            set() if all(self.has_delete_permission(request, row) for row in chosen) else {str(self.opts.verbose_name)}
        )
        return [str(row) for row in chosen], counts, needed, protected


def _belongings(rows: "QuerySet[Any]", counts: dict[str, int]) -> list[str]:
    """Count what would go with some rows; what stands in the way of that, the first of it."""
    protected = []
    for relation in rows.model._meta.related_objects:
        model = relation.related_model
        if model is rows.model:  # a sim's shards are its run's too
            continue
        found = model._base_manager.filter(**{f"{relation.field.name}__in": rows.order_by().values("pk")})
        if relation.on_delete is PROTECT:
            protected += [f"{model._meta.verbose_name} {row}" for row in found[:MOST_NAMED]]
        elif count := found.count():
            counts[str(model._meta.verbose_name_plural)] = count
            protected += _belongings(found, counts)
    return protected
