"""What the admin's lists have in common, so that each comes in a few cheap queries however many rows there are.

Two of Django's conveniences read every row of a table: the date hierarchy, and the filter over whatever values a column
has. The lists use neither.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from django.contrib import admin
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpRequest

MOST_COUNTED = 10_000


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


class DeletedWholeAdmin(admin.ModelAdmin):
    """Rows that are deleted with all that belongs to them.

    Django would ask for the right to delete each of these alone, which nobody has, and list them all for confirmation.
    """

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        known = list(objs)
        named = [str(one) for one in known]
        return named, {self.opts.verbose_name_plural: len(named)}, set(), self.in_the_way(known)

    def in_the_way(self, objs: Sequence[Any]) -> list[str]:
        """What has to be deleted first."""
        return []
