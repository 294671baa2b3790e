"""What a sim leaves behind: per-kernel statistics, and output files."""

from typing import TYPE_CHECKING, Any

from django.db import models
from django.utils import timezone

from cascade_site.fields import UnsignedField, storable_text
from cascade_site.packing import packed, unpacked
from sims.models.sim import Sim

if TYPE_CHECKING:
    from sims.statlog import KernelBlock


MAX_INDEX = 2**31 - 1


class SimKernelQuerySet(models.QuerySet["SimKernel"]):
    def light(self) -> "SimKernelQuerySet":
        """Without the full stats maps, which are most of a row."""
        return self.defer("stats_packed")

    def simulated_ns(self, sim: Sim) -> dict[int, float]:
        """Simulated times by index, without those of kernels that another stands in for."""
        stood_in_for = {int(index) for index in sim.stand_ins.get("of", {})}
        rows = self.filter(sim=sim, simulated_ns__isnull=False).values_list("index", "simulated_ns")
        return {index: ns for index, ns in rows if index not in stood_in_for}

    def keep(self, sim: Sim, blocks: "list[KernelBlock]") -> "list[SimKernel]":
        """Store finished stats blocks, replacing an earlier attempt's result of the same kernel.

        Accel-Sim also prints blocks for intervals in which no kernel ended: they are no one's result.
        """
        blocks = [block for block in blocks if block.is_kernel]
        taken = sim.keeper.kernels.filter(attempt=sim.keeper.attempt).count() if blocks else 0
        rows = [SimKernel.from_block(sim, block, number) for number, block in enumerate(blocks, start=taken + 1)]
        thrown_away = set(sim.warm_up_indices)
        return self.store([row for row in rows if row.index not in thrown_away])

    def store(self, rows: "list[SimKernel]") -> "list[SimKernel]":
        """Insert results, or put them in the place of those that are there for the same kernels."""
        # A log may claim one launch twice; no database takes the same row twice in one statement.
        return SimKernel.objects.bulk_create(
            {row.index: row for row in rows}.values(),
            batch_size=100,
            update_conflicts=True,
            unique_fields=["sim", "index"],
            update_fields=SimKernel.RESULT_FIELDS,
        )


class SimKernel(models.Model):
    """One kernel as simulated. ``index`` is the trace's, counted from 1 in launch order."""

    RESULT_FIELDS = [
        "attempt",
        "launch_uid",
        "name",
        "stream",
        "cycles",
        "launch_cycles",
        "instructions",
        "ipc",
        "simulated_ns",
        "occupancy",
        "l1_hit_rate",
        "l2_hit_rate",
        "dram_bytes",
        "source",
        "limiter",
        "stats_packed",
    ]

    sim = models.ForeignKey(Sim, on_delete=models.CASCADE, related_name="kernels")
    index = models.PositiveIntegerField()
    attempt = models.PositiveIntegerField(default=1)
    launch_uid = models.BigIntegerField(null=True)
    name = models.TextField()
    stream = UnsignedField(null=True)
    cycles = models.BigIntegerField(null=True)
    launch_cycles = models.BigIntegerField(null=True)
    instructions = models.BigIntegerField(null=True)
    ipc = models.FloatField(null=True)
    simulated_ns = models.FloatField(null=True)
    occupancy = models.FloatField(null=True)
    l1_hit_rate = models.FloatField(null=True)
    l2_hit_rate = models.FloatField(null=True)
    dram_bytes = models.BigIntegerField(null=True)
    source = models.CharField(max_length=40, default="simulated")
    limiter = models.CharField(max_length=100, blank=True)
    stats_packed = models.BinaryField(default=b"")

    objects = SimKernelQuerySet.as_manager()

    class Meta:
        ordering = ["sim", "index"]
        constraints = [models.UniqueConstraint(fields=["sim", "index"], name="one_result_per_kernel")]

    def __str__(self) -> str:
        return f"{self.sim_id} #{self.index}"

    @property
    def stats(self) -> dict[str, float]:
        """Every statistic of the kernel by its name in the log."""
        return dict(unpacked(self.stats_packed)) if self.stats_packed else {}

    @classmethod
    def from_block(cls, sim: Sim, block: "KernelBlock", number: int) -> "SimKernel":
        """A row for the ``number``-th block of the log (from 1), placed in the trace by its launch number.

        Kernels may end out of order, so the launch number counts where the log has a plausible one.
        """
        launch = block.launch_uid if block.launch_uid and 0 < block.launch_uid <= MAX_INDEX else number
        chosen: list[int] = sim.kernel_indices
        index = chosen[launch - 1] if 0 < launch <= len(chosen) else launch
        launch_cycles = min(int(sim.config.get("launch_latency_cycles") or 0), block.cycles or 0)
        if block.launch_cycles is not None:
            launch_cycles = min(block.launch_cycles, block.cycles or 0)
        simulated_ns = None
        if block.cycles is not None:
            simulated_ns = (block.cycles - launch_cycles) * 1e3 / sim.core_clock_mhz
        return cls(
            sim=sim.keeper,
            index=index,
            attempt=sim.keeper.attempt,
            launch_uid=block.launch_uid,
            name=storable_text(block.name),
            stream=block.stream,
            cycles=block.cycles,
            launch_cycles=launch_cycles,
            instructions=block.instructions,
            ipc=block.ipc,
            simulated_ns=simulated_ns,
            occupancy=block.occupancy,
            l1_hit_rate=block.l1_hit_rate,
            l2_hit_rate=block.l2_hit_rate,
            dram_bytes=block.dram_bytes,
            source=block.source,
            limiter=block.texts.get("cascade_limiter", "")[:100],
            stats_packed=packed(block.stats),
        )


class SimFile(models.Model):
    """An output file of a sim. The row appears only when its bytes are in storage under ``key``, with ``sha256``."""

    sim = models.ForeignKey(Sim, on_delete=models.CASCADE, related_name="files")
    name = models.CharField(max_length=200)
    size_bytes = models.BigIntegerField()
    sha256 = models.CharField(max_length=64)
    content_type = models.CharField(max_length=100)
    uploaded_at = models.DateTimeField(default=timezone.now)
    key = models.CharField(max_length=400)

    class Meta:
        ordering = ["sim", "name"]
        constraints = [models.UniqueConstraint(fields=["sim", "name"], name="one_file_per_name")]

    def __str__(self) -> str:
        return f"{self.sim_id}/{self.name}"


class TimelineOrigin(models.TextChoices):
    """Who made a step timeline: we, from the real run's launches, or the simulator itself."""

    PREDICTED = "predicted"
    POSTED = "posted"


class StepTimeline(models.Model):
    """A sim's predicted timeline, and its comparison with the real one."""

    sim = models.OneToOneField(Sim, on_delete=models.CASCADE, primary_key=True, related_name="step_timeline")
    timeline = models.JSONField()
    comparison = models.JSONField()
    origin = models.CharField(
        max_length=10,
        choices=TimelineOrigin.choices,
        default=TimelineOrigin.POSTED,
        help_text="What is predicted follows the trace's real times; what a simulator has posted is the simulator's.",
    )
    posted_at = models.DateTimeField(default=timezone.now)

    @staticmethod
    def keep(sim: Sim, timeline: dict[str, Any], comparison: dict[str, Any], *, origin: str, told: bool = True) -> None:
        """Store a sim's timeline in place of an earlier one, and tell of it if wanted. Call with the sim locked.

        A simulator's own timeline is knowledge that nobody here could get back: a prediction never replaces it.
        Timelines may be megabytes long: the event says that there is one, and its headline.
        """
        if (
            origin == TimelineOrigin.PREDICTED
            and StepTimeline.objects.filter(sim=sim, origin=TimelineOrigin.POSTED).exists()
        ):
            return
        values = {"timeline": timeline, "comparison": comparison, "origin": origin, "posted_at": timezone.now()}
        StepTimeline.objects.update_or_create(sim=sim, defaults=values)
        if not told:
            return
        headline = {name: comparison.get(name) for name in ("error", "mape", "coverage")}
        sim.publish([("step-timeline", {"sim_id": sim.id, "gpu_config": sim.gpu_config, **headline})])
