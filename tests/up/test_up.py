"""``manage.py up``: starts everything, keeps it running, and leaves nothing behind."""

import contextlib
import os
import re
import signal
import socket
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import httpx
import pytest

from sims.runner.processes import descendants
from tests.servers.processes import PROJECT, PYTHON, Process, free_port, wait_until


class Up:
    """A running ``up``."""

    def __init__(self, folder: Path, *arguments: str, environment: Mapping[str, str] | None = None) -> None:
        self.port = free_port()
        self.env = {"PATH": os.environ["PATH"], "HOME": str(folder), "CASCADE_DATA": str(folder / "data")}
        self.env |= environment or {}
        argv = [PYTHON, "manage.py", "up", "--port", str(self.port), *arguments]
        self.process = Process("up", argv, folder, self.env)

    def wait_ready(self, *, worker: bool = True) -> "Up":
        self.process.wait_ready(lambda: "app:   http" in self.process.output, timeout_s=90)
        if worker:
            wait_until(lambda: len(self.workers()) >= 2, "the worker and its pool run")
        return self

    def below(self) -> list[int]:
        return descendants(self.process.pid)

    def workers(self) -> list[int]:
        """The worker's processes, the main one first."""
        return [pid for pid in self.below() if b"celery" in command_of(pid) and b"leash" not in command_of(pid)]

    def end(self, signum: int) -> int:
        """Signal it; its exit code."""
        self.process.signal(signum)
        wait_until(lambda: not self.process.is_running, "up ends", 30)
        return self.process.stop()


def command_of(pid: int) -> bytes:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


def is_alive(pid: int) -> bool:
    return bool(command_of(pid))


@pytest.fixture
def up(tmp_path: Path) -> Iterator[Up]:
    up = Up(tmp_path)
    yield up
    up.process.stop()


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[Up]:
    """An ``up`` without a worker, ready."""
    up = Up(tmp_path, "--no-worker").wait_ready(worker=False)
    yield up
    up.process.stop()


def test_it_serves_until_ctrl_c_and_leaves_no_process(up: Up) -> None:
    up.wait_ready()
    assert httpx.get(f"http://127.0.0.1:{up.port}/api/health").json()["ok"] is True
    below = up.below()
    assert up.end(signal.SIGINT) == 0
    assert not [pid for pid in below if is_alive(pid)]
    assert "Traceback" not in up.process.output


def test_its_sign_in_link_opens_the_pages(alone: Up) -> None:
    link = re.search(r"http\S+/sign-in\?code=\S+", alone.process.output)
    assert link is not None
    with httpx.Client(follow_redirects=True) as browser:
        assert browser.get(link[0]).status_code == 200
        assert browser.get(f"http://127.0.0.1:{alone.port}/api/traces").status_code == 200


def test_a_dead_worker_is_started_again(up: Up) -> None:
    up.wait_ready()
    first = up.workers()[0]
    os.kill(first, signal.SIGKILL)
    wait_until(lambda: "worker ended (killed by SIGKILL)" in up.process.output, "up tells of it")
    wait_until(lambda: len(up.workers()) >= 2, "another worker runs")
    assert first not in up.workers()


def test_a_killed_up_takes_everything_along(up: Up) -> None:
    up.wait_ready()
    below = up.below()
    up.process.signal(signal.SIGKILL)
    wait_until(lambda: not [pid for pid in below if is_alive(pid)], "all its processes end", 30)


def test_without_a_worker_it_serves_alone_until_it_is_terminated(alone: Up) -> None:
    assert alone.workers() == []
    assert alone.end(signal.SIGTERM) == 0


def run_up(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "CASCADE_DATA": str(folder / "data")}
    argv = [PYTHON, "manage.py", "up", *arguments]
    return subprocess.run(argv, cwd=PROJECT, env=env, capture_output=True, text=True, timeout=60, check=False)


def test_a_taken_port_is_one_clear_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run_up(tmp_path, "--port", str(port))
    assert done.returncode != 0
    assert done.stderr.strip().splitlines() == [
        f"CommandError: Cannot listen on 127.0.0.1:{port} (Address already in use); choose another with --port."
    ]


def test_a_port_that_is_none_is_one_clear_line(tmp_path: Path) -> None:
    done = run_up(tmp_path, "--port", "700000")
    assert done.returncode != 0
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_sample_needs_a_worker(tmp_path: Path) -> None:
    assert "leave out --no-worker" in run_up(tmp_path, "--sample", "--no-worker").stderr
