"""Keeps the processes of one machine running: started bound to this one, started again when they die, ended together.

honcho ends everything when one process dies, and leaves orphans when it is itself killed; hence this.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from sims.runner.leash import leashed
from sims.runner.processes import adopt_orphans, kill_descendants, kill_session

LONGEST_PAUSE_S = 60.0
STEADY_S = 60.0
"""A process that lived this long starts again at once, as if it had never died."""


@dataclass
class Service:
    """One process that is to run always."""

    name: str
    argv: Sequence[str]
    stop_s: float
    """How long it may take to end by itself."""
    process: "subprocess.Popen[bytes] | None" = None
    started_at: float = 0.0
    deaths: int = 0
    due_at: float = field(default=0.0)

    @property
    def is_alive(self) -> bool:
        return self.process is not None and self.process.poll() is None


class Launcher:
    """Services in the order in which they are started; they are stopped in the opposite order."""

    def __init__(self, services: Sequence[Service], environment: Mapping[str, str], say: Callable[[str], None]) -> None:
        self._services = services
        self._environment = environment
        self._say = say
        adopt_orphans()

    def start(self) -> None:
        for service in self._services:
            self._start(service)

    def tend(self) -> None:
        """Start again what has died; call it now and then."""
        now = time.monotonic()
        for service in self._services:
            if service.is_alive:
                continue
            if service.process is not None:
                self._note_death(service, now)
            elif now >= service.due_at:
                self._start(service)

    def stop(self) -> None:
        """End all services, and whatever they left behind. A second signal meanwhile ends them the hard way."""
        for service in reversed(self._services):
            if service.process is None:
                continue
            self._end(service, service.process)
        kill_descendants()

    def _start(self, service: Service) -> None:
        # In a session of its own: Ctrl-C in the terminal reaches this process alone, which then ends the others in
        # order.
        service.process = subprocess.Popen(
            leashed(service.argv, signal.SIGTERM),
            env=dict(self._environment),
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        service.started_at = time.monotonic()

    def _note_death(self, service: Service, now: float) -> None:
        assert service.process is not None
        exit_code, lived_s = service.process.returncode, now - service.started_at
        kill_session(service.process.pid)
        service.process = None
        service.deaths = 1 if lived_s >= STEADY_S else service.deaths + 1
        pause_s = min(LONGEST_PAUSE_S, 2.0 ** (service.deaths - 1)) if service.deaths > 1 else 0.0
        service.due_at = now + pause_s
        self._say(f"The {service.name} ended ({how_it_ended(exit_code)}); it starts again in {pause_s:.0f} s.")

    def _end(self, service: Service, process: "subprocess.Popen[bytes]") -> None:
        process.terminate()
        try:
            process.wait(service.stop_s)
        except (subprocess.TimeoutExpired, KeyboardInterrupt):
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        kill_session(process.pid)


def how_it_ended(exit_code: int) -> str:
    return f"killed by {signal.Signals(-exit_code).name}" if exit_code < 0 else f"exit code {exit_code}"


def web(host: str, port: int) -> Service:
    argv = [sys.executable, "-m", "cascade_site.server", "-b", host, "-p", str(port)]
    return Service("web server", argv, stop_s=10)


def worker() -> Service:
    """A Celery worker that runs as many sims at a time as there are cores."""
    argv = [sys.executable, "-m", "celery", "--quiet", "-A", "cascade_site", "worker", "--loglevel", "WARNING"]
    argv += ["--concurrency", str(len(os.sched_getaffinity(0))), "--without-gossip", "--without-mingle"]
    return Service("worker", [*argv, "--without-heartbeat"], stop_s=20)
