"""Every address of the app. Under ``/api/`` paths are strict: no trailing slash, and what is not listed is a bare 404.

The event stream of a run is routed beside Django, in ``cascade_site.asgi``.
"""

from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path, re_path
from django.views.decorators.csrf import csrf_exempt

from cascade_site import docs
from cascade_site.errors import unknown_api_path
from cascade_site.views import HealthViewSet
from runs.api import RunViewSet
from sims.api import GpuConfigViewSet, SimFileViewSet, SimViewSet
from traces.api import TraceViewSet

api_urls: list[URLPattern] = [
    path("health", HealthViewSet.as_view({"get": "show"})),
    path("traces", TraceViewSet.as_view({"get": "list", "post": "create"})),
    path("traces/<str:trace_id>", TraceViewSet.as_view({"get": "retrieve", "patch": "partial_update"})),
    path("gpu-configs", GpuConfigViewSet.as_view({"get": "list"})),
    path("runs", RunViewSet.as_view({"get": "list", "post": "create"})),
    path("runs/<str:run_id>", RunViewSet.as_view({"get": "retrieve", "patch": "partial_update"})),
    path("runs/<str:run_id>/cancel", RunViewSet.as_view({"post": "cancel"})),
    path("runs/<str:run_id>/comparison", RunViewSet.as_view({"get": "comparison"})),
    path("runs/<str:run_id>/kernels", RunViewSet.as_view({"get": "kernels"})),
    path("runs/<str:run_id>/step-timelines", RunViewSet.as_view({"get": "step_timelines"})),
    path("runs/<str:run_id>/results", RunViewSet.as_view({"get": "results"})),
    path("runs/<str:run_id>/files", RunViewSet.as_view({"get": "files"})),
    path("runs/<str:run_id>/perfetto", RunViewSet.as_view({"get": "perfetto"})),
    path("sims/<str:sim_id>/results", SimViewSet.as_view({"get": "results"})),
    path("sims/<str:sim_id>/log", SimViewSet.as_view({"get": "log"})),
    path("sims/<str:sim_id>/heartbeat", SimViewSet.as_view({"post": "heartbeat"})),
    path("sims/<str:sim_id>/logs", SimViewSet.as_view({"post": "logs"})),
    path("sims/<str:sim_id>/step-timeline", SimViewSet.as_view({"post": "step_timeline"})),
    path("sims/<str:sim_id>/files", SimFileViewSet.as_view({"get": "list"})),
    path("sims/<str:sim_id>/files/<str:name>", SimFileViewSet.as_view({"get": "retrieve", "put": "store"})),
]

urlpatterns: list[URLPattern | URLResolver] = [
    path("api/", include(api_urls)),
    re_path(r"^api(/.*)?$", csrf_exempt(unknown_api_path)),
    path("docs/openapi.json", docs.ApiDocument.as_view()),
    path("docs/api", docs.api),
    path("admin/", admin.site.urls),
    path("", include("cascade_site.page_urls")),
]

handler400 = "cascade_site.errors.bad_request"
handler403 = "cascade_site.errors.forbidden"
handler404 = "cascade_site.errors.not_found"
handler500 = "cascade_site.errors.server_error"
