"""Which sims: the questions that the reaper, the tasks and the pages ask of the table."""

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from django.conf import settings
from django.db import models, transaction
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from sims.models.states import ENDED, STARTED, SimStatus

if TYPE_CHECKING:
    from sims.models.sim import Sim  # noqa: F401


class SimQuerySet(models.QuerySet["Sim"]):
    def light(self) -> "SimQuerySet":
        """Without the columns that only one sim's own page reads."""
        return self.defer("config")

    def unfinished(self) -> "SimQuerySet":
        return self.exclude(status__in=ENDED)

    def lost(self, now: datetime) -> "SimQuerySet":
        """Started sims whose lease has run out: nobody has heard of their runner in time."""
        return self.filter(status__in=STARTED, lease_expires_at__lt=now)

    def undelivered(self, now: datetime, patience: timedelta) -> "SimQuerySet":
        """Queued sims whose task was last sent so long ago that the broker may have lost it.

        A sim in shards has no task of its own.
        """
        return self.filter(status=SimStatus.QUEUED, shard__isnull=True).filter(
            Q(dispatched_at__isnull=True) | Q(dispatched_at__lt=now - patience)
        )

    def unmerged(self) -> "SimQuerySet":
        """Sims in shards whose shards have all ended, and which have not."""
        at_work = self.model.everything.filter(whole=OuterRef("pk")).unfinished()
        shards = self.model.everything.filter(whole=OuterRef("pk"))
        return self.unfinished().filter(Exists(shards), ~Exists(at_work))

    def claim(self, sim_id: str, worker: str) -> int | None:
        """Take a queued sim for one worker: its attempt number, or None where another was first.

        The conditional UPDATE decides between any number of workers that were handed the same task.
        """
        now = timezone.now()
        with transaction.atomic():
            taken = self.filter(pk=sim_id, status=SimStatus.QUEUED, stop_requested=False).update(
                status=SimStatus.STARTING,
                worker=worker,
                started_at=now,
                heartbeat_at=now,
                lease_expires_at=now + timedelta(seconds=settings.CASCADE_LEASE_S),
            )
            if not taken:
                return None
            sim = self.get(pk=sim_id)
            sim.actor = "task"
            sim.changed()
            return sim.attempt

    def renew_lease(self, sim_id: str, attempt: int) -> bool:
        """A task's word that the runner of this attempt lives, for when the runner cannot reach the app itself.

        False if the sim has ended or another attempt took over.
        """
        expires = timezone.now() + timedelta(seconds=settings.CASCADE_LEASE_S)
        held = self.filter(pk=sim_id, attempt=attempt, status__in=STARTED)
        return bool(held.update(lease_expires_at=expires))

    def is_wanted(self, sim_id: str, attempt: int) -> bool:
        """Whether the runner of this attempt is to go on: not cancelled, not ended, not superseded."""
        return self.filter(pk=sim_id, attempt=attempt, status__in=STARTED, stop_requested=False).exists()


class WholeSims(models.Manager.from_queryset(SimQuerySet)):  # type: ignore[misc]
    """Sims as clients see them: in one piece, whether shards do their work or not."""

    def get_queryset(self) -> SimQuerySet:
        return SimQuerySet(self.model, using=self._db).filter(whole__isnull=True)
