"""Traces and output files in an object store: taken in, indexed, replaced, read back in pieces."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.servers.backing import s3_client, s3_server
from tests.servers.cascade import Cascade, Web
from traces.sample import SAMPLE_RUN_DIRECTORY


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    with s3_server(tmp_path_factory.mktemp("s3")) as env:
        yield env


@pytest.fixture(scope="module")
def cascade(store: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cascade]:
    env = {**store, "CASCADE_REPLAY_LOG": __file__}  # any file: nothing is replayed here
    with Cascade(tmp_path_factory.mktemp("cascade"), env) as installation:
        yield installation


@pytest.fixture(scope="module")
def web(cascade: Cascade) -> Web:
    return cascade.start_web()


def keys(store: dict[str, str], prefix: str) -> list[str]:
    """The object keys under a prefix of the installation's own."""
    found = s3_client(store).list_objects_v2(Bucket=store["CASCADE_S3_BUCKET"], Prefix=f"team/one/{prefix}")
    return [item["Key"].removeprefix("team/one/") for item in found.get("Contents", [])]


def test_a_trace_is_copied_into_the_bucket(cascade: Cascade, store: dict[str, str]) -> None:
    cascade.manage("ingest_trace", str(SAMPLE_RUN_DIRECTORY), "--name", "copied")
    assert "traces/copied/traced/traces/kernelslist.g" in keys(store, "traces/copied/")


def test_replacing_a_trace_leaves_no_object_of_the_old_one(cascade: Cascade, store: dict[str, str]) -> None:
    cascade.manage("ingest_trace", str(SAMPLE_RUN_DIRECTORY), "--name", "replaced")
    bare = SAMPLE_RUN_DIRECTORY / "traced" / "traces"
    cascade.manage("ingest_trace", str(bare), "--name", "replaced", "--replace")
    assert {Path(key).parent.as_posix() for key in keys(store, "traces/replaced/")} == {"traces/replaced"}


def test_a_run_directory_that_others_uploaded_is_found(cascade: Cascade, store: dict[str, str], web: Web) -> None:
    for path in SAMPLE_RUN_DIRECTORY.rglob("*"):
        if path.is_file():
            key = f"team/one/traces/uploaded/{path.relative_to(SAMPLE_RUN_DIRECTORY).as_posix()}"
            s3_client(store).upload_file(str(path), store["CASCADE_S3_BUCKET"], key)
    found = json.loads(cascade.manage("sync_traces", "--json"))
    assert [row["status"] for row in found if row["id"] == "uploaded"] == ["ready"]
    assert web.http.get("/api/traces/uploaded").json()["kernels"][0]["real_ns"] == 9140


def test_a_file_comes_back_whole_and_by_range(cascade: Cascade, store: dict[str, str], web: Web) -> None:
    sim = a_sim(cascade, web)
    data = bytes(range(256)) * 4096
    stored = web.http.put(f"/api/sims/{sim['id']}/files/out.bin", content=data)
    assert stored.json()["sha256"] == hashlib.sha256(data).hexdigest()
    path = f"/api/sims/{sim['id']}/files/out.bin"
    assert web.http.get(path).content == data
    assert web.http.get(path, headers={"Range": "bytes=1000-1999"}).content == data[1000:2000]


def test_a_refused_file_leaves_no_object(cascade: Cascade, store: dict[str, str], web: Web) -> None:
    sim = a_sim(cascade, web)
    wrong = {"Content-Digest": "sha-256=:" + "A" * 43 + "=:"}
    assert web.http.put(f"/api/sims/{sim['id']}/files/out.bin", content=b"data", headers=wrong).status_code == 422
    assert keys(store, f"sims/{sim['id']}/files/") == []


def test_a_replaced_file_leaves_one_object(cascade: Cascade, store: dict[str, str], web: Web) -> None:
    sim = a_sim(cascade, web)
    for data in (b"one", b"two"):
        web.http.put(f"/api/sims/{sim['id']}/files/out.bin", content=data)
    assert len(keys(store, f"sims/{sim['id']}/files/")) == 1
    assert web.http.get(f"/api/sims/{sim['id']}/files/out.bin").content == b"two"


def a_sim(cascade: Cascade, web: Web) -> Any:
    """The sim of a fresh run; no worker is there to take it."""
    if web.http.get("/api/traces/for-sims").status_code == 404:
        cascade.manage("ingest_trace", str(SAMPLE_RUN_DIRECTORY), "--name", "for-sims")
    body = {"trace_id": "for-sims", "gpu_configs": ["SM86_RTX3070"], "simulator": "replay"}
    return web.http.post("/api/runs", json=body).json()["sims"][0]
