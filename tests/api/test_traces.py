from django.test import Client

from tests.api.conftest import make_trace
from traces.models import Trace

TRACE_KEYS = {
    "id", "status", "detail", "created_at", "workload", "gpu", "binary_version", "tracer_version", "nvbit_version",
    "kernels_total", "size_bytes", "real_ns", "metadata",
}  # fmt: skip
KERNEL_KEYS = {
    "index", "name", "trace_file", "grid", "block", "shared_memory_bytes", "registers_per_thread", "stream",
    "instructions", "real_ns", "identical_to",
}  # fmt: skip


def test_it_lists_the_newest_trace_first(api: Client) -> None:
    make_trace("older", 1)
    make_trace("newer", 1)
    assert [trace["id"] for trace in api.get("/api/traces").json()] == ["newer", "older"]


def test_a_trace_has_every_field_of_the_contract(api: Client, trace: Trace) -> None:
    assert api.get("/api/traces").json()[0].keys() >= TRACE_KEYS


def test_one_trace_comes_with_its_kernels_in_launch_order(api: Client, trace: Trace) -> None:
    body = api.get("/api/traces/babelstream").json()
    assert [kernel["index"] for kernel in body["kernels"]] == [1, 2, 3]
    assert body["kernels"][0].keys() >= KERNEL_KEYS
    assert body["kernels"][1]["grid"] == [2, 1, 1]


def test_a_stream_that_is_a_64_bit_pointer_stays_exact(api: Client, trace: Trace) -> None:
    trace.kernels.update(stream=2**64 - 1)
    assert api.get("/api/traces/babelstream").json()["kernels"][0]["stream"] == 2**64 - 1


def test_times_are_utc_with_microseconds(api: Client, trace: Trace) -> None:
    created_at = api.get("/api/traces").json()[0]["created_at"]
    assert created_at.endswith("Z")
    assert len(created_at) == len("2026-11-08T03:05:34.001386Z")


def test_an_unknown_trace_is_named_in_the_404(api: Client) -> None:
    answer = api.get("/api/traces/nope")
    assert (answer.status_code, answer.json()) == (404, {"detail": "There is no trace 'nope'."})
