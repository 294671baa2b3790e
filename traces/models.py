"""Traces: what a profiler recorded, kernel by kernel."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from django.db import models, transaction
from django.db.models import Sum
from django.utils import timezone

from cascade_site.fields import UnsignedField
from cascade_site.packing import packed, unpacked

MAX_WARNINGS = 30


class RealTime(NamedTuple):
    """What was measured of one launch."""

    real_ns: int | None = None
    start_ns: int | None = None
    step: int | None = None
    phase: str | None = None


class TraceStatus(models.TextChoices):
    UPLOADING = "uploading"
    READY = "ready"
    FAILED = "failed"


class TraceQuerySet(models.QuerySet["Trace"]):
    def newest_first(self) -> "TraceQuerySet":
        return self.order_by("-created_at", "-id")


class Trace(models.Model):
    """One workload as it was recorded: an Accel-Sim trace, and real kernel times where they are known."""

    id = models.CharField(primary_key=True, max_length=200)
    status = models.CharField(max_length=10, choices=TraceStatus.choices, default=TraceStatus.UPLOADING)
    detail = models.TextField(null=True, blank=True)
    created_at = models.DateTimeField(default=timezone.now, db_index=True)
    workload = models.TextField(null=True, blank=True)
    gpu = models.TextField(null=True, blank=True)
    binary_version = models.IntegerField(null=True, blank=True)
    tracer_version = models.IntegerField(null=True, blank=True)
    nvbit_version = models.CharField(max_length=100, null=True, blank=True)
    kernels_total = models.PositiveIntegerField(null=True, blank=True)
    size_bytes = models.BigIntegerField(null=True, blank=True)
    real_ns = models.BigIntegerField(null=True, blank=True)
    metadata = models.JSONField(default=dict, blank=True)
    prefix = models.CharField(max_length=400, blank=True, help_text="Where its files lie in storage.")
    folder = models.TextField(
        blank=True, help_text="A folder on the server that is read in place of storage (ingest_trace without a copy)."
    )
    list_name = models.CharField(max_length=255, blank=True, help_text="The kernelslist, relative to the prefix.")
    warnings = models.JSONField(default=list, blank=True)
    times_report = models.JSONField(
        default=dict, blank=True, help_text="Where the real times are from, what was matched and what was not."
    )

    objects = TraceQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at", "-id"]

    def __str__(self) -> str:
        return self.id

    @property
    def generation(self) -> str:
        """Tells it from others of its name: one may be replaced, or deleted and brought again."""
        return f"{self.id}-{self.created_at:%Y%m%dT%H%M%S.%f}"

    @property
    def state_of_times(self) -> tuple[str | int | None, ...]:
        """What its kernels' real times depend on: as long as it is equal, so are they."""
        return self.generation, self.prefix, self.times_report.get("set_at"), self.real_ns

    @transaction.atomic
    def fail(self, detail: str) -> None:
        """The trace cannot be used, and why. What an earlier ingest made of it stays out of the way."""
        self.status = TraceStatus.FAILED
        self.detail = detail
        self.save(update_fields=["status", "detail"])

    @transaction.atomic
    def replace_kernels(self, kernels: list["TraceKernel"]) -> None:
        """The kernels of this trace, in launch order, in place of any that it had."""
        # Whoever rewrites kernels holds this lock: none comes back that is deleted here.
        Trace.objects.select_for_update().get(pk=self.pk)
        self.kernels.all().delete()
        RealRun.objects.filter(trace=self).delete()
        TraceKernel.objects.bulk_create(kernels, batch_size=500)
        self.kernels_total = len(kernels)
        self.save(update_fields=["kernels_total"])

    @transaction.atomic
    def set_real_times(
        self, times: "Mapping[int, RealTime]", report: dict[str, Any], launches: Sequence[Mapping[str, Any]] = ()
    ) -> None:
        """Real times by kernel index, replacing all earlier ones, and the report of how they were matched.

        :param launches: the real run's, as ``traces.real_run`` writes them, where its times tell when each began
        """
        Trace.objects.select_for_update().get(pk=self.pk)
        kernels = list(self.kernels.all())
        for kernel in kernels:
            time = times.get(kernel.index, RealTime())
            kernel.real_ns, kernel.start_ns, kernel.step, kernel.phase = time
        TraceKernel.objects.rewrite(kernels, RealTime._fields)
        self.real_ns = self.kernels.aggregate(total=Sum("real_ns"))["total"]
        self.times_report = report
        self.save(update_fields=["gpu", "real_ns", "times_report"])
        RealRun.objects.filter(trace=self).delete()
        if launches:
            RealRun.objects.create(trace=self, launches_packed=packed(launches))

    @property
    def real_launches(self) -> list[dict[str, Any]]:
        """The real run's launches, as ``traces.real_run`` writes them; none where it is not known when each began."""
        found = RealRun.objects.filter(trace=self).first()
        return unpacked(found.launches_packed) if found else []

    @transaction.atomic
    def set_contents(self, facts: dict[int, tuple[int, str]], problems: Sequence[str] = ()) -> bool:
        """Instruction count and content hash per kernel index; marks each launch whose content came before.

        :param problems: what kept other kernels from being read, for the trace's warnings
        :returns: False where another trace has taken the name since the files were read; it stays as it is
        """
        trace = Trace.objects.select_for_update().get(pk=self.pk)
        if trace.generation != self.generation:
            return False
        first_with: dict[str, int] = {}
        kernels = list(trace.kernels.order_by("index"))
        for kernel in kernels:
            if kernel.index not in facts:
                continue
            kernel.instructions, kernel.content_hash = facts[kernel.index]
            first = first_with.setdefault(kernel.content_hash, kernel.index)
            kernel.identical_to = first if first != kernel.index else None
        TraceKernel.objects.rewrite(kernels, ("instructions", "content_hash", "identical_to"))
        if problems:
            trace.warnings = list(dict.fromkeys([*trace.warnings, *problems]))[:MAX_WARNINGS]
            trace.save(update_fields=["warnings"])
        return True


class TraceKernelQuerySet(models.QuerySet["TraceKernel"]):
    def rewrite(self, kernels: Sequence["TraceKernel"], fields: Sequence[str]) -> None:
        """Bring these fields of kernels that are all stored to what the objects have.

        As UPDATEs, with a case for each row, 20,000 would take five times as long.
        """
        TraceKernel.objects.bulk_create(
            kernels, batch_size=500, update_conflicts=True, unique_fields=["id"], update_fields=fields
        )


class TraceKernel(models.Model):
    """One kernel launch of a trace. ``index`` counts from 1 in launch order."""

    trace = models.ForeignKey(Trace, on_delete=models.CASCADE, related_name="kernels")
    index = models.PositiveIntegerField()
    name = models.TextField()
    trace_file = models.CharField(max_length=400)
    grid = models.JSONField(default=list)
    block = models.JSONField(default=list)
    shared_memory_bytes = models.BigIntegerField(default=0)
    registers_per_thread = models.IntegerField(default=0)
    stream = UnsignedField(default=0)
    instructions = models.BigIntegerField(null=True, blank=True)
    real_ns = models.BigIntegerField(null=True, blank=True)
    start_ns = models.BigIntegerField(null=True, blank=True, help_text="When it started in the real run, if known.")
    step = models.IntegerField(null=True, blank=True)
    phase = models.CharField(max_length=100, null=True, blank=True)
    content_hash = models.CharField(max_length=64, blank=True, db_index=True)
    identical_to = models.PositiveIntegerField(null=True, blank=True)

    objects = TraceKernelQuerySet.as_manager()

    class Meta:
        ordering = ["trace", "index"]
        constraints = [models.UniqueConstraint(fields=["trace", "index"], name="one_kernel_per_index")]

    def __str__(self) -> str:
        return f"{self.trace_id} #{self.index}"


class RealRun(models.Model):
    """A trace's real run, launch by launch: more than its kernels where the profiler saw more than the tracer."""

    trace = models.OneToOneField(Trace, on_delete=models.CASCADE, primary_key=True, related_name="real_run")
    launches_packed = models.BinaryField()

    def __str__(self) -> str:
        return self.trace_id
