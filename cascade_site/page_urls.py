"""The addresses of the pages. What they show and do, a client can do through ``/api/``."""

from django.urls import path

from cascade_site import pages
from cascade_site.metrics import metrics
from runs.pages import (
    changing,
    compare,
    config,
    correlation,
    detail,
    events,
    files,
    kernels,
    lanes,
    listing,
    log,
    new,
    timeline,
)
from sims import kernel_page
from sims import pages as sim_pages
from traces import pages as trace_pages

urlpatterns = [
    path("", pages.home),
    path("sign-in", pages.sign_in_page),
    path("sign-out", pages.sign_out_page),
    path("docs", pages.docs),
    path("metrics", metrics),
    path("traces", trace_pages.trace_list),
    path("traces/<str:trace_id>", trace_pages.trace_detail),
    path("traces/<str:trace_id>/times", trace_pages.trace_times),
    path("runs", listing.run_list),
    path("runs/new", new.run_new),
    path("runs/selected", listing.selected),
    path("runs/<str:run_id>", detail.summary),
    path("runs/<str:run_id>/kernels", kernels.kernels),
    path("runs/<str:run_id>/correlation", correlation.correlation),
    path("runs/<str:run_id>/timeline", timeline.timeline),
    path("runs/<str:run_id>/log", log.log),
    path("runs/<str:run_id>/files", files.files),
    path("runs/<str:run_id>/config", config.config),
    path("runs/<str:run_id>/events", events.events),
    path("runs/<str:run_id>/cancel", detail.cancel),
    path("runs/<str:run_id>/name", changing.rename),
    path("runs/<str:run_id>/baseline", changing.baseline),
    path("sims/<str:sim_id>", sim_pages.sim_detail),
    path("sims/<str:sim_id>/kernels/<int:index>", kernel_page.kernel_detail),
    path("compare", compare.compare),
    path("compare/timelines", lanes.lanes),
    path("gpu-configs", sim_pages.gpu_configs),
    path("gpu-configs/<str:config_id>", sim_pages.gpu_config),
]
