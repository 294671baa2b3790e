"""``/metrics`` for Prometheus: what the service has to do, how it keeps up, and how long its requests take.

Figures of the database are read when Prometheus asks; request times are this process's own.
"""

import hmac
import ipaddress
import time
from collections.abc import Callable, Iterator

from django.conf import settings
from django.db.models import Count, Min, Sum
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils import timezone
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from cascade_site.auth import bearer_token

registry = CollectorRegistry()

request_seconds = Histogram(
    "cascade_request_seconds",
    "Time from a request's arrival in Django to its response, by route",
    ["method", "route", "status"],
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
    registry=registry,
)


class ServiceCollector(Collector):
    """What the database says, at the moment of asking."""

    def collect(self) -> Iterator[Metric]:
        from runs.stream.hub import open_streams
        from sims.models import Sim, SimStatus
        from sims.models.states import STARTED

        sims = GaugeMetricFamily("cascade_sims", "Sims by status", labels=["status"])
        counts = dict(Sim.everything.order_by().values_list("status").annotate(n=Count("id")))
        for status in SimStatus.values:
            sims.add_metric([status], counts.get(status, 0))
        yield sims
        yield GaugeMetricFamily("cascade_queue_depth", "Sims that wait for a worker", value=counts.get("queued", 0))
        started = Sim.everything.filter(status__in=STARTED)
        oldest = started.aggregate(oldest=Min("heartbeat_at"))["oldest"]
        age = (timezone.now() - oldest).total_seconds() if oldest else 0.0
        yield GaugeMetricFamily("cascade_oldest_heartbeat_seconds", "Since the started sim heard of least", value=age)
        speeds = started.values_list("progress__instructions_per_s", flat=True)
        speed = sum(value for value in speeds if isinstance(value, int | float))
        yield GaugeMetricFamily("cascade_instructions_per_second", "Warp instructions simulated, all sims", value=speed)
        log_bytes = started.aggregate(total=Sum("log_bytes"))["total"] or 0
        yield GaugeMetricFamily("cascade_live_log_bytes", "Log stored of the sims at work", value=log_bytes)
        yield GaugeMetricFamily("cascade_streams_open", "Event streams open in this process", value=open_streams())


registry.register(ServiceCollector())


def _may_read(request: HttpRequest) -> bool:
    """With ``CASCADE_METRICS_TOKEN`` its bearer; without it whoever asks from this machine."""
    token = settings.CASCADE_METRICS_TOKEN
    if token:
        given = bearer_token(request.headers.get("Authorization", "")) or ""
        return hmac.compare_digest(given.encode(), token.encode())
    try:
        # Behind a proxy every request seems to come from here: one that was forwarded does not count as local.
        local = ipaddress.ip_address(request.META.get("REMOTE_ADDR", "")).is_loopback
    except ValueError:
        return False
    return local and "X-Forwarded-For" not in request.headers


@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    if not _may_read(request):
        response = HttpResponse("Not for you.\n", status=401, content_type="text/plain")
        response["WWW-Authenticate"] = "Bearer"
        return response
    return HttpResponse(generate_latest(registry), content_type=CONTENT_TYPE_LATEST)


class RequestTimesMiddleware:
    """Times each request under its route's pattern: paths themselves would be labels without end."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        start = time.perf_counter()
        response = self.get_response(request)
        match = request.resolver_match
        route = match.route if match else "unmatched"
        took = time.perf_counter() - start
        request_seconds.labels(request.method, route, str(response.status_code)).observe(took)
        return response
