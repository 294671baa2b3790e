"""The states of a sim, and what a runner reports."""

from dataclasses import dataclass, field
from typing import Any

from django.db import models


class SimStatus(models.TextChoices):
    QUEUED = "queued"
    STARTING = "starting"
    RUNNING = "running"
    FINISHED = "finished"
    FAILED = "failed"
    CANCELLED = "cancelled"


ENDED = frozenset({SimStatus.FINISHED, SimStatus.FAILED, SimStatus.CANCELLED})
STARTED = frozenset({SimStatus.STARTING, SimStatus.RUNNING})
ORDER = {SimStatus.QUEUED: 0, SimStatus.STARTING: 1, SimStatus.RUNNING: 2}


@dataclass(frozen=True, slots=True)
class Report:
    """What a runner says in one heartbeat; None means it says nothing of that."""

    state: str
    attempt: int | None = None
    kernels_done: int | None = None
    kernels_total: int | None = None
    worker: str | None = None
    detail: str | None = None
    log_written_bytes: int | None = None
    progress: dict[str, Any] = field(default_factory=dict)
    software: dict[str, str] = field(default_factory=dict)
