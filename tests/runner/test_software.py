"""What a result was computed with, as the runner finds and reports it."""

import hashlib
import platform
from pathlib import Path

import numba

from sims.simulators.base import Places
from sims.simulators.builtin.simulator import Builtin
from sims.simulators.software import engine_digest, file_digest, libraries
from tests.runner.app import App
from tests.runner.conftest import RunnerStarter

BANNER = "Accel-Sim [build accelsim-commit-73f9fac_modified_0.0]"
VERSION = "        *** GPGPU-Sim Simulator Version 4.2.0  [build gpgpu-sim_git-commit-13c6711] ***"


def a_tree(folder: Path, text: str) -> Path:
    (folder / "part").mkdir(parents=True)
    (folder / "part" / "model.py").write_text(text)
    return folder


def test_equal_sources_have_one_digest_wherever_they_are(tmp_path: Path) -> None:
    assert engine_digest([a_tree(tmp_path / "a", "x = 1\n")]) == engine_digest([a_tree(tmp_path / "b", "x = 1\n")])


def test_another_source_has_another_digest(tmp_path: Path) -> None:
    assert engine_digest([a_tree(tmp_path / "a", "x = 1\n")]) != engine_digest([a_tree(tmp_path / "b", "x = 2\n")])


def test_the_built_in_simulator_names_its_engine_and_its_compiler() -> None:
    software = Builtin(Places()).software()
    assert software["engine"] == engine_digest()
    assert software["numba"] == numba.__version__
    assert software["python"] == platform.python_version()


def test_a_package_that_is_not_installed_is_left_out() -> None:
    assert libraries("no-such-package").keys() == {"python"}


def test_a_file_that_cannot_be_read_has_no_digest(tmp_path: Path) -> None:
    assert file_digest(tmp_path / "nothing") == ""


def test_the_binary_is_reported_from_the_start_and_its_builds_at_the_end(app: App, runner: RunnerStarter) -> None:
    runner.run(f"echo '{BANNER}'; echo '{VERSION}'")
    binary = hashlib.sha256((runner.folder / "accel-sim.out").read_bytes()).hexdigest()[:16]
    running = [beat.body for beat in app.beats() if beat.body["state"] == "running"]
    assert running[0]["software"] == {"binary": binary}
    assert app.end is not None
    assert app.end["software"] == {
        "binary": binary,
        "accel-sim": "accelsim-commit-73f9fac_modified_0.0",
        "gpgpu-sim": "4.2.0 gpgpu-sim_git-commit-13c6711",
    }
