"""What a Celery worker does besides its tasks: looks for lost sims, and lets running tasks know when it ends.

Celery's own shutdown waits for running tasks, which here may take hours. So every pool process holds the reading end
of a pipe whose only writing end is the worker's: it reads as ended when the worker closes it, and also when the
worker is killed.
"""

import os
import select
import warnings
from typing import Any

from celery.exceptions import SecurityWarning
from celery.signals import worker_init, worker_process_init, worker_ready, worker_shutting_down

# What it warns of, a message that runs code in a worker of root, cannot come: messages are JSON.
warnings.filterwarnings("ignore", category=SecurityWarning)

_reading_end: int | None = None
_writing_end: int | None = None


def lifeline() -> int | None:
    """A descriptor that becomes readable when this process's worker shuts down; None outside of a worker."""
    return _reading_end


def is_shutting_down() -> bool:
    """Whether this process's worker is about to end; never outside of a worker."""
    return _reading_end is not None and bool(select.select([_reading_end], [], [], 0)[0])


@worker_init.connect
def _open_lifeline(**_: Any) -> None:
    global _reading_end, _writing_end
    _reading_end, _writing_end = os.pipe()


@worker_process_init.connect
def _keep_the_reading_end(**_: Any) -> None:
    _close_writing_end()


@worker_shutting_down.connect
def _tell_tasks(**_: Any) -> None:
    _close_writing_end()


def _close_writing_end() -> None:
    global _writing_end
    if _writing_end is not None:
        os.close(_writing_end)
        _writing_end = None


@worker_ready.connect
def _start_reaper(**_: Any) -> None:
    from sims.lost import Reaper

    Reaper().start()
