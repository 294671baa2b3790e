"""The line between a runner and the task that started it: two pipes, a word a line.

The task says ``stop`` (somebody cancelled the sim), ``leave`` (the worker shuts down) or ``lease`` (the lease was
renewed); that the pipe ends means ``leave`` too: the task is gone. The runner says ``lease`` when it cannot reach the
app and asks the task, which has the database, to renew for it; and last ``end`` with what became of it.
"""

import contextlib
import json
import os
import threading
from collections.abc import Iterator
from dataclasses import asdict, dataclass

STOP, LEAVE, LEASE, END = "stop", "leave", "lease", "end"


@dataclass(frozen=True, slots=True)
class Ending:
    """How a runner ended, as it tells the task."""

    reported: bool
    """The app knows the sim's end, or knows better (it had ended, or another attempt took over)."""
    detail: str = ""
    left: bool = False
    """It was told to leave: the sim is to be done by somebody else."""


class TaskLine:
    """The runner's end of the line; without a task (a runner started by hand) nothing comes and nothing is said."""

    def __init__(self, attached: bool) -> None:
        self.is_attached = attached
        self.lease_asked_at = 0.0
        self._lock = threading.Lock()

    def words(self) -> Iterator[str]:
        """What the task says, as it says it; ``leave`` is the last word."""
        if not self.is_attached:
            return
        rest = b""
        while data := os.read(0, 4096):
            *lines, rest = (rest + data).split(b"\n")
            yield from (line.decode(errors="replace") for line in lines)
        yield LEAVE

    def ask_for_lease(self, now_s: float) -> None:
        self.lease_asked_at = now_s
        self._say(LEASE)

    def end(self, ending: Ending) -> None:
        self._say(f"{END} {json.dumps(asdict(ending))}")

    def _say(self, text: str) -> None:
        if not self.is_attached:
            return
        # A task that is gone ends the other pipe too: that is where it is noticed.
        with self._lock, contextlib.suppress(OSError):
            os.write(1, f"{text}\n".encode())


class RunnerWords:
    """The task's end of the line, for the runner's words: cuts what the pipe gives into lines, without waiting."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._rest = b""
        self.at_end = False
        os.set_blocking(fd, False)

    def read(self) -> list[str]:
        """The complete lines that have arrived."""
        try:
            data = os.read(self._fd, 65536)
        except BlockingIOError:
            return []
        self.at_end = not data
        *lines, self._rest = (self._rest + data).split(b"\n")
        return [line.decode(errors="replace") for line in lines]


def parse_ending(word: str) -> Ending | None:
    """The ``end`` word's content; None for any other word."""
    kind, _, text = word.partition(" ")
    return Ending(**json.loads(text)) if kind == END else None
