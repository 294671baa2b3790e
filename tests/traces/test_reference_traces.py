"""Extra: the traces of the reference material, real ones among them."""

import csv
from pathlib import Path

import pytest

from traces.accelsim import TraceError, open_body, open_file
from traces.accelsim.content import read_content
from traces.rundir import read_run_directory
from traces.sources import FolderSource


def test_a_real_capture_reads_as_its_statistics_say(shared: Path) -> None:
    folder = shared / "reference/real/traces/flashinfer-gemm"
    found = read_run_directory(FolderSource(folder))
    rows = {row[0]: row for row in csv.reader((folder / "stats.csv").open())}  # of kernels not traced, too
    for kernel in found.kernels:
        row = rows[f"kernel-{kernel.kernel_id}.trace.xz"]
        content = read_content(folder / kernel.trace_file)
        assert kernel.grid == tuple(map(int, row[2:5]))
        assert kernel.block == tuple(map(int, row[6:9]))
        assert content.warp_instructions == int(row[-1])


def test_a_capture_of_graphics_shaders_is_understood_as_far_as_it_goes(shared: Path) -> None:
    folder = shared / "reference/real/traces/vulkan-minitrace"
    with pytest.raises(TraceError, match=r"line 7: names kernel-MESA_SHADER_VERTEX_func0_main_0.*2 kernel files"):
        read_run_directory(FolderSource(folder))
    with pytest.raises(
        TraceError, match="has 59 instruction lines for warp 0 where 75 were announced: the file was cut"
    ):
        read_content(folder / "kernel-MESA_SHADER_FRAGMENT_func1_main_3.traceg")


def test_json_under_the_name_of_a_trace_is_refused(shared: Path) -> None:
    with pytest.raises(TraceError, match="is JSON, not an Accel-Sim kernel trace"):
        read_content(shared / "reference/real/traces/not-a-kernelslist/kernel-1.trace")


def workload_folders() -> list[str]:
    return [
        "babelstream", "decode_step", "gather", "gemm_tiled", "hgemm_tensor", "stress_atomics", "stress_chase",
        "stress_ffma", "transpose_naive", "vectoradd", "vectoradd_low",
    ]  # fmt: skip


@pytest.mark.parametrize("workload", workload_folders())
@pytest.mark.parametrize("sm", [70, 75, 86])
def test_every_reference_trace_reads_as_its_statistics_say(shared: Path, workload: str, sm: int) -> None:
    folder = shared / "reference/accelsim/traces" / workload / f"sm{sm}"
    found = read_run_directory(FolderSource(folder))
    rows = list(csv.DictReader((folder / "stats.csv").open()))
    for kernel, row in zip(found.kernels, rows, strict=True):
        shape = ["x".join(map(str, size)) for size in (kernel.grid, kernel.block)]
        assert [kernel.name, *shape] == [row["name"], row["grid"], row["block"]]
        assert (kernel.shared_memory_bytes, kernel.registers_per_thread) == (int(row["shmem"]), int(row["nregs"]))
        assert read_content(folder / kernel.trace_file).warp_instructions == int(row["warp_insts"])


@pytest.mark.parametrize(("name", "workload"), [("gather_k1", "gather"), ("vectoradd_k1", "vectoradd")])
def test_binary_samples_hold_the_text_that_they_were_made_from(shared: Path, name: str, workload: str) -> None:
    _, body = open_body(shared / "reference/tracez" / f"{name}.tracez")
    with body:
        lines = body.read(1 << 26).split(b"\n")
    with open_file(shared / "reference/accelsim/traces" / workload / "sm86/kernel-1.traceg.xz") as text:
        expected = text.read().split(b"#BEGIN_TB", 1)[1].split(b"\n")
    assert [line for line in lines[1:] if not line.startswith(b"cluster ")] == expected[1:]
