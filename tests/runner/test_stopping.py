"""Ending a simulator before it is done, with everything that it started."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.runner.app import App
from tests.runner.conftest import RunnerStarter

Eventually = Callable[..., None]
ANNOUNCE = "echo $$ > pid; "
STUBBORN = "trap '' TERM; "
FAMILY = (
    "sleep 301 & echo $! >> pids; "
    "setsid sleep 302 & "
    "(setsid bash -c \"trap '' TERM; echo \\$\\$ >> pids; sleep 303\" &) ; "
    "echo ready; "
)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def sleepers(folder: Path) -> list[int]:
    """Every process that works in this test's folder."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if (
                entry.name.isdigit()
                and Path(os.readlink(entry / "cwd")).is_relative_to(folder)
                and alive(int(entry.name))
            ):
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def test_a_cancel_reaches_the_simulator_as_sigterm(app: App, runner: RunnerStarter, eventually: Eventually) -> None:
    process = runner.start("trap 'echo got it; exit 0' TERM; echo ready; while true; do sleep 0.1; done")
    eventually(lambda: app.log)
    app.stop = True
    process.communicate(timeout=10)
    assert app.log == b"ready\ngot it\n"
    assert app.end is not None
    assert app.end["state"] == "cancelled"


@pytest.mark.parametrize("how", ["obedient", "stubborn"])
def test_a_cancel_leaves_no_process_behind(
    app: App, runner: RunnerStarter, eventually: Eventually, tmp_path: Path, how: str
) -> None:
    process = runner.start((STUBBORN if how == "stubborn" else "") + FAMILY + "while true; do sleep 0.1; done")
    eventually(lambda: app.log)
    assert len(sleepers(tmp_path)) >= 4
    app.stop = True
    process.communicate(timeout=10)
    assert sleepers(tmp_path) == []


def test_what_a_simulator_leaves_behind_ends_with_it(app: App, runner: RunnerStarter, tmp_path: Path) -> None:
    runner.run(FAMILY + "exit 0", timeout_s=20)
    assert sleepers(tmp_path) == []
    assert app.end is not None


def test_a_killed_runner_takes_its_simulator_along(
    app: App, runner: RunnerStarter, eventually: Eventually, tmp_path: Path
) -> None:
    process = runner.start(STUBBORN + "echo ready; exec sleep 300")
    eventually(lambda: app.log)
    process.kill()
    eventually(lambda: not sleepers(tmp_path), 5)


def test_a_terminated_runner_ends_its_simulator_and_reports_no_end(
    app: App, runner: RunnerStarter, eventually: Eventually, tmp_path: Path
) -> None:
    process = runner.start(STUBBORN + FAMILY + "sleep 300")
    eventually(lambda: app.log)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=10)
    assert sleepers(tmp_path) == []
    assert app.end is None
    assert process.returncode == 1


def test_a_simulator_that_falls_silent_is_ended_as_stalled(app: App, runner: RunnerStarter) -> None:
    runner.limits["stall_s"] = 1
    runner.run("echo hello; sleep 300", timeout_s=20)
    assert app.end is not None
    assert app.end["state"] == "failed"
    assert "stalled" in app.end["detail"]
    assert app.log == b"hello\n"


def test_output_on_stderr_counts_as_life(app: App, runner: RunnerStarter) -> None:
    runner.limits["stall_s"] = 1
    runner.run("for i in 1 2 3 4 5; do echo . >&2; sleep 0.5; done; echo end", timeout_s=20)
    assert app.log == b"end\n"
