"""The operators' view of traces: what there is, what it takes, what failed."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html

from cascade_site import formats
from cascade_site.storage import delete_tree
from traces.models import Trace, TraceKernel


@admin.register(Trace)
class TraceAdmin(admin.ModelAdmin):
    """Traces by size and state. One that no run uses can be removed, its files with it."""

    list_display = ["id", "page", "status", "workload", "gpu", "kernels_total", "size", "created_at", "detail"]
    list_filter = ["status", "binary_version"]
    search_fields = ["id", "workload", "gpu"]
    date_hierarchy = "created_at"
    list_per_page = 50
    show_full_result_count = False
    readonly_fields = [field.name for field in Trace._meta.fields if field.name not in ("workload", "gpu")]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    @admin.display(description="size", ordering="size_bytes")
    def size(self, trace: Trace) -> str:
        return formats.size(trace.size_bytes)

    @admin.display(description="page")
    def page(self, trace: Trace) -> str:
        return format_html('<a href="/traces/{}">open</a>', trace.id)

    def delete_model(self, request: HttpRequest, obj: Trace) -> None:
        """The row first: files without a row are swept, a row without files would be a broken trace."""
        prefix = obj.prefix
        super().delete_model(request, obj)
        if prefix:
            delete_tree(prefix)

    def delete_queryset(self, request: HttpRequest, queryset: "QuerySet[Trace]") -> None:
        for trace in queryset:
            self.delete_model(request, trace)


@admin.register(TraceKernel)
class TraceKernelAdmin(admin.ModelAdmin):
    list_display = ["trace_id", "index", "name", "instructions", "real_ns", "identical_to"]
    search_fields = ["trace__id", "name"]
    list_per_page = 50
    show_full_result_count = False

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False
