"""The admin site itself: stock Django admin whose front page says how the service is doing."""

from datetime import timedelta
from typing import Any

from django.contrib import admin
from django.db.models import Count, Max
from django.http import HttpRequest
from django.template.response import TemplateResponse
from django.utils import timezone

from sims.failures import failures_by_reason
from sims.models import Sim, SimStatus
from sims.models.states import STARTED
from traces.models import Trace
from traces.stored import stored_of

STALE_S = 20


def operations() -> dict[str, Any]:
    """What an operator looks at first, in ten queries."""
    now = timezone.now()
    started = Sim.everything.filter(status__in=STARTED)
    largest = Trace.objects.filter(size_bytes__isnull=False).order_by("-size_bytes").only("id", "size_bytes")[:5]
    stored = stored_of(largest)
    return {
        "queued": Sim.everything.filter(status=SimStatus.QUEUED).count(),
        "started": started.count(),
        "stale": started.filter(heartbeat_at__lt=now - timedelta(seconds=STALE_S)).count(),
        "lost": started.filter(lease_expires_at__lt=now).count(),
        "failed": Sim.everything.filter(status=SimStatus.FAILED, finished_at__gt=now - timedelta(days=1)).count(),
        "workers": started.order_by()
        .values("worker")
        .annotate(heard=Max("heartbeat_at"), sims=Count("id"))
        .order_by("worker"),
        "reasons": failures_by_reason(),
        "largest": [(trace, stored.get(trace.id)) for trace in largest],
    }


class CascadeAdminSite(admin.AdminSite):
    """Stock Django admin under Cascade's name."""

    site_header = "Cascade"
    site_title = "Cascade admin"
    index_title = "Operations"

    def index(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> TemplateResponse:
        return super().index(request, {**(extra_context or {}), "operations": operations()})
