"""Step timelines: real order and streams, predicted times, gaps kept or closed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sims.timeline import Gaps, MeasuredKernel, Prediction, busy_time_ns, step_timeline


def kernel(start: float | None, ns: float, stream: int = 0, step: int = 0) -> MeasuredKernel:
    return MeasuredKernel("k", ns, start, stream, step, phase="decode", trace_kernel=1)


def simulated(*times: float) -> list[Prediction | None]:
    return [Prediction(ns, "simulated") for ns in times]


def starts(kernels: list[MeasuredKernel], times: list[Prediction | None], gaps: Gaps = "kept") -> list[float]:
    timeline, _ = step_timeline(kernels, times, gaps)
    return [row["predicted_start_ns"] for step in timeline["steps"] for row in step["kernels"]]


def test_perfect_predictions_reproduce_the_real_run() -> None:
    kernels = [kernel(0, 10), kernel(15, 10), kernel(18, 20, stream=1), kernel(40, 5)]
    assert starts(kernels, simulated(10, 10, 20, 5)) == [0, 15, 18, 40]


def test_real_gaps_are_kept_behind_shorter_kernels() -> None:
    assert starts([kernel(0, 10), kernel(15, 10)], simulated(4, 4)) == [0, 9]


def test_gaps_are_closed_when_asked() -> None:
    timeline, comparison = step_timeline([kernel(0, 10), kernel(15, 10)], simulated(4, 4), "closed")
    assert [row["predicted_start_ns"] for row in timeline["steps"][0]["kernels"]] == [0, 4]
    assert (timeline["steps"][0]["real_ns"], comparison["error"]) == (20, pytest.approx(-0.6))
    assert timeline["gaps"] == "closed"


def test_streams_run_side_by_side() -> None:
    assert starts([kernel(0, 100, stream=1), kernel(0, 50, stream=2)], simulated(80, 90)) == [0, 0]


def test_a_kernel_waits_for_the_one_of_another_stream_that_it_really_followed() -> None:
    assert starts([kernel(0, 10, stream=1), kernel(12, 5, stream=2)], simulated(30, 5)) == [0, 32]


def test_a_stream_never_runs_two_kernels_at_once_unless_it_really_did() -> None:
    assert starts([kernel(0, 10), kernel(10, 10)], simulated(25, 1)) == [0, 25]
    assert starts([kernel(0, 10), kernel(5, 10)], simulated(20, 1)) == [0, 10]


def test_kernels_without_starts_follow_each_other() -> None:
    assert starts([kernel(None, 10), kernel(None, 10)], simulated(4, 4)) == [0, 4]


def test_a_step_moves_with_the_steps_before_it() -> None:
    kernels = [kernel(0, 10), kernel(30, 10, step=1)]
    assert starts(kernels, simulated(5, 5)) == [0, 25]
    assert starts(kernels, simulated(5, 5), "closed") == [0, 5]


def test_a_step_takes_from_its_first_start_to_its_last_end() -> None:
    timeline, _ = step_timeline([kernel(0, 10), kernel(15, 10)], simulated(20, 10))
    (step,) = timeline["steps"]
    assert (step["real_ns"], step["predicted_ns"], step["real_gaps_ns"], step["phase"]) == (25, 35, 5, "decode")


def test_a_kernel_without_prediction_keeps_its_measured_time_and_says_so() -> None:
    timeline, comparison = step_timeline([kernel(0, 10), kernel(10, 30)], [*simulated(5), None])
    assert [row["source"] for row in timeline["steps"][0]["kernels"]] == ["simulated", "measured"]
    assert (comparison["coverage"], comparison["measured_share"]) == (0.25, 0.75)


def test_a_propagated_time_carries_its_interval() -> None:
    timeline, comparison = step_timeline([kernel(0, 10)], [Prediction(5, "propagated", 4, 7)])
    assert timeline["steps"][0]["kernels"][0]["interval_ns"] == [4, 7]
    assert (comparison["coverage"], comparison["propagated_share"]) == (0, 1)


def test_the_error_over_steps_is_signed_and_mape_is_not() -> None:
    kernels = [kernel(0, 10), kernel(10, 10, step=1)]
    _, comparison = step_timeline(kernels, simulated(12, 8))
    assert (comparison["error"], comparison["mape"]) == (0, pytest.approx(0.2))


def test_a_run_without_kernels_has_no_steps() -> None:
    timeline, comparison = step_timeline([], [])
    assert (timeline["steps"], comparison["error"], comparison["coverage"]) == ([], None, None)


def test_busy_time_counts_overlap_once() -> None:
    assert busy_time_ns([(0, 10), (5, 12), (20, 25), (6, 7)]) == 17


spans = st.lists(st.tuples(st.integers(0, 100), st.integers(1, 50), st.integers(0, 2)), min_size=1, max_size=12)


@given(spans)
def test_predicting_the_real_times_changes_nothing(drawn: list[tuple[int, int, int]]) -> None:
    kernels = [kernel(start, ns, stream) for start, ns, stream in sorted(drawn)]
    _, comparison = step_timeline(kernels, simulated(*(one.real_ns for one in kernels)))
    assert comparison["error"] == pytest.approx(0)


@given(spans, st.integers(2, 5))
def test_a_faster_gpu_never_makes_a_step_longer(drawn: list[tuple[int, int, int]], factor: int) -> None:
    kernels = [kernel(start, ns, stream) for start, ns, stream in sorted(drawn)]
    timeline, _ = step_timeline(kernels, simulated(*(one.real_ns / factor for one in kernels)))
    assert timeline["steps"][0]["predicted_ns"] <= timeline["steps"][0]["real_ns"] + 1e-6
