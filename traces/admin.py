"""The operators' view of traces: what there is, what it takes, what failed."""

from typing import Any, Protocol

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html

from cascade_site import formats
from cascade_site.admin_lists import ReadOnlyAdmin, WithBelongings
from cascade_site.storage import delete_tree
from traces.models import Trace, TraceKernel
from traces.stored import Stored, stored_of


class ListedTrace(Protocol):
    """A trace of the list that is shown."""

    stored: Stored


class TraceList(ChangeList):
    """The page that is shown, with what the runs of its traces have stored."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        stored = stored_of(self.result_list)
        for trace in self.result_list:
            trace.stored = stored.get(trace.pk, Stored())


@admin.register(Trace)
class TraceAdmin(WithBelongings):
    """Traces by size and state. One that no run uses can be removed, its files with it."""

    list_display = [
        "id",
        "page",
        "status",
        "workload",
        "gpu",
        "kernels_total",
        "size",
        "logs",
        "files",
        "created_at",
        "detail",
    ]
    list_filter = ["status", "binary_version", "created_at"]
    search_fields = ["id", "workload", "gpu"]
    list_per_page = 25
    show_full_result_count = False
    readonly_fields = [field.name for field in Trace._meta.fields if field.name not in ("workload", "gpu")]

    def get_changelist(self, request: HttpRequest, **options: Any) -> type[ChangeList]:
        return TraceList

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    @admin.display(description="size", ordering="size_bytes")
    def size(self, trace: Trace) -> str:
        return formats.size(trace.size_bytes)

    @admin.display(description="logs of its runs")
    def logs(self, trace: ListedTrace) -> str:
        return formats.size(trace.stored.logs_bytes)

    @admin.display(description="files of its runs")
    def files(self, trace: ListedTrace) -> str:
        return formats.size(trace.stored.files_bytes)

    @admin.display(description="page")
    def page(self, trace: Trace) -> str:
        return format_html('<a href="/traces/{}">open</a>', trace.id)

    def delete_model(self, request: HttpRequest, obj: Trace) -> None:
        """The files once the row is gone for certain: a row without files would be a broken trace."""
        prefix = obj.prefix
        super().delete_model(request, obj)
        if prefix:
            transaction.on_commit(lambda: _delete_files(prefix), robust=True)

    def delete_queryset(self, request: HttpRequest, queryset: "QuerySet[Trace]") -> None:
        for trace in queryset:
            self.delete_model(request, trace)


def _delete_files(prefix: str) -> None:
    # A trace that has taken the name meanwhile has cleared the place for its own files.
    if not Trace.objects.filter(prefix=prefix).exists():
        delete_tree(prefix)


@admin.register(TraceKernel)
class TraceKernelAdmin(ReadOnlyAdmin):
    list_display = ["trace_id", "index", "name", "instructions", "real_ns", "identical_to"]
    search_fields = ["=trace__id"]
    search_help_text = "A trace's whole id."
