"""A whole Cascade as an operator runs it: web and worker processes around one database, broker and storage."""

import os
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Self

import httpx

from tests.servers.events import Stream
from tests.servers.processes import PROJECT, PYTHON, Process, free_port

TOKEN = "token-of-the-live-tests"
BEARER = {"Authorization": f"Bearer {TOKEN}"}


class Web:
    """One web process and a client for it."""

    def __init__(self, process: Process, port: int) -> None:
        self.process = process
        self.url = f"http://127.0.0.1:{port}"
        self.http = httpx.Client(base_url=self.url, headers=BEARER, timeout=60)

    @property
    def is_ready(self) -> bool:
        try:
            return self.http.get("/api/health").status_code == 200
        except httpx.TransportError:
            return False

    def stream(self, run_id: str, last_event_id: str | None = None) -> Stream:
        """A run's event stream as a client sees it."""
        return Stream(f"{self.url}/api/runs/{run_id}/events", BEARER, last_event_id)


class Cascade:
    """The processes of one installation. As a context manager it stops whatever it has started."""

    def __init__(self, folder: Path, env: dict[str, str] | None = None) -> None:
        self.folder = folder
        self.first_port = free_port()
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "NUMBA_CACHE_DIR": os.environ.get("NUMBA_CACHE_DIR", ""),
            "CASCADE_DATA": str(folder / "data"),
            "CASCADE_TOKEN": TOKEN,
            "CASCADE_URL": f"http://127.0.0.1:{self.first_port}",
            **(env or {}),
        }
        self._processes: list[Process] = []
        self._started = 0

    def __enter__(self) -> Self:
        self.manage("migrate", "--verbosity", "0")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in reversed(self._processes):
            process.stop()

    def manage(self, *arguments: str) -> str:
        """Run a management command; its standard output."""
        done = subprocess.run(
            [PYTHON, "manage.py", *arguments], cwd=PROJECT, env=self.env, capture_output=True, text=True, timeout=180
        )
        assert done.returncode == 0, f"manage.py {' '.join(arguments)}:\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def start_web(self, port: int | None = None, access_log: bool = False) -> Web:
        """Start a web process (the first on the port that runners are told of) and wait until it answers."""
        is_first = not any(process.name.startswith("web") for process in self._processes)
        port = port or (self.first_port if is_first else free_port())
        argv = [PYTHON, "-m", "cascade_site.server", "-p", str(port), *(["--access-log"] if access_log else [])]
        web = Web(self._start("web", argv), port)
        web.process.wait_ready(lambda: web.is_ready)
        return web

    def start_worker(self, concurrency: int = 2) -> Process:
        """Start a Celery worker and wait until it takes tasks."""
        name = f"worker{self._started}@%h"
        argv = [PYTHON, "-m", "celery", "-A", "cascade_site", "worker", "--loglevel", "INFO"]
        worker = self._start("worker", [*argv, "--hostname", name, "--concurrency", str(concurrency)])
        worker.wait_ready(lambda: " ready." in worker.output)
        return worker

    def _start(self, kind: str, argv: list[str]) -> Process:
        self._started += 1
        process = Process(f"{kind}-{self._started}", argv, self.folder, self.env)
        self._processes.append(process)
        return process
