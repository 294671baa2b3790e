"""Run directories in object storage: one listing, and only the first bytes of a kernel."""

from collections.abc import Iterator

import boto3
import pytest
from moto import mock_aws
from storages.backends.s3 import S3Storage

from tests.traces.builders import trace_files
from traces.accelsim import TraceError
from traces.rundir import read_run_directory
from traces.sources import StorageSource


@pytest.fixture
def storage(monkeypatch: pytest.MonkeyPatch) -> Iterator[S3Storage]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    with mock_aws():
        boto3.client("s3", region_name="us-east-1").create_bucket(Bucket="cascade")
        yield S3Storage(bucket_name="cascade", location="some/prefix", region_name="us-east-1")


def put(storage: S3Storage, name: str, data: bytes) -> None:
    storage.bucket.put_object(Key=f"some/prefix/{name}", Body=data)


def test_it_reads_a_trace_under_its_prefix(storage: S3Storage) -> None:
    for name, data in trace_files().items():
        put(storage, f"traces/t1/{name}", data)
        put(storage, f"traces/t10/{name}", data)
    found = read_run_directory(StorageSource(storage, "traces/t1"))
    assert found.files == {name: len(data) for name, data in trace_files().items()}
    assert len(found.kernels) == 2


def test_an_empty_kernel_file_is_a_clear_error(storage: S3Storage) -> None:
    for name, data in (trace_files() | {"kernel-1.traceg": b""}).items():
        put(storage, f"traces/t1/{name}", data)
    with pytest.raises(TraceError, match=r"kernel-1\.traceg: is empty"):
        read_run_directory(StorageSource(storage, "traces/t1"))


def test_it_asks_for_the_first_bytes_of_a_kernel_only(storage: S3Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    files = trace_files()
    files["kernel-1.traceg"] += b"\n" * (1 << 20)
    for name, data in files.items():
        put(storage, f"traces/t1/{name}", data)
    source = StorageSource(storage, "traces/t1")
    assert len(source._start("kernel-1.traceg", 1000).read()) == 1000
    assert len(read_run_directory(source).kernels) == 2
