"""Celery's part: a message per queued sim, holding its id and nothing else; the database decides who does it."""

import logging
import os
from typing import Any

from celery import shared_task
from celery.exceptions import Reject
from django.utils import timezone
from kombu.exceptions import OperationalError

from sims import worker
from sims.models import Sim
from sims.sharding import finish
from sims.supervision import follow_times_since, post_timeline, supervise

logger = logging.getLogger(__name__)


def dispatch(sim_id: str) -> None:
    """Send the task of a queued sim. A broker that is away only delays it: the reaper sends it later."""
    try:
        simulate.delay(sim_id)
    except (OperationalError, OSError) as error:
        logger.warning("Sim %s waits for the broker: %s", sim_id, error)
        return
    Sim.everything.filter(pk=sim_id).update(dispatched_at=timezone.now())


@shared_task(bind=True)
def simulate(self: Any, sim_id: str) -> None:
    """Do one sim, if nobody else does: a message may come twice, late, or for a sim that was cancelled."""
    if worker.is_shutting_down():
        # It may still be given what another of its tasks has just put back.
        raise Reject("the worker shuts down", requeue=True)
    attempt = Sim.everything.claim(sim_id, f"{self.request.hostname or 'local'}/{os.getpid()}")
    if attempt is None:
        return
    sim = Sim.everything.select_related("run__trace").get(pk=sim_id)
    if supervise(sim, attempt, worker.lifeline()):
        dispatch(sim_id)
    else:
        follow_times_since(sim)


@shared_task
def finish_whole(whole_id: str) -> None:
    """Merge a sim whose shards have all ended: their step timeline first, since it may take a while, then the rest."""
    whole = Sim.objects.select_related("run__trace").get(pk=whole_id)
    if not whole.has_ended:
        post_timeline(whole)
        finish(whole_id)
        follow_times_since(whole)
