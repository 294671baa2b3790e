"""What a simulator's process may take of the machine, and what is said of one that takes more."""

import os
import resource
import sys
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from cascade_site.machine import memory_bytes
from cascade_site.settings import env_limit
from sims.runner.assignment import Limits
from tests.runner.app import App
from tests.runner.conftest import RunnerStarter

MIB = 1024**2


def detail(app: App) -> str:
    assert app.end is not None
    assert app.end["state"] == "failed"
    return str(app.end["detail"])


def test_a_simulator_that_takes_too_much_memory_fails_with_the_limits_name(app: App, runner: RunnerStarter) -> None:
    runner.limits["sim_memory_bytes"] = 300 * MIB
    runner.run(f"exec {sys.executable} -c 'bytearray(400 << 20)'")
    assert "CASCADE_SIM_MEMORY_BYTES" in detail(app)


@pytest.mark.parametrize("how", ["", "trap '' XFSZ; "], ids=["killed", "told"])
def test_a_simulator_that_writes_too_large_a_file_fails_with_the_limits_name(
    app: App, runner: RunnerStarter, how: str
) -> None:
    runner.limits["sim_file_bytes"] = MIB
    runner.run(f"{how}head -c 3000000 /dev/zero > large")
    assert "CASCADE_SIM_FILE_BYTES" in detail(app)
    assert (runner.folder / "work" / "simulation" / "large").stat().st_size == MIB


def test_a_log_is_no_file_of_the_simulators(app: App, runner: RunnerStarter) -> None:
    runner.limits["sim_file_bytes"] = MIB
    runner.run("head -c 3000000 /dev/zero | tr '\\0' x")
    assert len(app.log) == 3_000_000


def test_a_simulator_that_opens_too_many_files_fails_with_the_limits_name(app: App, runner: RunnerStarter) -> None:
    runner.limits["sim_open_files"] = 64
    runner.run(f"exec {sys.executable} -c 'kept = [open(\"/dev/null\") for _ in range(100)]'")
    assert "CASCADE_SIM_OPEN_FILES" in detail(app)


def test_what_the_simulator_starts_is_bound_too(app: App, runner: RunnerStarter) -> None:
    runner.limits |= {"sim_memory_bytes": 512 * MIB, "sim_file_bytes": 7 * MIB, "sim_open_files": 99}
    runner.run("bash -c 'ulimit -v; ulimit -f; ulimit -n; ulimit -c'")
    assert app.log.split() == [b"524288", b"7168", b"99", b"0"]


def test_without_limits_only_core_files_are_off(app: App, runner: RunnerStarter) -> None:
    runner.run("bash -c 'ulimit -v; ulimit -f; ulimit -n; ulimit -c'")
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert app.log.split() == [b"unlimited", b"unlimited", str(soft).encode(), b"0"]


def test_a_limit_of_zero_is_none() -> None:
    assert Limits(sim_memory_bytes=5).of_process == {"AS": 5}


@pytest.mark.parametrize(("text", "most"), [("", 7), ("0", 0), ("12", 12)])
def test_an_operator_sets_a_limit_or_turns_it_off(monkeypatch: pytest.MonkeyPatch, text: str, most: int) -> None:
    monkeypatch.setenv("CASCADE_SIM_OPEN_FILES", text)
    assert env_limit("CASCADE_SIM_OPEN_FILES", 7) == most


def test_a_limit_that_is_no_number_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CASCADE_SIM_OPEN_FILES", "-1")
    with pytest.raises(ImproperlyConfigured):
        env_limit("CASCADE_SIM_OPEN_FILES", 7)


def test_the_machines_memory_is_with_its_swap(tmp_path: Path) -> None:
    (tmp_path / "meminfo").write_text("MemTotal: 1 kB\nSwapTotal:       2048 kB\n")
    physical = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert memory_bytes(tmp_path / "none", tmp_path / "meminfo") == physical + 2048 * 1024


@pytest.mark.parametrize(("text", "bound"), [("1073741824\n", 1024 * MIB), ("max\n", None)])
def test_a_container_has_what_it_may_use(tmp_path: Path, text: str, bound: int | None) -> None:
    (tmp_path / "memory.max").write_text(text)
    without = memory_bytes(tmp_path / "none")
    assert memory_bytes(tmp_path / "memory.max") == (bound or without)
