"""Traces that come in over the API: archives in every form, and what is refused."""

import io
import json
import lzma
import re
from datetime import timedelta
from typing import Any

import pytest
from django.core.files.storage import default_storage
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from tests.api.archives import sample_files, tar_of, zip_of
from traces import ingest
from traces.models import Trace
from traces.tasks import read_contents

TRACE_FOLDER = "traced/traces/"


@pytest.fixture(autouse=True)
def _own_storage(tmp_path: Any, settings: Any) -> None:
    options = {**settings.STORAGES["default"], "OPTIONS": {"location": tmp_path / "files"}}
    settings.STORAGES = {**settings.STORAGES, "default": options}


def upload(api: Client, data: bytes, file_name: str = "run.tar.gz", **fields: str) -> Any:
    return api.post("/api/traces", {"file": SimpleUploadedFile(file_name, data), **fields})


def stored_names() -> list[str]:
    root = default_storage.path("")
    return sorted(path for path in map(str, __import__("pathlib").Path(root).rglob("*.traceg*")))


@pytest.mark.parametrize(
    ("file_name", "pack"),
    [
        ("run.tar", lambda files: tar_of(files, "w")),
        ("run.tar.gz", lambda files: tar_of(files, "w:gz")),
        ("run.tar.xz", lambda files: tar_of(files, "w:xz")),
        ("run.zip", zip_of),
    ],
)
def test_an_archive_becomes_a_trace(api: Client, file_name: str, pack: Any) -> None:
    answer = upload(api, pack(sample_files()), file_name)
    assert answer.status_code == 201
    trace = answer.json()
    assert (trace["id"], trace["status"], trace["kernels_total"]) == ("babelstream-sample", "ready", 6)
    assert (trace["gpu"], trace["binary_version"]) == ("NVIDIA GeForce RTX 3070", 86)


def test_the_runs_own_timeline_gives_the_real_times(api: Client) -> None:
    upload(api, tar_of(sample_files()))
    body = api.get("/api/traces/babelstream-sample").json()
    assert all(kernel["real_ns"] > 0 for kernel in body["kernels"])
    assert body["real_ns"] == sum(kernel["real_ns"] for kernel in body["kernels"])
    assert body["times"]["kernels_matched"] == 6


def test_the_form_may_name_the_trace(api: Client) -> None:
    assert upload(api, tar_of(sample_files()), name="mine-1.0").json()["id"] == "mine-1.0"


def test_a_bare_trace_is_named_after_its_archive(api: Client) -> None:
    bare = {name.removeprefix(TRACE_FOLDER): data for name, data in sample_files().items() if TRACE_FOLDER in name}
    assert upload(api, tar_of(bare), "my bare trace.tar.gz").json()["id"] == "my-bare-trace"


def test_the_run_directory_may_lie_in_a_folder_of_the_archive(api: Client) -> None:
    answer = upload(api, tar_of({f"top/{name}": data for name, data in sample_files().items()}))
    assert answer.json()["id"] == "babelstream-sample"


@pytest.mark.parametrize("name", ["a/b", "..", ".hidden", "a b", "ä", "x" * 201, "a\nb"])
def test_it_refuses_a_name_that_is_no_id(api: Client, name: str) -> None:
    assert upload(api, tar_of(sample_files()), name=name).status_code == 422
    assert not Trace.objects.exists()


def test_a_second_trace_of_the_same_name_is_a_conflict(api: Client) -> None:
    upload(api, tar_of(sample_files()))
    assert upload(api, tar_of(sample_files())).status_code == 409
    assert Trace.objects.get().status == "ready"


def test_a_failed_trace_may_be_sent_again(api: Client) -> None:
    upload(api, tar_of(sample_files()))
    Trace.objects.get().fail("disk full")
    assert upload(api, tar_of(sample_files())).status_code == 201


def without(name: str) -> dict[str, bytes]:
    return {key: data for key, data in sample_files().items() if key != name}


KERNEL = TRACE_FOLDER + "kernel-3.traceg.xz"
LIST = TRACE_FOLDER + "kernelslist.g"


@pytest.mark.parametrize(
    ("spoiled", "told"),
    [
        (without(LIST), "list"),
        (without(KERNEL), "kernel-3"),
        ({**sample_files(), KERNEL: b""}, "kernel-3"),
        ({**sample_files(), LIST: b""}, "kernelslist"),
        ({**sample_files(), LIST: b'{"kernels": []}'}, "kernelslist"),
        ({**sample_files(), "run.json": b"{"}, "run.json"),
        ({**sample_files(), "run.json": b'{"workload": "\\ud800"}'}, "run.json"),
        ({**sample_files(), "run.json": b'{"workload": 1e400}'}, "run.json"),
        ({**sample_files(), "run.json": b'{"workload": "\\u0000"}'}, "run.json"),
        ({**sample_files(), "../evil": b"x"}, "outside"),
        ({}, "holds no files"),
    ],
)
def test_a_broken_archive_is_refused_with_its_reason_and_leaves_nothing(
    api: Client, spoiled: dict[str, bytes], told: str
) -> None:
    answer = upload(api, tar_of(spoiled))
    assert answer.status_code == 422
    assert told in answer.json()["detail"]
    assert not Trace.objects.exists()
    assert stored_names() == []


@pytest.mark.parametrize("data", [b"rubbish", b"PK\x03\x04rubbish", b"", tar_of(sample_files())[:20_000]])
def test_what_is_no_whole_archive_is_refused(api: Client, data: bytes) -> None:
    assert upload(api, data).status_code == 422
    assert not Trace.objects.exists()


def test_it_refuses_a_form_without_a_file(api: Client) -> None:
    answer = api.post("/api/traces", {"name": "x"})
    assert (answer.status_code, list(answer.json()["errors"])) == (422, ["file"])


def test_it_refuses_a_field_it_does_not_know(api: Client) -> None:
    assert "surprise" in upload(api, tar_of(sample_files()), surprise="1").json()["errors"]


def test_it_refuses_json_in_place_of_a_form(api: Client) -> None:
    assert api.post("/api/traces", {}, content_type="application/json").status_code == 415


def test_it_refuses_a_form_that_cannot_be_read(api: Client) -> None:
    answer = api.post("/api/traces", b"rubbish", content_type="multipart/form-data; boundary=xyz")
    assert answer.status_code in (400, 422)


def test_a_disk_that_is_full_leaves_a_failed_trace_that_says_so(api: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(name: str, stream: Any) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(ingest, "save_stream", full)
    assert upload(api, tar_of(sample_files())).status_code == 507
    trace = Trace.objects.get()
    assert (trace.status, "No space left" in (trace.detail or "")) == ("failed", True)


def test_identical_launches_are_marked_once_bodies_are_read(api: Client) -> None:
    files = sample_files()
    listed = files[LIST].decode().splitlines()
    kernel = next(line for line in listed if "kernel-" in line)
    upload(api, tar_of({**files, LIST: "\n".join([*listed, kernel]).encode()}), name="twice")
    read_contents("twice")
    kernels = api.get("/api/traces/twice").json()["kernels"]
    assert kernels[6]["identical_to"] == 1
    assert all(kernel["instructions"] > 0 for kernel in kernels)


def test_a_kernel_whose_body_is_cut_is_named_in_the_warnings(api: Client) -> None:
    files = sample_files()
    upload(api, tar_of({**files, KERNEL: files[KERNEL][:4000]}), name="cut")
    read_contents("cut")
    body = api.get("/api/traces/cut").json()
    assert any("kernel-3" in warning for warning in body["warnings"])
    assert body["kernels"][2]["instructions"] is None
    assert body["kernels"][0]["instructions"] > 0


def test_what_was_read_of_a_trace_is_not_told_of_another_of_its_name(api: Client) -> None:
    upload(api, tar_of(sample_files()), name="again")
    read = Trace.objects.get()
    Trace.objects.update(created_at=read.created_at + timedelta(seconds=1))
    assert not read.set_contents({1: (7, "hash")}, ["kernel-2.traceg is cut."])
    body = api.get("/api/traces/again").json()
    assert (body["kernels"][0]["instructions"], body["warnings"]) == (None, [])


def test_real_times_can_be_given_later(api: Client) -> None:
    bare = {name: data for name, data in sample_files().items() if TRACE_FOLDER in name}
    upload(api, tar_of(bare), name="bare")
    times = io.BytesIO(sample_files()["corrected_timeline.json"])
    times.name = "corrected_timeline.json"
    answer = patch(api, "bare", times=times)
    assert answer.status_code == 200
    assert all(kernel["real_ns"] for kernel in answer.json()["kernels"])


def nsys_of(gpu: str) -> io.BytesIO:
    """A profile that Nsight Systems made of the sample on a GPU."""
    head = "Start (ns),Duration (ns),GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Device,Strm,Name"
    timeline = json.loads(sample_files()["corrected_timeline.json"])
    rows = [
        ",".join(map(str, [one["start_ns"], one["duration_ns"], *one["grid"], *one["block"], gpu, 7, one["name"]]))
        for one in timeline["steps"][0]["kernels"]
    ]
    times = io.BytesIO("\n".join([head, *rows, ""]).encode())
    times.name = "nsys.csv"
    return times


def real_starts_ns(trace_id: str) -> list[float]:
    return [launch["start_ns"] for launch in Trace.objects.get(pk=trace_id).real_launches]


def test_the_real_run_is_known_from_any_file_that_tells_starts(api: Client) -> None:
    bare = tar_of({name: data for name, data in sample_files().items() if TRACE_FOLDER in name})
    upload(api, tar_of(sample_files()), name="own")
    for name, times in (("nsys", nsys_of("L4")), ("timeline", io.BytesIO(sample_files()["corrected_timeline.json"]))):
        upload(api, bare, name=name)
        assert real_starts_ns(name) == []
        patch(api, name, times=times)
    assert len(real_starts_ns("own")) == 6
    assert real_starts_ns("nsys") == real_starts_ns("timeline") == real_starts_ns("own")


def test_times_without_starts_take_the_real_run_with_them(api: Client) -> None:
    upload(api, tar_of(sample_files()))
    table = nsys_of("L4").getvalue().decode().splitlines()
    without = "\n".join(line.partition(",")[2] for line in table)
    assert patch(api, "babelstream-sample", times=io.BytesIO(without.encode())).status_code == 200
    assert real_starts_ns("babelstream-sample") == []


def test_a_real_run_too_long_for_a_step_timeline_is_noted(api: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("traces.real_run.MOST_LAUNCHES", 5)
    upload(api, tar_of(sample_files()))
    body = patch(api, "babelstream-sample", times=nsys_of("NVIDIA GeForce RTX 3070")).json()
    assert "The real run has 6 launches, a predicted step timeline at most 5" in body["times"]["notes"][-1]
    assert all(kernel["real_ns"] for kernel in body["kernels"])


def test_a_trace_that_names_no_gpu_has_the_one_its_times_are_of(api: Client) -> None:
    upload(api, tar_of({name: data for name, data in sample_files().items() if TRACE_FOLDER in name}), name="bare")
    assert patch(api, "bare", times=nsys_of("NVIDIA A100 (0)")).json()["gpu"] == "NVIDIA A100"
    assert patch(api, "bare", times=nsys_of("NVIDIA L4 (0)")).json()["gpu"] == "NVIDIA L4"


def test_a_traces_own_gpu_stays_and_times_of_another_are_noted(api: Client) -> None:
    upload(api, tar_of(sample_files()))
    body = patch(api, "babelstream-sample", times=nsys_of("NVIDIA A100 (0)")).json()
    assert body["gpu"] == "NVIDIA GeForce RTX 3070"
    assert "The times are of NVIDIA A100" in body["times"]["notes"][0]


def test_a_file_of_times_that_cannot_be_read_leaves_the_trace_as_it_was(api: Client) -> None:
    upload(api, tar_of(sample_files()))
    before = api.get("/api/traces/babelstream-sample").content
    assert patch(api, "babelstream-sample", times=io.BytesIO(b"rubbish")).status_code == 422
    assert api.get("/api/traces/babelstream-sample").content == before


def test_a_profile_with_odd_names_and_numbers_is_kept(api: Client) -> None:
    upload(api, tar_of(sample_files()))
    timeline = json.loads(sample_files()["corrected_timeline.json"])
    step = timeline["steps"][0]
    step |= {"index": 2**40, "phase": "a\0\ud800"}
    step["kernels"].append({**step["kernels"][0], "name": "odd\0\ud800", "start_ns": 10**30})
    answer = patch(api, "babelstream-sample", times=io.BytesIO(json.dumps(timeline).encode()))
    assert answer.status_code in (200, 422)
    assert api.get("/api/traces/babelstream-sample").status_code == 200


def test_times_of_other_kernels_are_refused(api: Client) -> None:
    upload(api, tar_of(sample_files()))
    row = '{"name": "other", "start_ns": 0, "duration_ns": 5, "stream": 0, "grid": [1, 1, 1], "block": [1, 1, 1]}'
    times = f'{{"steps": [{{"index": 0, "phase": "x", "kernels": [{row}]}}]}}'.encode()
    answer = patch(api, "babelstream-sample", times=io.BytesIO(times))
    assert answer.status_code == 422
    assert "another workload" in answer.json()["detail"]


def patch(api: Client, trace_id: str, **files: Any) -> Any:
    from django.test.client import BOUNDARY, MULTIPART_CONTENT, encode_multipart

    return api.patch(f"/api/traces/{trace_id}", encode_multipart(BOUNDARY, files), content_type=MULTIPART_CONTENT)


@pytest.mark.parametrize("field", ["shmem", "nregs", "cuda stream id", "binary version", "kernel id", "grid dim"])
@pytest.mark.parametrize("value", ["9" * 25, str(2**63), str(2**31), "-1", "x", "(1,1,99999999999)"])
def test_a_header_with_an_odd_number_is_taken_or_refused(api: Client, field: str, value: str) -> None:
    files = sample_files()
    text = lzma.decompress(files[KERNEL])
    spoiled = re.sub(rb"(?m)^-%s = .*$" % field.encode(), f"-{field} = {value}".encode(), text, count=1)
    assert spoiled != text
    answer = upload(api, tar_of({**files, KERNEL: lzma.compress(spoiled)}))
    assert answer.status_code in (201, 422)
    assert answer.status_code == 201 or not Trace.objects.exists()
