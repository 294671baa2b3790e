"""How the service keeps up, in figures: what waits, what is at work, what has fallen behind."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings
from django.db.models import Count, F, Sum
from django.utils import timezone

from sims.models import Sim, SimKernel, SimStatus
from sims.models.states import STARTED

WARP_THREADS = 32


@dataclass(frozen=True, slots=True)
class Operations:
    """The service at one moment. A sim in shards is its shards where work is counted, and one sim where sims are."""

    sims: dict[str, int]
    """By status."""
    queue_depth: int
    oldest_heartbeat_s: float
    oldest_lease_age_s: float
    leases_run_out: int
    instructions_per_s: float
    log_bytes: int
    log_lag_bytes: int


def operations() -> Operations:
    """As the database has it now, in five queries."""
    now = timezone.now()
    counts = dict(Sim.objects.order_by().values_list("status").annotate(n=Count("id")))
    # A sim in shards neither waits for a worker nor has a runner: its shards do.
    one_piece = Sim.everything.filter(shard__isnull=True)
    working = list(
        one_piece.filter(status__in=STARTED).only(
            "started_at", "heartbeat_at", "lease_expires_at", "log_bytes", "log_written_bytes", "progress", "whole_id"
        )
    )
    leases = [sim.lease_expires_at for sim in working if sim.lease_expires_at]
    return Operations(
        sims={status: counts.get(status, 0) for status in SimStatus.values},
        queue_depth=one_piece.filter(status=SimStatus.QUEUED).count(),
        oldest_heartbeat_s=_age_s(now, (sim.heartbeat_at for sim in working)),
        oldest_lease_age_s=_age_s(now, leases) + settings.CASCADE_LEASE_S if leases else 0.0,
        leases_run_out=sum(lease < now for lease in leases),
        instructions_per_s=_instructions_per_s(now, working),
        log_bytes=sum(sim.log_bytes for sim in working),
        log_lag_bytes=sum(max((sim.log_written_bytes or 0) - sim.log_bytes, 0) for sim in working),
    )


def _age_s(now: datetime, moments: Iterable[datetime | None]) -> float:
    return max(((now - moment).total_seconds() for moment in moments if moment), default=0.0)


def _instructions_per_s(now: datetime, working: list[Sim]) -> float:
    """Warp instructions per second: as simulators report it; of those that do not, from the kernels they have finished."""
    reported = {sim.pk: sim.progress.get("instructions_per_s") for sim in working}
    speed = sum(value for value in reported.values() if isinstance(value, int | float))
    silent = {sim.pk: sim for sim in working if reported[sim.pk] is None and sim.whole_id is None and sim.started_at}
    found = SimKernel.objects.filter(sim__in=silent, attempt=F("sim__attempt")).order_by().values_list("sim")
    for sim_id, thread_instructions in found.annotate(total=Sum("instructions")):
        took_s = _age_s(now, [silent[sim_id].started_at])
        speed += (thread_instructions or 0) / WARP_THREADS / took_s if took_s > 0 else 0.0
    return speed
