"""Why a simulator is ended before it is done."""

import threading
from enum import StrEnum


class StopReason(StrEnum):
    TOLD = "told"
    """Somebody cancelled the sim, or another attempt took over."""
    LEAVE = "leave"
    """The worker shuts down, or is gone."""
    FENCED = "fenced"
    """The lease could not be renewed: another runner may start at any moment."""
    UNREACHABLE = "unreachable"
    REFUSED = "refused"
    STALLED = "stalled"
    DISK = "disk"


class Stop:
    """The first reason given stands; any thread may give one."""

    def __init__(self) -> None:
        # Re-entrant: a signal handler may give a reason while the thread it interrupts is giving one.
        self._lock = threading.RLock()
        self.reason: StopReason | None = None
        self.detail = ""

    def ask(self, reason: StopReason, detail: str = "") -> None:
        with self._lock:
            if self.reason is None:
                self.reason, self.detail = reason, detail
