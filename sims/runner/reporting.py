"""The threads that speak for a simulation while the main one only moves bytes: heartbeat, log, and the task's words."""

import threading
import time
from collections.abc import Callable
from typing import Any

from sims.runner.api import Api, Outage, OutOfPatienceError, RefusedError
from sims.runner.assignment import Limits
from sims.runner.line import LEASE, LEAVE, STOP, TaskLine
from sims.runner.spool import LogSpool
from sims.runner.stop import Stop, StopReason

LOG_PAUSE_S = 0.3
"""Between chunks of a log that trickles, so that each line is not a request of its own."""


def now_s() -> float:
    """A clock that also counts while the machine sleeps: a lease runs out then, too."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Lease:
    """Until when nobody else starts this sim: counted from before the request that renewed it, not from its answer."""

    def __init__(self, limits: Limits) -> None:
        self._renewed_at = now_s()
        # What is left must suffice to end the simulator: SIGTERM, the grace, SIGKILL.
        self._fence_s = max(limits.lease_s - limits.grace_s - 2, limits.lease_s / 2)

    def renewed(self, asked_at: float) -> None:
        self._renewed_at = max(self._renewed_at, asked_at)

    @property
    def age_s(self) -> float:
        return now_s() - self._renewed_at

    def is_over(self) -> bool:
        return self.age_s >= self._fence_s


class Heart(threading.Thread):
    """Reports the state at fixed times, also while nothing else happens, and hears whether to stop."""

    def __init__(
        self,
        api: Api,
        lease: Lease,
        line: TaskLine,
        stop: Stop,
        limits: Limits,
        report: Callable[[], dict[str, Any]],
    ) -> None:
        super().__init__(name="heart", daemon=True)
        self._api, self._lease, self._line, self._ending = api, lease, line, stop
        self._interval_s = limits.heartbeat_s
        self._report = report
        self._wake = threading.Event()
        self._is_done = False
        self._heard_at = time.monotonic()

    def run(self) -> None:
        while not self._is_done and self._beat():
            self._wake.wait(self._interval_s)
            self._wake.clear()

    def beat_now(self) -> None:
        self._wake.set()

    def end(self) -> None:
        self._is_done = True
        self._wake.set()
        self.join(timeout=15)

    def _beat(self) -> bool:
        """One report; False when there is no sense in another."""
        asked_at = now_s()
        try:
            told_to_stop = self._api.try_heartbeat(self._report(), self._heard_at)
        except RefusedError as refusal:
            self._ending.ask(StopReason.REFUSED, f"The app refused the runner's heartbeat: {refusal}.")
            return False
        except OutOfPatienceError as error:
            self._ending.ask(StopReason.UNREACHABLE, f"The runner gave up: {error}.")
            return False
        if told_to_stop is None:
            self._line.ask_for_lease(asked_at)
            return True
        self._heard_at = time.monotonic()
        self._lease.renewed(asked_at)
        if told_to_stop:
            self._ending.ask(StopReason.TOLD)
        return True


class Listener(threading.Thread):
    """Hears what the task says."""

    def __init__(self, line: TaskLine, lease: Lease, stop: Stop, outage: Outage) -> None:
        super().__init__(name="listener", daemon=True)
        self._line, self._lease, self._ending, self._outage = line, lease, stop, outage

    def run(self) -> None:
        for word in self._line.words():
            if word == LEASE:
                self._lease.renewed(self._line.lease_asked_at)
            elif word == STOP:
                self._ending.ask(StopReason.TOLD)
            elif word == LEAVE:
                self.leave()

    def leave(self) -> None:
        self._ending.ask(StopReason.LEAVE)
        self._outage.abandon()


class LogSender(threading.Thread):
    """Sends the spooled log by offsets, piece by piece, until it is closed and all of it has arrived."""

    def __init__(self, api: Api, spool: LogSpool, stop: Stop, chunk_bytes: int) -> None:
        super().__init__(name="log", daemon=True)
        self._api, self._spool, self._ending = api, spool, stop
        self._chunk_bytes = chunk_bytes
        self._offset = 0
        self.is_complete = False

    def run(self) -> None:
        try:
            while not self.is_complete:
                # Asked before reading: what is closed after that is read in the next round.
                is_closed = self._spool.is_closed
                chunk = self._spool.read(self._offset, self._chunk_bytes)
                if chunk:
                    self._send(chunk)
                elif is_closed:
                    self.is_complete = True
                if len(chunk) < self._chunk_bytes // 2 and not self._spool.is_closed:
                    time.sleep(LOG_PAUSE_S)
        except RefusedError as refusal:
            self._ending.ask(
                StopReason.REFUSED, f"The app refused a piece of the log at byte {self._offset}: {refusal}."
            )
        except OutOfPatienceError as error:
            self._ending.ask(StopReason.UNREACHABLE, f"The log could not be sent: {error}.")

    def _send(self, chunk: bytes) -> None:
        try:
            self._api.append_log(self._offset, chunk)
            self._offset += len(chunk)
        except RefusedError as refusal:
            # The app may have less than it said: a database that was restored, say. The spool still has it all.
            if refusal.status != 409 or refusal.size_bytes is None or refusal.size_bytes >= self._offset:
                raise
            self._offset = refusal.size_bytes
