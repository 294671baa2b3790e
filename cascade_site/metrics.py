"""``/metrics`` for Prometheus: what the service has to do, how it keeps up, and how long its requests take.

Figures of the database are read when Prometheus asks; request times are this process's own.
"""

import hmac
import ipaddress
import time
from collections.abc import Callable, Iterator

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from cascade_site.auth import bearer_token

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})

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
        from sims.operations import operations

        now = operations()
        sims = GaugeMetricFamily("cascade_sims", "Sims by status", labels=["status"])
        for status, count in now.sims.items():
            sims.add_metric([status], count)
        yield sims
        for name, help_text, value in (
            ("queue_depth", "Sims and shards that wait for a worker", now.queue_depth),
            ("oldest_heartbeat_seconds", "Since the sim at work heard of least", now.oldest_heartbeat_s),
            ("oldest_lease_age_seconds", "Since the lease that was renewed least", now.oldest_lease_age_s),
            ("leases_run_out", "Sims at work whose lease has run out", now.leases_run_out),
            ("instructions_per_second", "Warp instructions simulated, all sims at work", now.instructions_per_s),
            ("log_lag_bytes", "Written by simulators at work and not yet stored", now.log_lag_bytes),
            ("live_log_bytes", "Log stored of the sims at work", now.log_bytes),
            ("streams_open", "Event streams open in this process", open_streams()),
        ):
            yield GaugeMetricFamily(f"cascade_{name}", help_text, value=value)


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
    """Times each request under its route's pattern: paths themselves, or any word for a method, would be labels without
    end."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        start = time.perf_counter()
        response = self.get_response(request)
        match = request.resolver_match
        route = match.route if match else "unmatched"
        took = time.perf_counter() - start
        method = request.method if request.method in METHODS else "other"
        request_seconds.labels(method, route, str(response.status_code)).observe(took)
        return response
