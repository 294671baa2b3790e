"""The admin's log of who did what, to read."""

from django.contrib import admin
from django.contrib.admin.models import LogEntry

from cascade_site.admin_lists import ReadOnlyAdmin


@admin.register(LogEntry)
class AuditAdmin(ReadOnlyAdmin):
    """Who did what in the admin: to read, not to change."""

    list_display = ["action_time", "user", "content_type", "object_repr", "change_message"]
    list_filter = ["action_flag", "content_type", "action_time"]
    search_fields = ["object_repr", "change_message", "user__username"]
    list_select_related = ["user", "content_type"]
