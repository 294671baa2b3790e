"""The operators' view of sims and configs: what is stuck, what was lost, what fails and why, and what to do about it."""

import re
from datetime import timedelta
from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.db.models import F, Q, QuerySet
from django.forms import ModelForm
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html

from cascade_site.admin_lists import BoundedPaginator, ReadOnlyAdmin, value_filter
from sims.gpus import check, spec_from_dict
from sims.models import GpuConfig, Sim, SimFile, SimKernel, SimStatus
from sims.models.gpu_config import Origin
from sims.models.states import ENDED, STARTED, Report
from sims.simulators.registry import NAMES
from sims.simulators.software import DIGEST_DIGITS
from sims.tasks import dispatch
from sims.uploads import prune_files

ID = re.compile(r"(sim|run)-[0-9a-f]{12}")
DIGEST = re.compile(rf"[0-9a-f]{{{DIGEST_DIGITS}}}")


class HeartbeatFilter(admin.SimpleListFilter):
    """Started sims by how long nothing was heard of them."""

    title = "heartbeat"
    parameter_name = "heartbeat"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("stale", "stale for 20 s"), ("lost", "lease has run out"), ("stopping", "asked to stop")]

    def queryset(self, request: HttpRequest, queryset: "QuerySet[Sim]") -> "QuerySet[Sim]":
        now = timezone.now()
        started = Sim.objects.filter(status__in=STARTED).order_by()
        if self.value() == "stale":
            started = started.filter(heartbeat_at__lt=now - timedelta(seconds=20))
        elif self.value() == "lost":
            started = started.filter(lease_expires_at__lt=now)
        elif self.value() == "stopping":
            started = started.filter(stop_requested=True)
        else:
            return queryset
        # As ids: they are few, and a database that does not know it would walk the list in its order to find them.
        return queryset.filter(pk__in=started.values("pk"))


@admin.register(Sim)
class SimAdmin(admin.ModelAdmin):
    """Sims, those that are at work and unheard of first."""

    list_display = [
        "id",
        "page",
        "gpu_config",
        "simulator",
        "status",
        "attempt",
        "worker",
        "progress_text",
        "heartbeat_at",
        "reason",
    ]
    list_filter = ["status", HeartbeatFilter, value_filter("simulator", NAMES), "created_at"]
    search_fields = ["gpu_config", "worker", "detail"]
    search_help_text = (
        "A sim's or a run's whole id; the digest of the engine, binary or recording that computed it; or a part of a GPU "
        "config, a worker's name or a detail."
    )
    paginator = BoundedPaginator
    ordering = [F("lease_expires_at").asc(nulls_last=True), "-created_at"]
    list_per_page = 50
    show_full_result_count = False
    actions = ["cancel", "requeue", "mark_failed", "prune"]
    # A sim's state changes through its methods alone, which lock, check and publish: nothing of it is a form field.
    readonly_fields = [field.name for field in Sim._meta.fields]

    def get_queryset(self, request: HttpRequest) -> "QuerySet[Sim]":
        return super().get_queryset(request).defer("config")

    def get_search_results(
        self, request: HttpRequest, queryset: "QuerySet[Sim]", search_term: str
    ) -> tuple["QuerySet[Sim]", bool]:
        """By id at once, where it is one: a part of a text can only be found by reading every row."""
        if ID.fullmatch(search_term.strip()):
            named = Sim.everything.filter(Q(pk=search_term.strip()) | Q(run_id=search_term.strip()))
            return queryset.filter(pk__in=named.order_by().values("pk")), False
        if DIGEST.fullmatch(search_term.strip()):
            digest = search_term.strip()
            computed = [Q(**{f"software__{name}": digest}) for name in ("engine", "binary", "recording")]
            return queryset.filter(computed[0] | computed[1] | computed[2]), False
        return super().get_search_results(request, queryset, search_term)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Sim | None = None) -> bool:
        return False

    @admin.display(description="page")
    def page(self, sim: Sim) -> str:
        return format_html('<a href="/sims/{}">open</a>', sim.id)

    @admin.display(description="kernels")
    def progress_text(self, sim: Sim) -> str:
        return f"{sim.kernels_done} / {sim.kernels_total if sim.kernels_total is not None else '?'}"

    @admin.display(description="detail")
    def reason(self, sim: Sim) -> str:
        return (sim.detail or "")[:100]

    @admin.action(description="Cancel", permissions=["change"])
    def cancel(self, request: HttpRequest, queryset: "QuerySet[Sim]") -> None:
        for sim in queryset:
            sim.request_stop(by=f"operator {request.user}")
            self.log_change(request, sim, "Cancel asked for.")
        self.message_user(request, "Cancel was asked for.", messages.SUCCESS)

    @admin.action(description="Run again as a new attempt", permissions=["change"])
    def requeue(self, request: HttpRequest, queryset: "QuerySet[Sim]") -> None:
        queued = [sim for sim in queryset if sim.requeue(by=f"operator {request.user}")]
        for sim in queued:
            self.log_change(request, sim, "Queued again.")
            dispatch(sim.id)
        self._tell(request, len(queued), queryset.count(), "queued again; sims that have not ended were left alone")

    @admin.action(description="Mark failed", permissions=["change"])
    def mark_failed(self, request: HttpRequest, queryset: "QuerySet[Sim]") -> None:
        unfinished = [sim for sim in queryset if not sim.has_ended]
        for sim in unfinished:
            report = Report(SimStatus.FAILED, detail=f"Marked failed by {request.user}.")
            sim.heartbeat(report, by=f"operator {request.user}")
            self.log_change(request, sim, "Marked failed.")
        self._tell(request, len(unfinished), queryset.count(), "marked failed")

    @admin.action(description="Remove output files from storage", permissions=["change"])
    def prune(self, request: HttpRequest, queryset: "QuerySet[Sim]") -> None:
        removed = 0
        for sim in queryset.filter(status__in=ENDED):
            count = prune_files(sim)
            removed += count
            self.log_change(request, sim, f"Removed {count} output files.")
        self.message_user(request, f"Removed {removed} files of ended sims.", messages.SUCCESS)

    def _tell(self, request: HttpRequest, done: int, asked: int, what: str) -> None:
        level = messages.SUCCESS if done == asked else messages.WARNING
        self.message_user(request, f"{done} of {asked} sims {what}.", level)


class GpuConfigForm(ModelForm):
    """A config whose ``spec`` is whole and right, or the reason at the field."""

    class Meta:
        model = GpuConfig
        fields = ["id", "spec"]

    def clean_spec(self) -> dict[str, Any]:
        spec = self.cleaned_data["spec"]
        try:
            spec_from_dict(spec)
        except (TypeError, ValueError) as error:
            raise ValidationError(str(error)) from None
        return dict(spec)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        spec = cleaned.get("spec")
        if spec and cleaned.get("id", spec.get("id")) != spec.get("id"):
            raise ValidationError("The id and the spec's own id must be the same.")
        return cleaned


@admin.register(GpuConfig)
class GpuConfigAdmin(admin.ModelAdmin):
    """GPU configs: checked on saving, copied as a start for a new one."""

    form = GpuConfigForm
    list_display = ["id", "name", "origin", "page", "remarks", "updated_at"]
    list_filter = ["origin"]
    search_fields = ["id", "name"]
    actions = ["copy"]

    def get_readonly_fields(self, request: HttpRequest, obj: GpuConfig | None = None) -> list[str]:
        return ["id"] if obj else []

    @admin.display(description="page")
    def page(self, config: GpuConfig) -> str:
        return format_html('<a href="/gpu-configs/{}">open</a>', config.id)

    @admin.display(description="remarks")
    def remarks(self, config: GpuConfig) -> str:
        return " ".join(config.warnings)

    def save_model(self, request: HttpRequest, obj: GpuConfig, form: Any, change: bool) -> None:
        """What an operator has changed is the operator's: the next start does not put the shipped values back."""
        spec = spec_from_dict(obj.spec)
        obj.name, obj.origin, obj.updated_at = spec.name, Origin.OPERATOR, timezone.now()
        obj.warnings = check(spec)
        super().save_model(request, obj, form, change)
        for warning in obj.warnings:
            self.message_user(request, warning, messages.WARNING)

    @admin.action(description="Copy as a new config", permissions=["add"])
    def copy(self, request: HttpRequest, queryset: "QuerySet[GpuConfig]") -> None:
        for config in queryset:
            name = next(
                f"{config.id}_copy{n or ''}" for n in range(1000) if not self._exists(f"{config.id}_copy{n or ''}")
            )
            spec = config.spec | {"id": name, "name": f"{config.name} (copy)"}
            copied = GpuConfig.objects.create(id=name, name=spec["name"], spec=spec, origin=Origin.OPERATOR)
            self.log_addition(request, copied, f"Copied from {config.id}.")
            address = reverse("admin:sims_gpuconfig_change", args=[name])
            self.message_user(request, format_html('Made <a href="{}">{}</a>.', address, name), messages.SUCCESS)

    @staticmethod
    def _exists(config_id: str) -> bool:
        return GpuConfig.objects.filter(pk=config_id).exists()


class SourceFilter(admin.SimpleListFilter):
    """Results by whether the kernel itself was simulated."""

    title = "source"
    parameter_name = "source"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("simulated", "simulated"), ("same-as", "stood in for")]

    def queryset(self, request: HttpRequest, queryset: "QuerySet[SimKernel]") -> "QuerySet[SimKernel]":
        source = self.value()
        return queryset.filter(source__startswith=source) if source else queryset


@admin.register(SimKernel)
class SimKernelAdmin(ReadOnlyAdmin):
    list_display = ["sim_id", "index", "name", "cycles", "simulated_ns", "source", "limiter"]
    list_filter = [SourceFilter]
    search_fields = ["=sim__id"]
    search_help_text = "A sim's whole id."
    exclude = ["stats_packed"]

    def get_queryset(self, request: HttpRequest) -> "QuerySet[SimKernel]":
        return super().get_queryset(request).defer("stats_packed")


@admin.register(SimFile)
class SimFileAdmin(ReadOnlyAdmin):
    list_display = ["sim_id", "name", "size_bytes", "content_type", "uploaded_at"]
    search_fields = ["=sim__id"]
    search_help_text = "A sim's whole id."
