"""Run directories and bare traces, from folders, archives and storage alike."""

import gzip
import io
import json
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from django.core.files.storage import FileSystemStorage

from tests.traces.builders import kernel_bytes, small_tracez, tar_bytes, trace_files, write_files, zip_bytes
from traces.accelsim import TraceError
from traces.archives import read_archive
from traces.rundir import RunDirectory, read_run_directory
from traces.sources import FolderSource, Source, StorageSource

Files = dict[str, bytes]


def from_folder(files: Files, folder: Path) -> Source:
    return FolderSource(write_files(folder, files))


def from_storage(files: Files, folder: Path) -> Source:
    write_files(folder / "traces" / "t1", files)
    return StorageSource(FileSystemStorage(folder), "traces/t1")


def from_tar(files: Files, _: Path) -> Source:
    return read_archive(io.BytesIO(tar_bytes(files)), "t.tar")


def from_tar_with_the_list_last(files: Files, _: Path) -> Source:
    return read_archive(io.BytesIO(tar_bytes(dict(reversed(files.items())))), "t.tar")


def from_zip(files: Files, _: Path) -> Source:
    return read_archive(io.BytesIO(zip_bytes(files)), "t.zip")


SOURCES: list[Callable[[Files, Path], Source]] = [
    from_folder,
    from_storage,
    from_tar,
    from_tar_with_the_list_last,
    from_zip,
]
every_source = pytest.mark.parametrize("make_source", SOURCES)


@pytest.fixture
def read(tmp_path: Path) -> Callable[[Files], RunDirectory]:
    return lambda files: read_run_directory(from_folder(files, tmp_path))


@pytest.fixture
def refuse(tmp_path: Path) -> Callable[[Files, str], TraceError]:
    def check(files: Files, message: str) -> TraceError:
        with pytest.raises(TraceError, match=message) as caught:
            read_run_directory(from_folder(files, tmp_path))
        return caught.value

    return check


def under(folder: str, files: Files) -> dict[str, bytes]:
    return {f"{folder}/{name}": data for name, data in files.items()}


def run_directory(top: str = "") -> dict[str, bytes]:
    extra = {"run.json": b'{"workload": "copy"}', "corrected_timeline.json": b"{}", "trace_alignment.json": b"{}"}
    files = under("traced/traces", trace_files()) | extra
    return under(top, files) if top else files


@every_source
@pytest.mark.parametrize("top", ["", "my-run"])
def test_it_understands_a_run_directory(make_source: Callable[[Files, Path], Source], top: str, tmp_path: Path) -> None:
    found = read_run_directory(make_source(run_directory(top), tmp_path))
    assert (found.root, found.trace_folder) == (top, f"{top}/traced/traces".lstrip("/"))
    assert [kernel.trace_file for kernel in found.kernels] == ["kernel-1.traceg", "kernel-2.traceg"]
    assert found.metadata == {"workload": "copy"}
    assert found.timeline_file == f"{top}/corrected_timeline.json".lstrip("/")
    assert found.files == {name: len(data) for name, data in run_directory().items()}


@every_source
@pytest.mark.parametrize("top", ["", "deep/folder"])
def test_a_bare_trace_is_a_run_directory_too(
    make_source: Callable[[Files, Path], Source], top: str, tmp_path: Path
) -> None:
    files = under(top, trace_files()) if top else trace_files()
    found = read_run_directory(make_source(files, tmp_path))
    assert (found.root, found.trace_folder, found.metadata, found.timeline_file) == (top, top, {}, None)
    assert len(found.kernels) == 2


def test_it_takes_a_kernel_from_its_header(read: Callable[[Files], RunDirectory]) -> None:
    kernel = read(trace_files()).kernels[1]
    assert (kernel.index, kernel.name, kernel.kernel_id) == (2, "_Z4copyPf", 2)
    assert (kernel.grid, kernel.block, kernel.registers_per_thread) == ((2, 1, 1), (64, 1, 1), 16)
    assert (kernel.binary_version, kernel.tracer_version, kernel.nvbit_version) == (86, 5, "1.5.5")


def test_it_keeps_the_copies_and_sums_the_sizes(read: Callable[[Files], RunDirectory]) -> None:
    found = read(trace_files())
    assert [copy.size_bytes for copy in found.memcpys] == [512]
    assert found.size_bytes == sum(map(len, trace_files().values()))


@every_source
@pytest.mark.parametrize(
    ("suffix", "compress"), [("xz", lzma.compress), ("gz", gzip.compress), ("zst", zstandard.compress)]
)
def test_lists_and_kernels_may_be_compressed(
    make_source: Callable[[Files, Path], Source], suffix: str, compress: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    files = {f"{name}.{suffix}": compress(data) for name, data in trace_files().items()}
    listed = f"kernel-1.traceg.{suffix}\nkernel-2.traceg.{suffix}\n"
    files[f"kernelslist.g.{suffix}"] = compress(listed.encode())
    found = read_run_directory(make_source(files, tmp_path))
    assert [kernel.trace_file for kernel in found.kernels] == listed.split()


def test_binary_traces_are_read_too(read: Callable[[Files], RunDirectory]) -> None:
    name = "kernel-2254-ctx_0x35fc7de0.tracez"
    found = read({"kernelslist.g": name.encode(), name: small_tracez()})
    assert found.kernels[0].name == "_Z4copyPf"


def test_a_kernel_that_was_compressed_after_the_list_was_written_is_found(
    read: Callable[[Files], RunDirectory],
) -> None:
    found = read({"kernelslist.g": b"kernel-1.traceg\n", "kernel-1.traceg.xz": lzma.compress(kernel_bytes())})
    assert found.kernels[0].trace_file == "kernel-1.traceg.xz"
    assert found.warnings == ("kernel-1.traceg is listed, kernel-1.traceg.xz is there and is used instead",)


def test_the_same_file_may_be_launched_twice(read: Callable[[Files], RunDirectory]) -> None:
    found = read({"kernelslist.g": b"kernel-1.traceg\nkernel-1.traceg\n", "kernel-1.traceg": kernel_bytes()})
    assert [(kernel.index, kernel.trace_file) for kernel in found.kernels] == [
        (1, "kernel-1.traceg"),
        (2, "kernel-1.traceg"),
    ]


def test_the_post_processed_list_wins_over_the_raw_one(read: Callable[[Files], RunDirectory]) -> None:
    assert read(trace_files() | {"kernelslist": b"kernel-1.trace\n"}).list_file == "kernelslist.g"


def test_only_the_first_context_is_used_and_the_others_are_named(read: Callable[[Files], RunDirectory]) -> None:
    found = read(trace_files() | {"kernelslist_ctx_0x6165bdd7ec90.g": b"kernel-1.traceg\n"})
    assert found.list_file == "kernelslist.g"
    assert "kernelslist_ctx_0x6165bdd7ec90.g of other contexts" in found.warnings[0]


def test_a_list_named_after_its_context_is_found(read: Callable[[Files], RunDirectory]) -> None:
    files = trace_files()
    files["kernelslist_ctx_0x6165bdd7ec90.g"] = files.pop("kernelslist.g")
    assert len(read(files).kernels) == 2


def test_kernels_of_several_sass_versions_are_a_warning(read: Callable[[Files], RunDirectory]) -> None:
    files = trace_files()
    files["kernel-2.traceg"] = files["kernel-2.traceg"].replace(b"binary version = 86", b"binary version = 80")
    found = read(files)
    assert found.binary_version == 86
    assert found.warnings == ("its kernels are of several SASS versions: 80, 86",)


def test_warnings_of_headers_name_the_file(read: Callable[[Files], RunDirectory]) -> None:
    files = trace_files() | {"kernel-2.traceg": kernel_bytes(2).replace(b"_Z4copyPf", b"\xff\xfe")}
    assert read(files).warnings[0].startswith("kernel-2.traceg: line 1 is not valid UTF-8")


@every_source
def test_only_the_first_bytes_of_a_kernel_are_looked_at(
    make_source: Callable[[Files, Path], Source], tmp_path: Path
) -> None:
    broken_body = kernel_bytes().replace(b"insts = 4", b"insts = 9") + b"\xff" * 1_000_000
    files = trace_files() | {"kernel-2.traceg": broken_body}
    assert len(read_run_directory(make_source(files, tmp_path)).kernels) == 2


@every_source
@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"kernel-2.traceg": b""}, "kernel-2.traceg: is empty"),
        ({"kernel-2.traceg": kernel_bytes()[:70]}, "kernel-2.traceg, line 4: ends inside its header"),
        ({"kernel-2.traceg": b"\xfd7zXZ\x00" + b"x" * 90}, "kernel-2.traceg: its xz data is damaged"),
        (
            {"kernelslist.g": b"kernel-1.traceg\nkernel-3.traceg\n"},
            "line 2: names kernel-3.traceg, which is not beside it",
        ),
        ({"kernelslist.g": b""}, "kernelslist.g: names no kernel"),
        ({"kernelslist.g": b"MemcpyHtoD,0x10,4\n"}, "kernelslist.g: names no kernel"),
        ({"kernelslist.g": b'[{"cta_id_x": 0}]'}, "kernelslist.g: is JSON"),
        ({"run.json": b"[1]"}, "run.json: is not a JSON object"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(
    make_source: Callable[[Files, Path], Source], changed: Files, message: str, tmp_path: Path
) -> None:
    with pytest.raises(TraceError, match=message):
        read_run_directory(make_source(trace_files() | changed, tmp_path))


def test_several_missing_files_are_counted(refuse: Callable[[Files, str], TraceError]) -> None:
    error = refuse({"kernelslist.g": b"kernel-1.traceg\nkernel-2.traceg.xz\n"}, "2 kernel files are missing")
    assert (error.file, error.line) == ("kernelslist.g", 1)


def test_several_bad_files_are_counted(refuse: Callable[[Files, str], TraceError]) -> None:
    refuse(trace_files() | {"kernel-1.traceg": b"", "kernel-2.traceg": b""}, "2 kernel files have errors")


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"notes.txt": b"x"}, "There is no list of kernels: give a run directory"),
        ({"kernel-1.traceg": kernel_bytes()}, "There are kernel files such as kernel-1.traceg but no list"),
        (under("a", trace_files()) | under("b", trace_files()), r"There are 2 traces \(a, b\)"),
        (
            {"kernelslist": b"kernel-1.trace.xz\n", "kernel-1.trace.xz": b"x"},
            "is a raw trace: run Accel-Sim's post-traces",
        ),
    ],
)
def test_a_folder_that_is_no_single_trace_is_refused(
    files: Files, message: str, refuse: Callable[[Files, str], TraceError]
) -> None:
    refuse(files, message)


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="does not exist"):
        FolderSource(tmp_path / "nothing")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b'{"name": "x",\n oops}', "run.json, line 2: is not JSON"),
        (b"", "run.json, line 1: is not JSON"),
        (b'{"a": NaN}', "is not JSON that can be kept"),
        (b'{"a": \xff}', "is not JSON that can be kept"),
        (b'{"a": ' + b"9" * 10_000 + b"}", "is not JSON that can be kept"),
        (b'{"a":' * 101 + b"1" + b"}" * 101, "is nested more than 100 deep"),
        (b'{"a": 1e400}', "holds a number that is too large"),
        (b'{"a": "\\ud800"}', "holds text that is not valid Unicode"),
        (b"[" * 100_000, "is not JSON that can be kept"),
        (b'{"a": "\\u0000"}', "has a NUL character"),
        (b'"text"', "is not a JSON object"),
        (b'{"a": "' + b"x" * (2 << 20) + b'"}', "has more than 1048576 bytes"),
    ],
)
def test_metadata_that_cannot_be_kept_is_refused(
    text: bytes, message: str, refuse: Callable[[Files, str], TraceError]
) -> None:
    refuse(trace_files() | {"run.json": text}, message)


def test_metadata_is_kept_as_it_is(read: Callable[[Files], RunDirectory]) -> None:
    metadata = {"name": "\u00e4", "nested": {"list": [1, 2.5, None]}, "unknown": True}
    assert read(trace_files() | {"run.json": json.dumps(metadata).encode("utf-8-sig")}).metadata == metadata
