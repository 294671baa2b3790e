"""The operators' view of runs."""

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html

from cascade_site.admin_lists import WithBelongings, value_filter
from runs.events import forget
from runs.models import ENDED, Run
from sims.simulators.registry import AUTO, NAMES


@admin.register(Run)
class RunAdmin(WithBelongings):
    """Runs: filtered by state, cancelled, and removed with all that belongs to them."""

    list_display = ["id", "name", "page", "trace_id", "simulator", "status", "created_at", "started_at", "finished_at"]
    list_filter = ["status", value_filter("simulator", [AUTO, *NAMES]), "created_at"]
    search_fields = ["id", "name", "trace__id"]
    list_per_page = 50
    show_full_result_count = False
    actions = ["cancel"]
    readonly_fields = [field.name for field in Run._meta.fields if field.name != "name"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Run | None = None) -> bool:
        """A run that is going on is cancelled first: its runners would report to nothing."""
        return super().has_delete_permission(request, obj) and (obj is None or obj.status in ENDED)

    def delete_model(self, request: HttpRequest, obj: Run) -> None:
        run_id = obj.id
        super().delete_model(request, obj)
        forget(run_id)

    def delete_queryset(self, request: HttpRequest, queryset: "QuerySet[Run]") -> None:
        for run in queryset.filter(status__in=ENDED):
            self.delete_model(request, run)

    @admin.display(description="page")
    def page(self, run: Run) -> str:
        return format_html('<a href="/runs/{}">open</a>', run.id)

    @admin.action(description="Cancel", permissions=["change"])
    def cancel(self, request: HttpRequest, queryset: "QuerySet[Run]") -> None:
        for run in queryset:
            run.cancel(by=f"operator {request.user}")
            self.log_change(request, run, "Cancel asked for.")
        self.message_user(request, "Cancel was asked for.", messages.SUCCESS)
