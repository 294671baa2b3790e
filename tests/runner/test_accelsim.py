"""How the user's Accel-Sim is started: its command line, its folder, its trace, its config."""

import gzip
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from sims.gpus import apply_overrides, load_shipped, read_accelsim_config, to_accelsim_options
from sims.gpus.spec import GpuSpec
from sims.simulators.accelsim.simulator import AccelSim, library_folders
from sims.simulators.base import Command, Job, Places
from traces.accelsim import TraceError

SPEC = load_shipped()["SM86_RTX3070"]
KERNEL = b"-kernel name = k\n-kernel id = 1\n"


class Setup:
    """A trace, a binary and a folder of configs."""

    def __init__(self, folder: Path) -> None:
        self.trace = folder / "trace"
        self.trace.mkdir()
        self.work = folder / "work"
        self.work.mkdir()
        self.configs = folder / "configs"
        self.configs.mkdir()
        self.binary = folder / "accel-sim.out"
        self.binary.write_text("#!/bin/sh\n")
        self.binary.chmod(0o755)

    @property
    def places(self) -> Places:
        return Places(str(self.binary), str(self.configs))

    def prepare(self, commands: str, kernels: tuple[int, ...] = (), spec: GpuSpec = SPEC) -> Command:
        (self.trace / "kernelslist.g").write_text(commands)
        job = Job("sim-0", spec, self.trace, "kernelslist.g", kernels, self.work)
        return AccelSim(self.places).prepare(job)

    @property
    def commands(self) -> str:
        """The list as Accel-Sim gets it."""
        return (self.work / "traces" / "kernelslist.g").read_text()


@pytest.fixture
def setup(tmp_path: Path) -> Setup:
    setup = Setup(tmp_path)
    for number in (1, 2, 3):
        (setup.trace / f"kernel-{number}.traceg").write_bytes(KERNEL)
    return setup


def test_the_trace_is_named_with_a_slash_and_both_configs_follow(setup: Setup) -> None:
    command = setup.prepare("kernel-1.traceg\n")
    assert command.argv[1:] == [
        *("-trace", "./traces/kernelslist.g"),
        *("-config", "gpgpusim.config", "-config", "trace.config"),
    ]


def test_plain_files_are_linked_and_not_copied(setup: Setup) -> None:
    setup.prepare("kernel-1.traceg\n")
    assert (setup.work / "traces" / "kernel-1.traceg").is_symlink()


@pytest.mark.parametrize(("suffix", "compress"), [("gz", gzip.compress), ("zst", zstandard.compress)])
def test_files_it_cannot_read_are_decompressed(setup: Setup, suffix: str, compress: Callable[[bytes], bytes]) -> None:
    (setup.trace / f"kernel-9.traceg.{suffix}").write_bytes(compress(KERNEL))
    setup.prepare(f"kernel-9.traceg.{suffix}\n")
    assert setup.commands == "kernel-9.traceg\n"
    assert (setup.work / "traces" / "kernel-9.traceg").read_bytes() == KERNEL


def test_xz_files_stay_compressed(setup: Setup) -> None:
    (setup.trace / "kernel-9.traceg.xz").write_bytes(lzma.compress(KERNEL))
    setup.prepare("kernel-9.traceg.xz\n")
    assert setup.commands == "kernel-9.traceg.xz\n"


def test_a_file_whose_name_lies_about_its_compression_gets_the_right_one(setup: Setup) -> None:
    (setup.trace / "kernel-9.traceg").write_bytes(lzma.compress(KERNEL))
    setup.prepare("kernel-9.traceg\n")
    assert setup.commands == "kernel-9.traceg.xz\n"


def test_a_binary_trace_becomes_text(setup: Setup) -> None:
    fixtures = Path(__file__).resolve().parents[1] / "fixtures" / "traces"
    (setup.trace / "kernel-9.tracez").write_bytes((fixtures / "hopper_synthetic_v6.tracez").read_bytes())
    setup.prepare("kernel-9.tracez\n")
    with lzma.open(fixtures / "hopper_synthetic_v6.traceg.xz") as text:
        assert (setup.work / "traces" / "kernel-9.traceg").read_bytes() == text.read()


def test_only_the_chosen_launches_are_listed_with_the_copies_before_them(setup: Setup) -> None:
    copies = [f"MemcpyHtoD,0x{number}000,64\n" for number in range(1, 5)]
    kernels = [f"kernel-{number}.traceg\n" for number in range(1, 4)]
    setup.prepare("".join(a + b for a, b in zip(copies, [*kernels, ""], strict=True)), kernels=(2,))
    assert setup.commands == copies[0] + copies[1] + kernels[1]


def test_copies_after_the_last_kernel_are_dropped(setup: Setup) -> None:
    setup.prepare("kernel-1.traceg\nMemcpyHtoD,0x1000,64\nMemcpyDtoH,0x1000,64\n")
    assert setup.commands == "kernel-1.traceg\n"


def test_a_file_named_twice_is_launched_twice(setup: Setup) -> None:
    setup.prepare("kernel-1.traceg\nkernel-1.traceg\n")
    assert setup.commands == "kernel-1.traceg\nkernel-1.traceg\n"


def test_a_missing_kernel_file_is_named(setup: Setup) -> None:
    with pytest.raises(TraceError, match=r"kernel-7\.traceg"):
        setup.prepare("kernel-7.traceg\n")


def test_a_user_s_config_is_used_as_its_files_are(setup: Setup) -> None:
    own = write_own_config(setup)
    setup.prepare("kernel-1.traceg\n", spec=read_accelsim_config(own).spec)
    assert "my own words" in (setup.work / "gpgpusim.config").read_text()
    assert (setup.work / "config.icnt").exists()


def test_an_overridden_config_is_written_anew(setup: Setup) -> None:
    own = write_own_config(setup)
    spec = apply_overrides(read_accelsim_config(own).spec, {"core_clock_mhz": 1234.0})
    setup.prepare("kernel-1.traceg\n", spec=spec)
    written = (setup.work / "gpgpusim.config").read_text()
    assert "my own words" not in written
    assert "1234" in written


def write_own_config(setup: Setup) -> Path:
    own = setup.configs / "SM86_RTX3070"
    own.mkdir()
    for name, text in to_accelsim_options(SPEC).items():
        (own / name).write_text(f"# my own words\n{text}")
    (own / "config.icnt").write_text("network = none\n")
    return own


def test_the_library_of_its_build_comes_before_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    binary = tmp_path / "gpu-simulator" / "bin" / "release" / "accel-sim.out"
    binary.parent.mkdir(parents=True)
    binary.touch()
    library = tmp_path / "gpu-simulator" / "gpgpu-sim" / "lib" / "gcc-9.4.0" / "cuda-11000" / "release"
    library.mkdir(parents=True)
    monkeypatch.setenv("LD_LIBRARY_PATH", "/usr/local/cuda/lib64")
    folders = library_folders(binary)
    assert folders.index(str(library)) < folders.index("/usr/local/cuda/lib64")


@pytest.mark.parametrize(
    ("places", "why"),
    [
        (Places(), "CASCADE_ACCELSIM does not name"),
        (Places(accelsim="/no/such/file"), "no program that can be started"),
        (Places(accelsim="/bin/sh"), "CASCADE_ACCELSIM_CONFIGS does not name"),
    ],
)
def test_it_says_what_it_lacks(places: Places, why: str) -> None:
    assert why in (AccelSim(places).why_not(SPEC) or "")
