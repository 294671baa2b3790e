"""One simulation: a trace on a GPU config, by one simulator, and the states it goes through.

    queued -> starting -> running -> finished | failed | cancelled

Every change is a method that takes the row lock, checks the state it finds there, writes, and publishes its event in
the same transaction. Ended states are final. ``attempt`` is the fencing token: it rises when a sim is queued again, and
whoever writes under an older one is told to stop and changes nothing.
"""

from collections.abc import Sequence
from datetime import timedelta

from django.conf import settings
from django.db import models, transaction
from django.utils import timezone

from cascade_site import ids
from cascade_site.config_label import ConfigLabel
from runs.models import Run
from sims.gpus import is_other_gpu
from sims.models.queries import SimQuerySet, WholeSims
from sims.models.states import ENDED, ORDER, STARTED, Report, SimStatus

# What a heartbeat on the way writes: not the config, which is most of a row.
_ADVANCED_FIELDS = [
    "status",
    "kernels_done",
    "kernels_total",
    "worker",
    "detail",
    "progress",
    "software",
    "log_written_bytes",
    "started_at",
    "heartbeat_at",
    "lease_expires_at",
]


class Sim(models.Model):
    """One sim of a run, or one shard of such a sim."""

    id = models.CharField(primary_key=True, max_length=16, default=ids.sim_id)
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="sims")
    position = models.PositiveIntegerField(default=0, help_text="Its place in the run, from 0.")
    gpu_config = models.CharField(
        max_length=200, help_text="The config's id; with overrides behind it where the run has some."
    )
    config = models.JSONField(default=dict, help_text="The whole GPU config as it was at launch.")
    options = models.JSONField(default=dict, blank=True, help_text="Overrides and simulator options of this sim.")
    simulator = models.CharField(max_length=10)
    kernel_indices = models.JSONField(
        default=list, blank=True, help_text="The trace's kernels to simulate, in order; empty for all."
    )
    whole = models.ForeignKey(
        "self",
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        related_name="+",
        related_query_name="shard",
        db_index=False,  # sims_in_order begins with it
        help_text="The sim it is a shard of.",
    )
    warm_up_indices = models.JSONField(
        default=list, blank=True, help_text="Kernels of a shard that are simulated for the caches' sake only."
    )
    stand_ins = models.JSONField(
        default=dict, blank=True, help_text="Kernels that are not simulated, by the one whose result stands for theirs."
    )
    status = models.CharField(max_length=10, choices=SimStatus.choices, default=SimStatus.QUEUED)
    stop_requested = models.BooleanField(default=False)
    attempt = models.PositiveIntegerField(default=1)
    worker = models.CharField(max_length=200, null=True, blank=True)
    kernels_done = models.PositiveIntegerField(default=0)
    kernels_total = models.PositiveIntegerField(null=True, blank=True)
    cycles = models.BigIntegerField(null=True, blank=True)
    instructions = models.BigIntegerField(null=True, blank=True)
    ipc = models.FloatField(null=True, blank=True)
    simulated_ns = models.FloatField(null=True, blank=True)
    real_ns = models.BigIntegerField(null=True, blank=True)
    error = models.FloatField(null=True, blank=True, help_text="(simulated - real) / real")
    detail = models.TextField(null=True, blank=True)
    spent = models.JSONField(
        default=dict, blank=True, help_text="Cycles by where they went, over the kernels finished so far."
    )
    progress = models.JSONField(default=dict, blank=True, help_text="Instructions/s and time left, as last reported.")
    software = models.JSONField(
        default=dict,
        blank=True,
        help_text="What computed the results: versions and digests by name, as its runner found them.",
    )
    created_at = models.DateTimeField(default=timezone.now, db_index=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    heartbeat_at = models.DateTimeField(null=True, blank=True)
    lease_expires_at = models.DateTimeField(null=True, blank=True, db_index=True)
    dispatched_at = models.DateTimeField(null=True, blank=True)
    log_bytes = models.BigIntegerField(default=0)
    log_written_bytes = models.BigIntegerField(
        null=True, blank=True, help_text="What the simulator had written by the last heartbeat; the log here follows."
    )

    objects = WholeSims()
    everything = SimQuerySet.as_manager()

    actor = ""
    """Who makes the change that is under way, for its event; no column."""

    class Meta:
        ordering = ["run", "position"]
        indexes = [
            # Without it SQLite finds the whole sims of fifty runs by looking at every whole sim there is.
            models.Index(fields=["run", "whole", "position"], name="sims_of_a_run"),
            models.Index(fields=["status", "finished_at"], name="sims_by_end"),
            # The admin's order, of all sims and of one status: those at work first, the longest unheard of on top.
            models.Index(fields=["whole", "lease_expires_at", "-created_at", "-id"], name="sims_in_order"),
            models.Index(fields=["status", "whole", "lease_expires_at", "-created_at", "-id"], name="sims_of_status"),
        ]

    def __str__(self) -> str:
        return self.id

    @property
    def label(self) -> ConfigLabel:
        """What its run calls its config, taken apart."""
        return ConfigLabel.of(self.gpu_config)

    @property
    def is_of_other_gpu(self) -> bool:
        """Whether it simulates another GPU than the real times are of: what it differs from these by is no error."""
        return is_other_gpu(self.run.trace.gpu, self.config.get("name", ""), self.gpu_config)

    @property
    def has_ended(self) -> bool:
        return self.status in ENDED

    @property
    def state_of_results(self) -> tuple[str | int, ...]:
        """What the results of an ended sim depend on: as long as it is equal, so are they."""
        return self.id, self.attempt, self.status, str(self.finished_at)

    @property
    def earlier_attempts(self) -> range:
        """The attempts before this one, whose logs are kept."""
        return range(1, self.attempt)

    @property
    def core_clock_mhz(self) -> float:
        return float(self.config["core_clock_mhz"])

    def lock(self) -> "Sim":
        """The row as it is now, held until the transaction ends."""
        return Sim.everything.select_for_update().get(pk=self.pk)

    def is_superseded(self, attempt: int | None) -> bool:
        """Whether a writer of this attempt has been overtaken by a newer one. No attempt given: the current one."""
        return attempt is not None and attempt != self.attempt

    @property
    def shards(self) -> SimQuerySet:
        """The sims that do this one's work, in the order of its kernels; none for a sim in one piece."""
        return Sim.everything.filter(whole=self).order_by("position")

    @property
    def keeper(self) -> "Sim":
        """The sim whose results this one's kernels are: itself, or the whole of a shard."""
        return self.whole or self

    def changed(self) -> None:
        """Publish this sim's new state, and the run's if it ended with it. Call inside the change's transaction."""
        from runs.serializers import RunSerializer

        if self.whole_id:
            self.publish_state()
            return
        run_ended = self.run.follow_sims()
        events = [self._as_event()]
        if run_ended:
            events.append(("run", RunSerializer(Run.objects.with_sims().get(pk=self.run_id)).data))
        self.publish(events)

    def publish_state(self) -> None:
        """Tell of what a report has changed. Of a shard, the whole tells."""
        from sims.sharding import follow

        if self.whole_id:
            follow(self)
        else:
            self.publish([self._as_event()])

    def _as_event(self) -> tuple[str, object]:
        from sims.serializers import SimSerializer

        return "sim", {**SimSerializer(self).data, "by": self.actor or None}

    def publish(self, events: Sequence[tuple[str, object]]) -> None:
        from runs.events import publish

        publish(self.run_id, events)

    def heartbeat(self, report: Report, by: str = "runner") -> bool:
        """Take a runner's report, or one in its place; True tells it to stop, and then nothing has changed.

        A report that goes backwards (``starting`` after ``running``) renews the lease and moves nothing.
        """
        with transaction.atomic():
            sim = self.lock()
            if sim.has_ended or sim.is_superseded(report.attempt):
                return True
            sim.actor = by
            if report.state in ENDED:
                sim._end(report)
                return False
            sim.lease_expires_at = timezone.now() + timedelta(seconds=settings.CASCADE_LEASE_S)
            if sim.stop_requested:
                # The runner is still at work on stopping: that it lives is all there is to note.
                sim.save(update_fields=["lease_expires_at"])
                return True
            sim._advance(report)
            return False

    def _advance(self, report: Report) -> None:
        now = timezone.now()
        before, status_before = self._reported(), self.status
        if ORDER[SimStatus(report.state)] > ORDER[SimStatus(self.status)]:
            self.status = report.state
        self.started_at = self.started_at or now
        self.heartbeat_at = now
        self._note(report)
        self.save(update_fields=_ADVANCED_FIELDS)
        if self.status != status_before:
            self.changed()
        elif before != self._reported():
            # Most heartbeats only count on: nothing in them moves the run, so its row stays unlocked.
            self.publish_state()

    def _reported(self) -> tuple[object, ...]:
        """What a heartbeat can change that clients want to hear of."""
        return self.status, self.kernels_done, self.kernels_total, self.worker, self.detail, self.progress

    def _note(self, report: Report) -> None:
        if report.kernels_done is not None:
            self.kernels_done = max(self.kernels_done, report.kernels_done)
        if report.kernels_total is not None:
            self.kernels_total = report.kernels_total
        if report.worker is not None:
            self.worker = report.worker
        if report.detail is not None:
            self.detail = report.detail or None
        if report.log_written_bytes is not None:
            self.log_written_bytes = report.log_written_bytes
        if report.progress:
            self.progress = report.progress
        if report.software:
            self.software = report.software

    def _end(self, report: Report) -> None:
        now = timezone.now()
        self._note(report)
        self.status = report.state
        self.started_at = self.started_at or now
        self.heartbeat_at = self.finished_at = now
        self.lease_expires_at = None
        self.close_log()
        self.fill_in()
        self.total_up()
        self.save()
        self.changed()

    def fill_in(self) -> None:
        """Results of kernels that others stand for, once those others have theirs."""
        from sims.models.log import publish_kernels
        from sims.stand_ins import fill_in

        if self.stand_ins:
            publish_kernels(self, fill_in(self))
            self.kernels_done = max(self.kernels_done, self.kernels.count())

    def close_log(self) -> None:
        """Take what the log's parser still holds: the last block of a log that ends without another line."""
        from sims.models.log import LogState

        LogState.close(self)

    def total_up(self) -> None:
        """Totals over the kernels there are, and their error against the real times of the same kernels."""
        from sims.totals import totals

        total = totals(self)
        self.cycles, self.instructions, self.ipc = total.cycles, total.instructions, total.ipc
        self.simulated_ns, self.real_ns, self.error = total.simulated_ns, total.real_ns, total.error

    @transaction.atomic
    def total_up_again(self) -> None:
        """The totals of an ended sim anew, after the real times of its trace have changed."""
        sim = self.lock()
        if sim.has_ended:
            sim.total_up()
            sim.save(update_fields=["cycles", "instructions", "ipc", "simulated_ns", "real_ns", "error"])

    def request_stop(self, by: str = "") -> None:
        """Cancel: a queued sim ends at once, a started one when its runner hears of it, an ended one stays."""
        if self.shards.exists():
            from sims.sharding import request_stop

            request_stop(self, by)
            return
        with transaction.atomic():
            sim = self.lock()
            if sim.has_ended or sim.stop_requested:
                return
            sim.actor = by
            sim.stop_requested = True
            if sim.status == SimStatus.QUEUED:
                sim.status = SimStatus.CANCELLED
                sim.finished_at = timezone.now()
                sim.detail = "Cancelled before it started."
            sim.save()
            sim.changed()

    def give_up_lost(self) -> bool:
        """Deal with a runner that fell silent: queue the next attempt, or end the sim. True if it is queued again.

        The lease is looked at again under the lock: a heartbeat may have come since the reaper read it.
        """
        with transaction.atomic():
            sim = self.lock()
            lease = sim.lease_expires_at
            if sim.status not in STARTED or lease is None or lease >= timezone.now():
                return False
            sim.actor = "reaper"
            silence = f"Nothing was heard of worker {sim.worker or 'unknown'} for {settings.CASCADE_LEASE_S} s"
            return sim._give_up(silence)

    def give_up(self, attempt: int, why: str) -> bool:
        """The runner of this attempt is dead and has not reported an end, as its task has seen: as ``give_up_lost``."""
        with transaction.atomic():
            sim = self.lock()
            if sim.status not in STARTED or sim.attempt != attempt:
                return False
            sim.actor = "task"
            return sim._give_up(why)

    def give_back(self, attempt: int, why: str) -> bool:
        """The worker of this attempt shuts down: queue the next one at once. True if it is queued again."""
        with transaction.atomic():
            sim = self.lock()
            if sim.status not in STARTED or sim.attempt != attempt:
                return False
            sim.actor = "task"
            if sim.stop_requested:
                sim._end(Report(SimStatus.CANCELLED, detail="Cancelled."))
                return False
            sim._queue_again(f"{why}; attempt {sim.attempt + 1} is queued.")
            return True

    def _give_up(self, why: str) -> bool:
        """Queue the next attempt, or end a sim that was cancelled or has had its attempts. ``why``: no full stop."""
        if self.stop_requested:
            self._end(Report(SimStatus.CANCELLED, detail=f"{why}; the sim had been cancelled."))
            return False
        if self.attempt >= settings.CASCADE_ATTEMPTS:
            detail = f"{why}. That was attempt {self.attempt}: the sim is given up. What it finished is kept."
            self._end(Report(SimStatus.FAILED, detail=detail))
            return False
        self._queue_again(f"{why}; attempt {self.attempt + 1} is queued.")
        return True

    def requeue(self, by: str = "operator") -> bool:
        """An operator's wish: run this ended sim once more, as the next attempt. False if it has not ended."""
        with transaction.atomic():
            sim = self.lock()
            if not sim.has_ended:
                return False
            sim.actor = by
            sim._queue_again("Queued again by an operator.")
        for shard in self.shards:
            shard.requeue(by)
        return True

    def _queue_again(self, detail: str) -> None:
        """Back to queued under the next attempt number, which fences the old runner off at once: waiting for the next
        claim to raise it would leave a runner thought dead free to write until then. Kernels that the old attempt
        finished stay until the new one replaces them; its log stays readable under its number."""
        self.status = SimStatus.QUEUED
        self.attempt += 1
        self.log_bytes = 0
        self.log_written_bytes = None
        self.stop_requested = False
        self.worker = None
        self.started_at = self.finished_at = self.heartbeat_at = self.lease_expires_at = self.dispatched_at = None
        self.kernels_done = 0
        self.cycles = self.instructions = self.ipc = self.simulated_ns = self.real_ns = self.error = None
        self.detail = detail
        self.progress, self.software = {}, {}
        self.save()
        self.changed()
