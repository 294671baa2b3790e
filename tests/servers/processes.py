"""Server processes for tests: on free ports, in folders of their own, stopped with everything they started."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from sims.runner.leash import leashed

PROJECT = Path(__file__).resolve().parent.parent.parent
PYTHON = sys.executable
STOP_S = 20


def free_port() -> int:
    """A TCP port that nobody listens on now. (Another program may take it before its user does; nobody has yet.)"""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def answers(port: int) -> bool:
    """Whether somebody accepts connections on a local port."""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


def wait_until(condition: Callable[[], bool], what: str, timeout_s: float = 30, every_s: float = 0.05) -> None:
    """Return when the condition holds; :class:`AssertionError` naming ``what`` when it does not in time."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, f"not within {timeout_s} s: {what}"
        time.sleep(every_s)


class Process:
    """A child process in its own process group, its output in a file."""

    def __init__(
        self,
        name: str,
        argv: Sequence[str],
        folder: Path,
        env: Mapping[str, str] | None = None,
        user: str | None = None,
    ) -> None:
        self.name = name
        self.log = folder / f"{name}.out"
        if user is None:
            # A test run that is killed leaves nothing behind. (Another user's process cannot be bound.)
            argv = leashed(argv, signal.SIGTERM)
        with self.log.open("ab") as out:
            self._popen = subprocess.Popen(
                argv,
                cwd=PROJECT if user is None else folder,
                env=None if env is None else dict(env),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                user=user,
                group=user,
                extra_groups=None if user is None else [],
            )

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def is_running(self) -> bool:
        return self._popen.poll() is None

    @property
    def output(self) -> str:
        return self.log.read_text(errors="replace")

    def wait_ready(self, ready: Callable[[], bool], timeout_s: float = 40) -> None:
        """Wait until the server answers; its output is the message when it does not."""
        deadline = time.monotonic() + timeout_s
        while not ready():
            assert self.is_running, f"{self.name} ended with {self._popen.returncode}:\n{self.output[-4000:]}"
            assert time.monotonic() < deadline, f"{self.name} is not ready after {timeout_s} s:\n{self.output[-4000:]}"
            time.sleep(0.05)

    def signal(self, number: int) -> None:
        """Send a signal to the process alone."""
        self._popen.send_signal(number)

    def kill(self) -> None:
        """SIGKILL to the whole group: no clean-up of any kind."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self._popen.wait()

    def stop(self) -> int:
        """SIGTERM, then SIGKILL to what is left of the group; the exit code."""
        if self.is_running:
            self._popen.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._popen.wait(STOP_S)
        self.kill()
        return self._popen.returncode
