"""Bringing a trace from storage to the worker: what is needed, once, and whole."""

import threading
from pathlib import Path
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage

from sims.runner import fetch
from sims.runner.assignment import TracePlace
from sims.supervision import trace_place
from traces.accelsim import TraceError
from traces.models import Trace

PREFIX = "traces/fetched"


@pytest.fixture
def stored(tmp_path: Path) -> TracePlace:
    """A run directory with three kernels in storage."""
    for name in ("kernelslist.g", "kernel-1.traceg", "kernel-2.traceg", "kernel-3.traceg"):
        default_storage.delete(f"{PREFIX}/traced/traces/{name}")
    put("traced/traces/kernelslist.g", b"kernel-1.traceg\nkernel-2.traceg\nMemcpyHtoD,0x1000,64\nkernel-3.traceg\n")
    for number in (1, 2, 3):
        put(f"traced/traces/kernel-{number}.traceg", b"kernel %d" % number)
    return TracePlace("t", "traced/traces/kernelslist.g", prefix=PREFIX, cache_folder=str(tmp_path / "cache"))


def put(name: str, data: bytes) -> None:
    default_storage.save(f"{PREFIX}/{name}", ContentFile(data))


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.rglob("*") if path.is_file() and not path.name.startswith(".")}


def test_it_fetches_the_list_and_every_kernel(stored: TracePlace) -> None:
    folder = fetch.trace_folder(stored, [])
    assert (folder / "traced/traces/kernel-3.traceg").read_bytes() == b"kernel 3"
    assert len(names(folder)) == 4


def test_it_fetches_only_the_chosen_kernels(stored: TracePlace) -> None:
    assert names(fetch.trace_folder(stored, [2])) == {"kernelslist.g", "kernel-2.traceg"}


def test_what_was_fetched_is_not_fetched_again(stored: TracePlace, monkeypatch: pytest.MonkeyPatch) -> None:
    fetch.trace_folder(stored, [])
    monkeypatch.setattr(fetch, "_download", lambda key, target: pytest.fail(f"{key} was fetched again"))
    fetch.trace_folder(stored, [])


def test_runners_that_start_together_share_one_download(stored: TracePlace, monkeypatch: pytest.MonkeyPatch) -> None:
    fetched: list[str] = []
    real = fetch._download

    def slow(key: str, target: Path) -> None:
        fetched.append(key)
        threading.Event().wait(0.05)
        real(key, target)

    monkeypatch.setattr(fetch, "_download", slow)
    threads = [threading.Thread(target=fetch.trace_folder, args=(stored, [])) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(fetched) == 4


def test_a_download_that_breaks_off_leaves_no_file(stored: TracePlace, monkeypatch: pytest.MonkeyPatch) -> None:
    def break_off(source: Any, target: Any, length: int) -> None:
        target.write(b"half")
        raise OSError("the connection was reset")

    monkeypatch.setattr(fetch.shutil, "copyfileobj", break_off)
    with pytest.raises(OSError, match="reset"):
        fetch.trace_folder(stored, [])
    assert names(Path(str(stored.cache_folder))) == set()


def test_a_kernel_that_storage_lacks_is_named(stored: TracePlace) -> None:
    default_storage.delete(f"{PREFIX}/traced/traces/kernel-2.traceg")
    with pytest.raises(FileNotFoundError, match=r"kernel-2\.traceg"):
        fetch.trace_folder(stored, [])


def test_a_list_that_names_a_path_fetches_the_file_beside_it(stored: TracePlace) -> None:
    default_storage.delete(f"{PREFIX}/traced/traces/kernelslist.g")
    put("traced/traces/kernelslist.g", b"../../../../etc/kernel-1.traceg\n")
    assert names(fetch.trace_folder(stored, [])) == {"kernelslist.g", "kernel-1.traceg"}


def test_a_list_that_is_none_is_refused(stored: TracePlace) -> None:
    default_storage.delete(f"{PREFIX}/traced/traces/kernelslist.g")
    put("traced/traces/kernelslist.g", b'{"kernels": []}')
    with pytest.raises(TraceError, match="JSON"):
        fetch.trace_folder(stored, [])


def test_a_local_folder_is_used_where_it_is(tmp_path: Path) -> None:
    (tmp_path / "kernelslist.g").write_text("")
    place = TracePlace("t", "kernelslist.g", folder=str(tmp_path))
    assert fetch.trace_folder(place, []) == tmp_path


def test_a_trace_that_took_anothers_name_is_fetched_anew(settings: Any) -> None:
    settings.CASCADE_S3_BUCKET = "cascade"
    before, after = (Trace(pk="decode", prefix="traces/decode") for _ in range(2))
    assert trace_place(before).cache_folder != trace_place(after).cache_folder
