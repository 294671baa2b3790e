"""Finding a trace and reading what it asks for."""

from pathlib import Path

import pytest

from sims.engine.front import find_list, kernels_in, read_plan
from traces.accelsim import MemcpyCommand, TraceError

LIST = "MemcpyHtoD,0x00007f4b00000000,1024\nkernel-1.traceg\nkernel-2.traceg\n\nkernel-1.traceg\n"


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    folder = tmp_path / "run" / "traced" / "traces"
    folder.mkdir(parents=True)
    (folder / "kernelslist.g").write_text(LIST)
    (folder / "kernel-1.traceg").write_text("x" * 10)
    return folder


def test_a_trace_may_be_named_by_its_list_its_folder_or_its_run_directory(trace: Path) -> None:
    named = trace / "kernelslist.g", trace, trace.parent.parent
    assert {find_list(path) for path in named} == {trace / "kernelslist.g"}


def test_it_refuses_a_path_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="no such file"):
        find_list(tmp_path / "nowhere")


def test_it_refuses_a_folder_without_a_list(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=r"no kernelslist\.g"):
        find_list(tmp_path)


def test_it_refuses_to_choose_between_two_traces(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).mkdir()
        (tmp_path / name / "kernelslist.g").write_text(LIST)
    with pytest.raises(TraceError, match="several traces"):
        find_list(tmp_path)


def test_launches_keep_their_index_and_order_when_only_some_are_selected(trace: Path) -> None:
    plan = read_plan(trace, [2, 3])
    assert [(launch.index, launch.uid, launch.file.name) for launch in plan.launches] == [
        (2, 1, "kernel-2.traceg"),
        (3, 2, "kernel-1.traceg"),
    ]


def test_copies_stay_in_their_place(trace: Path) -> None:
    first = read_plan(trace).steps[0]
    assert isinstance(first, MemcpyCommand)
    assert (first.address, first.size_bytes) == (0x7F4B00000000, 1024)


def test_a_file_named_twice_is_launched_twice(trace: Path) -> None:
    assert kernels_in(trace) == 3
