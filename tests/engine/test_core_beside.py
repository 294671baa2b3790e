"""Code compiled by another process: it comes to the folder whole or not at all, and nothing stays behind."""

import io
import os
import time
from pathlib import Path

import numba
import pytest

from sims.engine import beside, codecache, sm
from sims.engine.decode import open_program
from sims.engine.front import smcode
from sims.engine.machine import Machine
from sims.gpus import load_shipped
from tests.engine.kernel_texts import EXIT, cta, header

FILES = {"sm.run-1.py311.nbi": "index", "sm.run-1.py311.1.nbc": "code", "sm._cycle-1.py311.nbi": "not wanted"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of compiled code."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(beside, "PROGRAM", "program")
    return tmp_path / "folder"


def program(folder: Path, then: str = "") -> None:
    """What the other process runs: it writes files as Numba does, in the version's folder, in one by source."""
    folder.mkdir(exist_ok=True)
    folder.with_name("program.py").write_text(
        "import os, pathlib, sys, time\n"
        "place = pathlib.Path(os.environ['NUMBA_CACHE_DIR'], 'version', 'engine')\n"
        "place.mkdir(parents=True)\n"
        f"for name, text in {FILES!r}.items(): (place / name).write_text(text)\n" + then
    )


def files(folder: Path) -> dict[str, str]:
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*.nb*")}


def own(folder: Path) -> Path:
    """Where the other processes' folders lie."""
    return folder.with_name("folder-beside")


def never() -> bool:
    return False


def test_the_code_is_in_the_folder_once_it_was_asked_for(folder: Path) -> None:
    program(folder)
    with beside.compiling_sm(folder, never):
        beside.collect_sm()
        wanted = {f"engine/{name}": text for name, text in FILES.items() if name.startswith("sm.run")}
        assert files(folder) == wanted
    assert not own(folder).exists()


def test_what_a_process_that_failed_left_is_not_taken(folder: Path) -> None:
    program(folder, then="sys.exit(1)\n")
    with beside.compiling_sm(folder, never):
        beside.collect_sm()
    assert files(folder) == {}


def test_what_a_killed_process_left_is_removed(folder: Path) -> None:
    program(folder)
    (own(folder) / "left").mkdir(parents=True)
    with beside.compiling_sm(folder, never):
        assert len(list(own(folder).iterdir())) == 1
    assert not own(folder).exists()


def test_who_waits_for_the_code_can_be_stopped(folder: Path) -> None:
    program(folder, then="time.sleep(60)\n")
    began = time.monotonic()
    with beside.compiling_sm(folder, lambda: True):
        beside.collect_sm()
    assert files(folder) == {}
    assert not own(folder).exists()
    assert time.monotonic() - began < 30


def test_no_process_is_started_for_code_that_is_there(folder: Path) -> None:
    program(folder)
    (folder / "engine").mkdir()
    (folder / "engine" / "sm.run-1.py311.nbi").write_text("index")
    with beside.compiling_sm(folder, never):
        beside.collect_sm()
        assert not own(folder).exists()


def test_one_core_has_no_room_for_another_process(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(folder)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    with beside.compiling_sm(folder, never):
        beside.collect_sm()
    assert files(folder) == {}


def test_only_who_compiles_first_has_it_compiled_beside(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(folder)
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(folder), raising=False)
    with codecache.compiling(never):
        beside.collect_sm()
    assert len(files(folder)) == 2
    assert codecache.is_sealed(folder)


def test_every_machine_runs_what_the_other_process_compiles() -> None:
    with open_program(io.BytesIO((header() + cta([EXIT])).encode()), "kernel-1.traceg") as kernel:
        Machine(load_shipped()["SM75_RTX2060"]).run(kernel)
    compiled = set(sm.run.overloads)  # type: ignore[attr-defined]
    smcode.main()
    assert set(sm.run.overloads) == compiled  # type: ignore[attr-defined]
