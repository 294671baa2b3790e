"""``manage.py up`` offers the first operator account, and never waits for an answer that nobody can give."""

import contextlib
import os
import pty
import re
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from tests.servers.processes import PROJECT, PYTHON, free_port, wait_until
from tests.up.test_up import Up

StartUp = Callable[..., Up]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[StartUp]:
    """Starts ``up`` on one data folder, without a worker and without a terminal."""
    started: list[Up] = []

    def start(*arguments: str, **environment: str) -> Up:
        folder = tmp_path / str(len(started))
        folder.mkdir()
        environment["CASCADE_DATA"] = str(tmp_path / "data")
        up = Up(folder, "--no-worker", *arguments, environment=environment)
        started.append(up)
        return up.wait_ready(worker=False)

    yield start
    for up in started:
        up.process.stop()


def sign_in(port: int, name: str, password: str) -> int:
    """The status of the admin's front page after signing in."""
    with httpx.Client(base_url=f"http://127.0.0.1:{port}") as browser:
        browser.get("/admin/login/")
        form = {"username": name, "password": password, "csrfmiddlewaretoken": browser.cookies["csrftoken"]}
        browser.post("/admin/login/", data=form)
        return browser.get("/admin/").status_code


def test_a_named_operator_gets_a_password_that_is_printed_once(start: StartUp) -> None:
    up = start("--operator", "ada")
    password = re.findall(r"^operator: ada, password: (\S{16}) \(shown this once\)$", up.process.output, re.MULTILINE)
    assert len(password) == 1
    assert sign_in(up.port, "ada", password[0]) == 200


def test_an_operator_who_is_there_already_keeps_the_password(start: StartUp) -> None:
    first = start("--operator", "ada", DJANGO_SUPERUSER_PASSWORD="kept")
    first.end(signal.SIGTERM)
    again = start("--operator", "ada", DJANGO_SUPERUSER_PASSWORD="another")
    assert sign_in(again.port, "ada", "kept") == 200
    assert "Traceback" not in again.process.output


def test_djangos_own_variables_make_the_operator_and_print_no_password(start: StartUp) -> None:
    up = start(DJANGO_SUPERUSER_USERNAME="ada", DJANGO_SUPERUSER_PASSWORD="from-the-environment")
    assert sign_in(up.port, "ada", "from-the-environment") == 200
    assert "password" not in up.process.output


def test_without_a_terminal_nobody_is_asked_and_the_way_is_told(start: StartUp) -> None:
    up = start()
    assert (
        f"admin: http://127.0.0.1:{up.port}/admin/ (no operator yet: start with --operator NAME)" in up.process.output
    )
    assert "[y/N]" not in up.process.output


def test_what_is_no_name_is_one_clear_line(tmp_path: Path) -> None:
    up = Up(tmp_path, "--no-worker", "--operator", "two words")
    wait_until(lambda: not up.process.is_running, "up ends", 60)
    assert up.process.stop() != 0
    assert up.process.output.strip().splitlines()[-1].startswith("CommandError: No operator can be called 'two words'")


class Terminal:
    """``up`` as a person sees it: on a terminal, with questions to answer."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.port = free_port()
        self.shown = ""
        self._master, slave = pty.openpty()
        env = {"PATH": os.environ["PATH"], "HOME": str(folder), "CASCADE_DATA": str(folder / "data")}
        argv = [PYTHON, "manage.py", "up", "--no-worker", "--port", str(self.port), *arguments]
        self.process = subprocess.Popen(
            argv, cwd=PROJECT, env=env, stdin=slave, stdout=slave, stderr=slave, start_new_session=True
        )
        os.close(slave)
        os.set_blocking(self._master, False)

    def wait_for(self, text: str) -> None:
        wait_until(lambda: text in self._read(), f"the terminal shows {text!r}", 60)

    def type(self, line: str) -> None:
        os.write(self._master, line.encode() + b"\n")

    def _read(self) -> str:
        with contextlib.suppress(BlockingIOError):
            self.shown += os.read(self._master, 65536).decode()
        return self.shown

    def close(self) -> None:
        self.process.terminate()
        self.process.wait(30)
        os.close(self._master)


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    terminal = Terminal(tmp_path)
    yield terminal
    terminal.close()


def test_a_person_at_a_terminal_is_offered_an_account(terminal: Terminal) -> None:
    terminal.wait_for("Make one now? [y/N]")
    terminal.type("y")
    terminal.wait_for("Username")
    terminal.type("grace")
    terminal.wait_for("Password:")
    terminal.type("a-long-passphrase")
    terminal.wait_for("Password (again):")
    terminal.type("a-long-passphrase")
    terminal.wait_for("/admin/\r\n")
    assert "a-long-passphrase" not in terminal.shown
    assert sign_in(terminal.port, "grace", "a-long-passphrase") == 200


def test_an_offer_that_is_declined_starts_the_app_without_an_operator(terminal: Terminal) -> None:
    terminal.wait_for("Make one now? [y/N]")
    terminal.type("")
    terminal.wait_for("no operator yet")


def test_no_input_asks_nothing_on_a_terminal_either(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path, "--no-input")
    terminal.wait_for("no operator yet")
    terminal.close()
    assert "[y/N]" not in terminal.shown
