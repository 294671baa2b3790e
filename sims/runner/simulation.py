"""One simulator process: started bound to this one, its pipes drained together, ended with all that it started."""

import errno
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

from sims.runner.leash import leashed
from sims.runner.processes import kill_descendants, signal_group
from sims.runner.spool import ErrorSpool, LogSpool
from sims.simulators.base import Command

READ_BYTES = 256 * 1024
DRAIN_S = 1.0
"""How long pipes are read on after the simulator ended: what it started may hold them open for ever."""


def clean_environment(extra: Mapping[str, str], work_folder: Path, project: Path) -> dict[str, str]:
    """What a simulator may know: no token, no database, no key of the object storage."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "TZ", "USER", "VIRTUAL_ENV") if name in os.environ}
    own = {"LANG": "C.UTF-8", "PYTHONPATH": str(project), "PYTHONUNBUFFERED": "1", "TMPDIR": str(work_folder)}
    return {**kept, **own, **extra}


class Simulation:
    """The process and its two spools. All methods belong to one thread, the one that calls ``pump``."""

    def __init__(
        self,
        command: Command,
        work_folder: Path,
        project: Path,
        log: LogSpool,
        errors: ErrorSpool,
        limits: Mapping[str, int] | None = None,
    ) -> None:
        self._log = log
        self._errors = errors
        self._kill_at: float | None = None
        self.last_output_at = time.monotonic()
        self.disk_error: OSError | None = None
        # Its own group, so that all of it can be signalled at once, and not ours with it.
        self.process = subprocess.Popen(
            leashed(command.argv, yields=True, limits=limits),
            cwd=work_folder,
            env=clean_environment(command.environment, work_folder, project),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            process_group=0,
        )
        self._selector = selectors.DefaultSelector()
        for pipe, take in ((self.process.stdout, self._take_log), (self.process.stderr, self._take_error)):
            if pipe is not None:
                os.set_blocking(pipe.fileno(), False)
                self._selector.register(pipe, selectors.EVENT_READ, take)

    def watch(self, fd: int) -> None:
        """Let something readable on ``fd`` end a ``pump`` early."""
        self._selector.register(fd, selectors.EVENT_READ, None)

    def pump(self, timeout_s: float) -> bytes:
        """Move what is there from the pipes to the spools; waits for it. Returns the log's new text."""
        fresh = []
        for key, _ in self._selector.select(timeout_s):
            if key.data is None:
                continue
            try:
                data = os.read(key.fd, READ_BYTES)
            except BlockingIOError:
                continue
            if data:
                self.last_output_at = time.monotonic()
                fresh.append(key.data(data))
            else:
                self._selector.unregister(key.fileobj)
        return b"".join(fresh)

    @property
    def pipes_are_open(self) -> bool:
        return any(key.data for key in self._selector.get_map().values())

    def is_over(self) -> bool:
        """Whether the process has ended; past its time after ``terminate`` it is killed here."""
        if self._kill_at is not None and time.monotonic() >= self._kill_at:
            signal_group(self.process.pid, signal.SIGKILL)
        return self.process.poll() is not None

    def terminate(self, grace_s: float) -> None:
        """SIGTERM to the whole group now; SIGKILL after ``grace_s`` (while ``is_over`` is being asked)."""
        if self._kill_at is None:
            self._kill_at = time.monotonic() + grace_s
            signal_group(self.process.pid, signal.SIGTERM)

    def clear_away(self) -> bytes:
        """The process has ended: end what it left behind, and take what is still in the pipes."""
        signal_group(self.process.pid, signal.SIGKILL)
        kill_descendants()
        fresh = []
        drained_by = time.monotonic() + DRAIN_S
        while self.pipes_are_open and time.monotonic() < drained_by:
            fresh.append(self.pump(0.05))
        self._selector.close()
        return b"".join(fresh)

    def _take_log(self, data: bytes) -> bytes:
        if self.disk_error is not None:
            return b""
        try:
            return self._log.write(data)
        except OSError as error:
            self.disk_error = error
            self._log.abandon()
            return b""

    def _take_error(self, data: bytes) -> bytes:
        try:
            self._errors.write(data)
        except OSError as error:
            self.disk_error = self.disk_error or error
        return b""


def is_full_disk(error: OSError) -> bool:
    return error.errno in (errno.ENOSPC, errno.EDQUOT)
