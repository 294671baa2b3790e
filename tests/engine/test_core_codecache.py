"""The folder of compiled code: damaged ones are emptied, whole ones are left alone, one process compiles for all."""

import os
import pickle
import shutil
import threading
import time
from pathlib import Path

import numba
import pytest

from sims.engine import codecache


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two files as Numba writes them (pickles end with a full stop)."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path), raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})  # no core to compile more on
    for name in ("sm.run.nbi", "sm.run.1.nbc"):
        (tmp_path / name).write_bytes(b"compiled code.")
    return tmp_path


def test_whole_files_stay(folder: Path) -> None:
    codecache.seal(folder)
    assert not codecache.heal(folder)
    assert len(list(folder.glob("*.nb*"))) == 2


@pytest.mark.parametrize("damage", [b"", b"compiled co", b"\0" * 14])
def test_a_cut_file_empties_its_folder(folder: Path, damage: bytes) -> None:
    (folder / "sm.run.nbi").write_bytes(damage)
    assert codecache.heal(folder)
    assert list(folder.iterdir()) == []


def test_a_flipped_bit_of_a_sealed_file_empties_its_folder(folder: Path) -> None:
    codecache.seal(folder)
    (folder / "sm.run.1.nbc").write_bytes(b"compiled c0de.")
    assert codecache.heal(folder)


def add_overload(folder: Path, data_name: str) -> None:
    """As Numba does when it compiles a function for further types: it writes the function's index again."""
    overloads = {"first types": "sm.run.1.nbc", "further types": data_name}
    (folder / "sm.run.nbi").write_bytes(pickle.dumps(numba.__version__) + pickle.dumps(("stamp", overloads)))
    (folder / data_name).write_bytes(b"further code.")


def test_an_overload_that_was_added_to_a_sealed_folder_leaves_it_alone(folder: Path) -> None:
    codecache.seal(folder)
    add_overload(folder, "sm.run.2.nbc")
    assert not codecache.heal(folder)
    assert len(list(folder.glob("*.nb*"))) == 3


def test_an_index_that_gives_two_overloads_one_file_empties_its_folder(folder: Path) -> None:
    codecache.seal(folder)
    add_overload(folder, "sm.run.2.nbc")
    index = folder / "sm.run.nbi"
    index.write_bytes(index.read_bytes().replace(b"sm.run.2.nbc", b"sm.run.1.nbc"))
    assert codecache.heal(folder)


def test_a_damaged_seal_is_none(folder: Path) -> None:
    (folder / codecache.SEAL).write_text("{")
    assert not codecache.is_sealed(folder)
    assert not codecache.heal(folder)


def test_only_one_compiles_while_nothing_is_sealed(folder: Path) -> None:
    order: list[str] = []

    def second() -> None:
        with codecache.compiling(lambda: False):
            order.append("second")

    with codecache.compiling(lambda: False):
        waiting = threading.Thread(target=second)
        waiting.start()
        time.sleep(3 * codecache.WAIT_S)
        order.append("first")
    waiting.join(10)
    assert order == ["first", "second"]


def test_a_folder_that_was_thrown_away_is_made_again(folder: Path) -> None:
    shutil.rmtree(folder)
    with codecache.compiling(lambda: False):
        pass
    assert folder.is_dir()


def test_who_waits_can_be_stopped(folder: Path) -> None:
    with codecache.compiling(lambda: False):
        began = time.monotonic()
        with codecache.compiling(lambda: True):
            pass
        assert time.monotonic() - began < 10 * codecache.WAIT_S


def test_nobody_waits_once_it_is_sealed(folder: Path) -> None:
    codecache.seal(folder)
    with codecache.compiling(lambda: pytest.fail("asked while waiting")):
        assert not (folder / ".lock").exists()


def test_what_is_compiled_again_in_a_sealed_folder_is_sealed_again(folder: Path) -> None:
    codecache.seal(folder)
    with codecache.compiling(lambda: False):
        (folder / "sm.run.1.nbc").write_bytes(b"compiled otherwise.")
    assert not codecache.heal(folder)


def test_a_folder_is_looked_at_before_the_first_kernel_only(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with codecache.compiling(lambda: False):
        pass
    monkeypatch.setattr(codecache, "_files", lambda _: pytest.fail("looked again"))
    with codecache.compiling(lambda: False):
        pass


def test_a_change_of_compiled_code_makes_another_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    before = codecache.source_hash()
    monkeypatch.setattr(numba, "__version__", "another")
    assert codecache.source_hash() != before
