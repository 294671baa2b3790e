"""The sample that ships: the trace, its log and its times belong together."""

import filecmp
import json
import re
from pathlib import Path

import pytest

from traces.accelsim import open_file
from traces.accelsim.content import read_content
from traces.babelstream import babelstream_commands
from traces.generator import GeneratedKernel, access_bytes, address_field
from traces.rundir import RunDirectory, read_run_directory
from traces.sample import SAMPLE_LOG, SAMPLE_RUN_DIRECTORY, SAMPLES, write_sample
from traces.sources import FolderSource


@pytest.fixture(scope="module")
def sample() -> RunDirectory:
    return read_run_directory(FolderSource(SAMPLE_RUN_DIRECTORY))


@pytest.fixture(scope="module")
def log() -> str:
    with open_file(SAMPLE_LOG) as stream:
        return stream.read().decode()


def test_it_has_six_kernels_and_no_warnings(sample: RunDirectory) -> None:
    assert [re.findall(r"\d+(\w+)_kernel", kernel.name)[0] for kernel in sample.kernels] == [
        "init", "copy", "mul", "add", "triad", "dot",
    ]  # fmt: skip
    assert sample.warnings == ()


def test_it_is_smaller_than_a_megabyte() -> None:
    assert sum(path.stat().st_size for path in SAMPLES.rglob("*") if path.is_file()) < 1_000_000


def test_it_says_that_its_times_are_made_up(sample: RunDirectory) -> None:
    assert "made up" in sample.metadata["synthetic"]


def test_every_launch_of_the_log_is_a_kernel_of_the_trace(sample: RunDirectory, log: str) -> None:
    launched = re.findall(r"^launching kernel name: (\S+) uid: \d+", log, re.MULTILINE)
    assert launched == [kernel.name for kernel in sample.kernels]


def test_the_log_counts_the_instructions_that_the_trace_has(sample: RunDirectory, log: str) -> None:
    cumulative = [int(count) for count in re.findall(r"^gpgpu_n_tot_w_icount = (\d+)", log, re.MULTILINE)]
    counts = [
        read_content(SAMPLE_RUN_DIRECTORY / sample.trace_folder / k.trace_file).warp_instructions
        for k in sample.kernels
    ]
    assert cumulative == [sum(counts[: n + 1]) for n in range(6)]


def test_the_log_ends_well(log: str) -> None:
    assert log.rstrip().endswith("GPGPU-Sim: *** exit detected ***")


def test_timeline_and_alignment_speak_of_the_kernels_in_order(sample: RunDirectory) -> None:
    timeline = json.loads((SAMPLE_RUN_DIRECTORY / "corrected_timeline.json").read_text())
    alignment = json.loads((SAMPLE_RUN_DIRECTORY / "trace_alignment.json").read_text())
    assert [row["name"] for row in timeline["steps"][0]["kernels"]] == [kernel.name for kernel in sample.kernels]
    assert [row["trace_kernel"] for row in alignment["kernels"]] == [kernel.index for kernel in sample.kernels]


def test_writing_it_again_gives_the_same_files(tmp_path: Path) -> None:
    write_sample(tmp_path / "sample")
    names = [str(path.relative_to(SAMPLE_RUN_DIRECTORY)) for path in SAMPLE_RUN_DIRECTORY.rglob("*") if path.is_file()]
    texts = [name for name in names if not name.endswith(".xz")]
    assert filecmp.cmpfiles(SAMPLE_RUN_DIRECTORY, tmp_path / "sample", texts, shallow=False)[1:] == ([], [])
    for name in set(names) - set(texts):  # another version of liblzma may compress otherwise
        with open_file(SAMPLE_RUN_DIRECTORY / name) as old, open_file(tmp_path / "sample" / name) as new:
            assert old.read() == new.read()


def test_it_does_not_write_into_a_folder_with_files(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("x")
    with pytest.raises(FileExistsError, match="is not empty: name a new folder"):
        write_sample(tmp_path)


def test_it_refuses_sizes_that_do_not_fill_the_grid() -> None:
    with pytest.raises(ValueError, match="multiple of 65536"):
        babelstream_commands(1000)


def test_larger_arrays_make_larger_grids_only() -> None:
    kernels = [command for command in babelstream_commands(1 << 20) if isinstance(command, GeneratedKernel)]
    assert [kernel.grid[0] for kernel in kernels] == [1024] * 5 + [64]


@pytest.mark.parametrize(
    ("mask", "field"),
    [(0, "1 0x0 0"), (1, "2 0x1000"), (0b1000, "2 0x1018"), (0b1100, "1 0x1010 8"), (0xFFFFFFFF, "1 0x1000 8")],
)
def test_addresses_are_compressed_as_the_tracer_does(mask: int, field: str) -> None:
    assert address_field(0x1000, 8, mask) == field


@pytest.mark.parametrize(
    ("opcode", "size"), [("LDG.E", 4), ("LDG.E.64.SYS", 8), ("LDG.E.U16", 2), ("STS.128", 16), ("LD", 4)]
)
def test_access_sizes_come_from_the_opcode(opcode: str, size: int) -> None:
    assert access_bytes(opcode) == size
