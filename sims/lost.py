"""The reaper: finds sims that nobody works at any more, and sees that somebody does.

Each worker has one. Any number may look at the same time, since each finding is checked again under the sim's lock.
"""

import logging
import threading
import time
from datetime import timedelta
from typing import Any

from celery import current_app
from django.conf import settings
from django.db import close_old_connections
from django.utils import timezone
from kombu.exceptions import ChannelError, OperationalError

from sims.models import Sim
from sims.sweep import sweep
from sims.tasks import dispatch, finish_whole

logger = logging.getLogger(__name__)

SWEEP_PERIOD_S = 3600


def period_s() -> float:
    """How often to look: a lost sim is taken up a quarter of a lease after its lease at the latest."""
    return settings.CASCADE_LEASE_S / 4


def delivery_patience() -> timedelta:
    """How long a message may be on its way before anybody asks for it."""
    return timedelta(seconds=settings.CASCADE_LEASE_S / 2)


def take_up_lost() -> list[str]:
    """Deal with every sim whose lease has run out; the ids of those that are queued again."""
    lost = Sim.everything.lost(timezone.now())
    queued_again = [sim.id for sim in lost if sim.give_up_lost()]
    for sim_id in queued_again:
        dispatch(sim_id)
    return queued_again


def deliver_again() -> list[str]:
    """Send tasks for queued sims whose message the broker does not have any more; their ids.

    A long queue is no reason to send everything twice: only where fewer messages wait than sims is something missing.
    One message too many does no harm, its task finds the sim taken.
    """
    waiting = list(Sim.everything.undelivered(timezone.now(), delivery_patience()).order_by("created_at"))
    if not waiting or messages_waiting() >= len(waiting):
        return []
    ids = [sim.id for sim in waiting]
    for sim_id in ids:
        dispatch(sim_id)
    return ids


def merge_forgotten() -> None:
    """Finish sims whose shards have all ended, but whose merge was cut short."""
    for whole in Sim.objects.unmerged():
        finish_whole.delay(whole.id)


def messages_waiting() -> int:
    """How many messages the broker holds for workers."""
    with current_app.connection_for_read() as connection:
        queue = current_app.conf.task_default_queue
        channel: Any = connection.default_channel
        try:
            return int(channel.queue_declare(queue, passive=True).message_count)
        except ChannelError:
            # In Redis a list without entries does not exist.
            return 0


class Reaper(threading.Thread):
    """Looks every ``period_s``; whatever goes wrong in one round is left to the next."""

    def __init__(self) -> None:
        super().__init__(name="reaper", daemon=True)
        self._swept_at = 0.0

    def run(self) -> None:
        while True:
            self._round()
            time.sleep(period_s())

    def _round(self) -> None:
        close_old_connections()
        try:
            take_up_lost()
            deliver_again()
            merge_forgotten()
            if time.monotonic() - self._swept_at > SWEEP_PERIOD_S:
                self._swept_at = time.monotonic()
                sweep()
        except OperationalError as error:
            logger.warning("The broker did not answer the reaper: %s", error)
        except Exception:
            logger.exception("A round of the reaper failed")
        finally:
            close_old_connections()
