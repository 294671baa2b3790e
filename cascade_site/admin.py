"""The admin's log of who did what, to read."""

from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.http import HttpRequest


@admin.register(LogEntry)
class AuditAdmin(admin.ModelAdmin):
    """Who did what in the admin: to read, not to change."""

    list_display = ["action_time", "user", "content_type", "object_repr", "change_message"]
    list_filter = ["action_flag", "content_type"]
    search_fields = ["object_repr", "change_message", "user__username"]
    date_hierarchy = "action_time"
    list_select_related = ["user", "content_type"]
    list_per_page = 50
    show_full_result_count = False

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: LogEntry | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: LogEntry | None = None) -> bool:
        return False
