"""The commands that bring traces in."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.files.storage import default_storage
from django.core.management import CommandError, call_command
from django.db import OperationalError

from tests.api.archives import sample_files, tar_of, write_files
from traces.models import Trace
from traces.sample import SAMPLE_RUN_DIRECTORY


@pytest.fixture(autouse=True)
def storage(db: None, tmp_path: Path, settings: Any) -> Path:
    settings.STORAGES = {
        **settings.STORAGES,
        "default": {**settings.STORAGES["default"], "OPTIONS": {"location": tmp_path / "files"}},
    }
    return tmp_path / "files"


def run(*arguments: Any) -> str:
    out = io.StringIO()
    call_command(*map(str, arguments), stdout=out, stderr=io.StringIO())
    return out.getvalue()


def test_a_folder_is_taken_in() -> None:
    assert "6 kernels, 6 with real times" in run("ingest_trace", SAMPLE_RUN_DIRECTORY)
    assert Trace.objects.get().status == "ready"


def test_without_a_terminal_no_progress_is_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    run("ingest_trace", SAMPLE_RUN_DIRECTORY)
    assert capsys.readouterr().err == ""


def test_an_archive_is_taken_in(tmp_path: Path) -> None:
    archive = tmp_path / "x.tar.gz"
    archive.write_bytes(tar_of(sample_files()))
    assert json.loads(run("ingest_trace", archive, "--json", "--name", "given"))["id"] == "given"


def test_a_list_of_kernels_stands_for_its_folder() -> None:
    assert "6 kernels" in run("ingest_trace", SAMPLE_RUN_DIRECTORY / "traced/traces/kernelslist.g", "--name", "bare")


def test_a_folder_can_be_read_where_it_is(storage: Path) -> None:
    run("ingest_trace", SAMPLE_RUN_DIRECTORY, "--in-place")
    assert Trace.objects.get().folder == str(SAMPLE_RUN_DIRECTORY)
    assert not storage.exists()


def test_times_can_come_from_a_file_of_their_own(tmp_path: Path) -> None:
    bare = write_files(tmp_path / "bare", {n: d for n, d in sample_files().items() if n.startswith("traced/")})
    run("ingest_trace", bare, "--times", SAMPLE_RUN_DIRECTORY / "corrected_timeline.json", "--name", "t")
    assert Trace.objects.get().times_report["file"] == "corrected_timeline.json"


def test_replacing_leaves_no_file_of_the_old_trace(storage: Path, tmp_path: Path) -> None:
    run("ingest_trace", SAMPLE_RUN_DIRECTORY, "--name", "t")
    bare = write_files(tmp_path / "bare", {n: d for n, d in sample_files().items() if n.startswith("traced/")})
    run("ingest_trace", bare, "--name", "t", "--replace")
    assert not (storage / "traces/t/run.json").exists()
    assert Trace.objects.get().real_launches == []


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["/no/such/place"], "/no/such/place"),
        ([__file__], "test_trace_commands.py"),
        ([SAMPLE_RUN_DIRECTORY, "--name", "../x"], "name"),
        ([SAMPLE_RUN_DIRECTORY, "--times", "/no/such/file"], "file"),
        ([SAMPLE_RUN_DIRECTORY, "--times", SAMPLE_RUN_DIRECTORY / "run.json"], "run.json"),
        ([Path(__file__).parent], "list of kernels"),
    ],
)
def test_bad_input_is_one_clear_line_and_leaves_nothing(arguments: list[Any], told: str) -> None:
    with pytest.raises(CommandError, match=told) as caught:
        run("ingest_trace", *arguments)
    assert "\n" not in str(caught.value)
    assert not Trace.objects.exists()


@pytest.mark.parametrize("arguments", [["ingest_trace", SAMPLE_RUN_DIRECTORY], ["sync_traces"]])
def test_a_database_without_tables_is_one_clear_line(arguments: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def no_table(*args: Any, **kwargs: Any) -> None:
        raise OperationalError("no such table: traces_trace")

    monkeypatch.setattr(Trace.objects, "create", no_table)
    monkeypatch.setattr(Trace.objects, "exclude", no_table)
    (Path(default_storage.path("traces")) / "x").mkdir(parents=True)
    with pytest.raises(CommandError, match=r"manage\.py migrate"):
        run(*arguments)


def test_the_same_name_twice_says_how_to_go_on() -> None:
    run("ingest_trace", SAMPLE_RUN_DIRECTORY)
    with pytest.raises(CommandError, match="--replace"):
        run("ingest_trace", SAMPLE_RUN_DIRECTORY)


def test_sync_finds_what_others_put_into_storage(storage: Path) -> None:
    write_files(storage / "traces" / "profiled-1", sample_files())
    write_files(storage / "traces" / "broken", {"run.json": b"{}"})
    found = json.loads(run("sync_traces", "--json"))
    assert {row["id"]: row["status"] for row in found} == {"profiled-1": "ready", "broken": "failed"}
    assert "list" in str(Trace.objects.get(pk="broken").detail)


def test_sync_looks_again_at_what_was_broken(storage: Path) -> None:
    write_files(storage / "traces" / "late", {"run.json": b"{}"})
    run("sync_traces")
    write_files(storage / "traces" / "late", sample_files())
    run("sync_traces")
    assert Trace.objects.get().status == "ready"
    assert (storage / "traces/late/run.json").exists()


def test_sync_takes_nothing_twice(storage: Path) -> None:
    write_files(storage / "traces" / "one", sample_files())
    run("sync_traces")
    assert json.loads(run("sync_traces", "--json")) == []


def test_the_sample_is_written_and_can_be_taken_in(tmp_path: Path) -> None:
    run("sample_trace", tmp_path / "sample")
    run("ingest_trace", tmp_path / "sample")
    assert Trace.objects.get().kernels_total == 6


def test_the_sample_is_not_written_over_other_files(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").touch()
    with pytest.raises(CommandError, match="not empty"):
        run("sample_trace", tmp_path)
