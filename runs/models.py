"""Runs: one trace on a set of GPU configs. A run's state follows from its sims."""

from dataclasses import asdict, fields

from django.db import models, transaction
from django.db.models import Prefetch
from django.utils import timezone

from cascade_site import ids
from cascade_site.colours import colours_by_config
from runs.figures import Figures, figures_of
from traces.models import Trace

MAX_CONFIGS_LENGTH = 1000
SORTED_BY = (
    "status",
    "trace",
    "name",
    "started_at",
    "finished_at",
    *(field.name for field in fields(Figures)),
)
"""What a hundred thousand runs are sorted by without looking at each."""


class RunStatus(models.TextChoices):
    QUEUED = "queued"
    RUNNING = "running"
    FINISHED = "finished"
    FAILED = "failed"
    CANCELLED = "cancelled"


ENDED = frozenset({RunStatus.FINISHED, RunStatus.FAILED, RunStatus.CANCELLED})


class NotFinishedError(ValueError):
    """Only a finished run can be the baseline."""


def status_from(sim_statuses: list[str]) -> str:
    """A run's status by the statuses of its sims (the contract's rule)."""
    if any(status not in ENDED for status in sim_statuses):
        return RunStatus.RUNNING if any(status != RunStatus.QUEUED for status in sim_statuses) else RunStatus.QUEUED
    for status in (RunStatus.FAILED, RunStatus.CANCELLED):
        if status in sim_statuses:
            return status
    return RunStatus.FINISHED


class RunQuerySet(models.QuerySet["Run"]):
    def newest_first(self) -> "RunQuerySet":
        return self.order_by("-created_at", "-id")

    def with_sims(self) -> "RunQuerySet":
        """Each run with its sims in the order they were asked for; the heavy columns stay in the database."""
        from sims.models import Sim

        return self.prefetch_related(Prefetch("sims", Sim.objects.light().order_by("position")))


class Run(models.Model):
    """One launch of sims for a trace."""

    id = models.CharField(primary_key=True, max_length=16, default=ids.run_id)
    name = models.CharField(max_length=200, null=True, blank=True)
    trace = models.ForeignKey(Trace, on_delete=models.PROTECT, related_name="runs")
    simulator = models.CharField(max_length=10)
    status = models.CharField(max_length=10, choices=RunStatus.choices, default=RunStatus.QUEUED)
    created_at = models.DateTimeField(default=timezone.now)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    request = models.JSONField(default=dict, help_text="The body of the request that made the run.")
    idempotency_key = models.CharField(max_length=255, null=True, blank=True, unique=True)

    configs = models.CharField(
        max_length=MAX_CONFIGS_LENGTH, default="", blank=True, help_text="Its sims' configs, for lists to search."
    )
    is_baseline = models.BooleanField(default=False, help_text="Whether other runs of its trace are held against it.")
    wall_s = models.FloatField(null=True, blank=True)
    instructions_per_s = models.FloatField(null=True, blank=True)
    slowdown = models.FloatField(null=True, blank=True)
    fastest_ns = models.FloatField(null=True, blank=True)
    error = models.FloatField(null=True, blank=True)
    mape = models.FloatField(null=True, blank=True)
    geomean_ratio = models.FloatField(null=True, blank=True)

    objects = RunQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at", "-id"]
        indexes = [
            models.Index(fields=["created_at", "id"], name="runs_in_order"),
            models.Index(fields=["trace", "error"], name="runs_error_by_trace"),
            *(models.Index(fields=[key, "created_at", "id"], name=f"runs_by_{key}") for key in SORTED_BY),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["trace"], condition=models.Q(is_baseline=True), name="one_baseline_per_trace"
            )
        ]

    def __str__(self) -> str:
        return self.id

    @property
    def kernels_done(self) -> int:
        return sum(sim.kernels_done for sim in self.sims.all())

    @property
    def kernels_total(self) -> int:
        return sum(sim.kernels_total or 0 for sim in self.sims.all())

    @property
    def colours(self) -> dict[str, int]:
        """The colour of each of its configs on its pages."""
        return colours_by_config(sim.gpu_config for sim in self.sims.all())

    @property
    def figures(self) -> dict[str, float | None]:
        """What it came to, by the names of :class:`runs.figures.Figures`; all unknown until it has ended."""
        return {field.name: getattr(self, field.name) for field in fields(Figures)}

    @property
    def took_s(self) -> float | None:
        """Wall seconds from its first sim's start to its end, or to now."""
        if self.started_at is None:
            return None
        return ((self.finished_at or timezone.now()) - self.started_at).total_seconds()

    @transaction.atomic
    def follow_sims(self) -> bool:
        """Bring the status up to what the sims say; True if this call ended the run.

        Callers hold the lock of the sim they changed. The run's own lock makes the last two sims, ending at the same
        time in two processes, see each other: without it both would read the other as still running.
        """
        run = Run.objects.select_for_update().get(pk=self.pk)
        sims = list(run.sims.values("status", "started_at"))
        status = status_from([sim["status"] for sim in sims])
        ended_now = status in ENDED and run.status not in ENDED
        started = [sim["started_at"] for sim in sims if sim["started_at"]]
        self.status = status
        self.started_at = min(started) if started else None
        if status not in ENDED:
            self.finished_at = None
        elif ended_now or run.finished_at is None:
            self.finished_at = timezone.now()
        else:
            self.finished_at = run.finished_at
        # A sim that is queued again takes the figures with it.
        self._note(figures_of(self) if status in ENDED else Figures())
        self.save(update_fields=["status", "started_at", "finished_at", *self.figures])
        return ended_now

    def _note(self, figures: Figures) -> None:
        for name, value in asdict(figures).items():
            setattr(self, name, value)

    @transaction.atomic
    def take_figures(self) -> None:
        """The figures anew, after what they compare with has changed; those of a run that goes on come at its end."""
        run = Run.objects.select_for_update().get(pk=self.pk)
        if run.status in ENDED:
            run._note(figures_of(run))
            run.save(update_fields=list(run.figures))

    def rename(self, name: str | None) -> None:
        """Give it another name, or none."""
        self.name = name or None
        self.save(update_fields=["name"])

    @transaction.atomic
    def make_baseline(self, wanted: bool = True) -> None:
        """Hold the other runs of its trace against this one, in place of whichever was; or against none.

        :raises NotFinishedError: it has not finished
        """
        if wanted and self.status != RunStatus.FINISHED:
            raise NotFinishedError(f"Run '{self.id}' is {self.status}: only a finished run can be the baseline.")
        Trace.objects.select_for_update().get(pk=self.trace_id)
        if wanted:
            Run.objects.filter(trace=self.trace_id, is_baseline=True).exclude(pk=self.pk).update(is_baseline=False)
        self.is_baseline = wanted
        self.save(update_fields=["is_baseline"])

    def cancel(self, by: str = "") -> None:
        """Ask every unfinished sim to stop. A run that has ended stays as it is."""
        for sim in self.sims.all():
            sim.request_stop(by)
