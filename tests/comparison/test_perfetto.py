"""The Chrome trace file: what Perfetto and chrome://tracing need of it."""

import itertools
import json
import tracemalloc
from collections import defaultdict
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from runs.perfetto import Process, Slice, chrome_trace, real_process, simulated_process
from runs.rows import RealKernel, SimulatedKernel


def events(*processes: Process) -> list[dict[str, Any]]:
    return json.loads(b"".join(chrome_trace(processes)))["traceEvents"]


def slices(found: list[dict[str, Any]], category: str = "kernel") -> list[dict[str, Any]]:
    return [event for event in found if event["ph"] == "X" and event["cat"] == category]


def names(found: list[dict[str, Any]], kind: str) -> dict[tuple[int, int], str]:
    return {(e["pid"], e["tid"]): e["args"]["name"] for e in found if e["ph"] == "M" and e["name"] == kind}


REAL = [
    RealKernel(1, "copy", stream=7, real_ns=2000, start_ns=10**18, step=0, phase="decode"),
    RealKernel(2, "gemm", stream=7, real_ns=4000, start_ns=10**18 + 3000, step=0, phase="decode"),
    RealKernel(3, "norm", stream=8, real_ns=500, start_ns=10**18 + 1000, step=1, phase="decode"),
]
SIMULATED = [
    SimulatedKernel(1, "copy", 8000, 1500.0, dram_bytes=3000, occupancy=0.5, stream=7),
    SimulatedKernel(2, "gemm", 9000, 3000.0, stream=7),
]


def test_the_real_run_and_each_config_are_processes_and_streams_their_threads() -> None:
    found = events(real_process(REAL, "RTX 3070"), simulated_process("SM80_A100", SIMULATED))
    assert names(found, "process_name") == {(1, 0): "Real run", (2, 0): "SM80_A100"}
    assert sorted(names(found, "thread_name").values()) == [
        "steps",
        "steps (lane 2)",
        "stream 7",
        "stream 7",
        "stream 8",
    ]


def test_time_is_relative_and_in_microseconds() -> None:
    first, *_ = slices(events(real_process(REAL)))
    assert (first["ts"], first["dur"]) == (0.0, 2.0)


def test_kernels_without_a_start_follow_one_another() -> None:
    found = slices(events(simulated_process("A", SIMULATED)))
    assert [(event["ts"], event["dur"]) for event in found] == [(0.0, 1.5), (1.5, 3.0)]


def test_predicted_starts_of_a_timeline_are_used() -> None:
    found = slices(events(simulated_process("A", SIMULATED, starts_ns={1: 500.0, 2: 0.0})))
    assert [(event["name"], event["ts"]) for event in found] == [("gemm", 0.0), ("copy", 0.5)]


def test_simulated_and_real_time_begin_together() -> None:
    first, *_ = slices(events(simulated_process("A", SIMULATED, starts_ns={1: 1e15, 2: 1e15 + 4000})))
    assert first["ts"] == 0


def test_kernels_that_overlap_on_a_stream_get_lanes_of_their_own() -> None:
    overlapping = [Slice("a", 0, 10, stream=7), Slice("b", 5, 10, stream=7), Slice("c", 12, 1, stream=7)]
    found = events(Process("p", overlapping))
    threads = names(found, "thread_name")
    assert [threads[1, event["tid"]] for event in slices(found)] == ["stream 7", "stream 7 (lane 2)", "stream 7"]


@given(
    st.lists(
        st.tuples(st.integers(0, 50), st.integers(0, 20), st.integers(0, 1)),
        max_size=30,
    )
)
def test_slices_of_one_thread_never_overlap(drawn: list[tuple[int, int, int]]) -> None:
    pieces = [Slice("k", start, duration, stream) for start, duration, stream in drawn]
    by_thread: dict[int, list[tuple[float, float]]] = defaultdict(list)
    for event in slices(events(Process("p", pieces))):
        by_thread[event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
    for spans in by_thread.values():
        spans.sort()
        assert all(end <= start + 1e-9 for (_, end), (start, _) in itertools.pairwise(spans))


def test_a_kernel_of_no_length_is_still_a_slice() -> None:
    assert slices(events(Process("p", [Slice("k", 0, 0)])))[0]["dur"] == 0.001


@given(st.text(alphabet=st.characters(), max_size=20))
def test_no_kernel_name_makes_the_file_unreadable(name: str) -> None:
    body = b"".join(chrome_trace([Process("p", [Slice(name + '"\\\n\0\ud800', 0, 1)])]))
    json.loads(body)["traceEvents"][-1]["name"].encode("utf-8")


def test_there_is_no_nan_in_the_file() -> None:
    odd = SimulatedKernel(1, "k", 5, 10.0, occupancy=float("nan"), dram_bytes=0)
    lost = SimulatedKernel(2, "l", 5, float("inf"))
    found = events(simulated_process("A", [odd, lost]))
    assert len(slices(found)) == 1
    assert "occupancy" not in slices(found)[0]["args"]


def test_steps_are_slices_over_their_kernels() -> None:
    step, later = slices(events(real_process(REAL)), "step")
    assert (step["name"], step["ts"], step["dur"]) == ("step 0 (decode)", 0.0, 7.0)
    assert (later["name"], later["ts"], later["dur"]) == ("step 1 (decode)", 1.0, 0.5)


def test_counters_add_up_while_kernels_run_together_and_return_to_zero() -> None:
    pieces = [Slice("a", 0, 10, 1, counters={"bw": 3.0}), Slice("b", 5, 10, 2, counters={"bw": 4.0})]
    counted = [(e["ts"], e["args"]["value"]) for e in events(Process("p", pieces)) if e["ph"] == "C"]
    assert counted == [(0.0, 3.0), (0.005, 7.0), (0.01, 4.0), (0.015, 0.0)]


def test_bandwidth_and_occupancy_are_counters_of_a_config() -> None:
    found = events(simulated_process("A", SIMULATED))
    first = {e["name"]: e["args"]["value"] for e in reversed(found) if e["ph"] == "C" and e["ts"] == 0}
    assert first == {"DRAM bandwidth (GB/s)": 2.0, "Occupancy (%)": 50.0}


def test_flows_join_a_real_kernel_with_its_simulation() -> None:
    found = events(real_process(REAL), simulated_process("A", SIMULATED), simulated_process("B", SIMULATED[:1]))
    starts = {e["id"]: e for e in found if e["ph"] == "s"}
    ends = {e["id"]: e for e in found if e["ph"] == "f"}
    assert starts.keys() == ends.keys()
    assert len(starts) == 3
    assert all(e["bp"] == "e" for e in ends.values())


def test_a_flow_never_ends_before_it_starts() -> None:
    found = events(real_process(REAL), simulated_process("A", SIMULATED))
    starts = {e["id"]: e["ts"] for e in found if e["ph"] == "s"}
    assert all(starts[e["id"]] <= e["ts"] for e in found if e["ph"] == "f")


def test_a_run_without_kernels_is_a_valid_file() -> None:
    assert events() == []


def test_the_file_is_written_without_being_held() -> None:
    many = (Slice(f"kernel {number}", number * 10.0, 9.0) for number in range(50_000))
    tracemalloc.start()
    written = sum(len(chunk) for chunk in chrome_trace([Process("p", many)]))
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak_bytes < written / 5
