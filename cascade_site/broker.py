"""Celery's Redis transport, for a Redis that goes away while tasks run.

kombu 5.7 then puts unacknowledged messages back over the connection that is no more, which ends the worker (an
``AttributeError`` that Celery does not take for a lost connection). Nothing is lost without it: sims are claimed in the
database, and the reaper sends again what no broker has.
"""

import logging
from typing import Any

from kombu.transport import TRANSPORT_ALIASES, redis, virtual

logger = logging.getLogger(__name__)


class QoS(redis.QoS):
    """Unacknowledged messages, of which nothing is said to a Redis whose connection was given up."""

    @property
    def _is_cut_off(self) -> bool:
        return getattr(self.channel.connection, "client", None) is None

    def restore_unacked(self, client: Any = None) -> None:
        if not self._is_cut_off:
            super().restore_unacked(client)
            return
        logger.warning("The broker is gone with %d unacknowledged messages.", len(self._delivered))
        self._delivered.clear()

    def ack(self, delivery_tag: str) -> None:
        if not self._is_cut_off:
            super().ack(delivery_tag)
        else:
            virtual.QoS.ack(self, delivery_tag)

    def reject(self, delivery_tag: str, requeue: bool = False) -> None:
        if not self._is_cut_off:
            super().reject(delivery_tag, requeue)
        else:
            virtual.QoS.ack(self, delivery_tag)


class Channel(redis.Channel):
    QoS = QoS


class Transport(redis.Transport):
    Channel = Channel


def use() -> None:
    """Make it the transport of ``redis://`` addresses."""
    TRANSPORT_ALIASES["redis"] = TRANSPORT_ALIASES["rediss"] = f"{__name__}:Transport"
