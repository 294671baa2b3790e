"""A step on another GPU: the real run's kernels in their order and on their streams, with predicted times.

What a trace does not tell is what a kernel waited for. It is taken from the real run: a kernel follows the one before
it on its stream, and the one of any stream whose end came last before its start. The real gap behind that one is kept
(the CPU launches no faster for another GPU) or closed (the GPU's work alone); which of both is stated in the result.
"""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

Gaps = Literal["kept", "closed"]
Source = Literal["simulated", "propagated", "measured"]


@dataclass(frozen=True, slots=True)
class MeasuredKernel:
    """One kernel of the real run, in launch order."""

    name: str
    real_ns: float
    real_start_ns: float | None = None
    stream: int | str = 0
    step: int = 0
    phase: str | None = None
    trace_kernel: int | None = None


@dataclass(frozen=True, slots=True)
class Prediction:
    """A kernel's predicted time; ``low_ns`` to ``high_ns`` is the interval of a propagated one."""

    ns: float
    source: Source
    low_ns: float | None = None
    high_ns: float | None = None


@dataclass(frozen=True, slots=True)
class _Placed:
    kernel: MeasuredKernel
    prediction: Prediction
    real_start_ns: float
    predicted_start_ns: float

    @property
    def real_end_ns(self) -> float:
        return self.real_start_ns + self.kernel.real_ns

    @property
    def predicted_end_ns(self) -> float:
        return self.predicted_start_ns + self.prediction.ns


def step_timeline(
    kernels: Sequence[MeasuredKernel], predictions: Sequence[Prediction | None], gaps: Gaps = "kept"
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The timeline and its comparison, as ``POST /api/sims/{sim_id}/step-timeline`` takes them.

    :param predictions: one for each kernel; None lets the measured time stand in, marked as such
    :param gaps: with ``closed`` both sides of the comparison are without the time in which no kernel ran
    """
    known = [
        found or Prediction(kernel.real_ns, "measured") for kernel, found in zip(kernels, predictions, strict=True)
    ]
    pairs: dict[int, list[tuple[MeasuredKernel, Prediction]]] = {}
    for kernel, prediction in zip(kernels, known, strict=True):
        pairs.setdefault(kernel.step, []).append((kernel, prediction))
    steps, shift_ns, last_real_end_ns = [], 0.0, None
    for index, members in pairs.items():
        placed = _lay_out(members, gaps)
        real_start_ns = min(one.real_start_ns for one in placed)
        if gaps == "closed" and last_real_end_ns is not None:
            shift_ns -= max(real_start_ns - last_real_end_ns, 0.0)
        steps.append(_step_row(index, placed, shift_ns, gaps))
        last_real_end_ns = max(one.real_end_ns for one in placed)
        # The next step begins as long after this one as it really did.
        shift_ns += max(one.predicted_end_ns for one in placed) - last_real_end_ns
    timeline = {"gaps": gaps, "steps": steps}
    return timeline, compare_steps(timeline)


def _lay_out(members: Sequence[tuple[MeasuredKernel, Prediction]], gaps: Gaps) -> list[_Placed]:
    """Predicted starts within one step, on the real run's axis and from the same start."""
    real_starts = _real_starts([kernel for kernel, _ in members])
    order = sorted(range(len(members)), key=lambda place: real_starts[place])
    origin_ns = real_starts[order[0]]
    last_on_stream: dict[int | str, _Placed] = {}
    running: list[tuple[float, int, _Placed]] = []
    awaited: _Placed | None = None
    placed: list[_Placed | None] = [None] * len(members)
    for place in order:
        kernel, prediction = members[place]
        real_start_ns = real_starts[place]
        while running and running[0][0] <= real_start_ns:
            awaited = heapq.heappop(running)[2]
        if awaited is not None:
            gap_ns = real_start_ns - awaited.real_end_ns if gaps == "kept" else 0.0
            start_ns = awaited.predicted_end_ns + gap_ns
        else:
            start_ns = real_start_ns if gaps == "kept" else origin_ns
        before = last_on_stream.get(kernel.stream)
        if before is not None:
            start_ns = max(start_ns, _after_on_stream(before, real_start_ns))
        one = _Placed(kernel, prediction, real_start_ns, start_ns)
        placed[place] = last_on_stream[kernel.stream] = one
        heapq.heappush(running, (one.real_end_ns, place, one))
    return [one for one in placed if one is not None]


def _real_starts(kernels: Sequence[MeasuredKernel]) -> list[float]:
    """Real starts; kernels without one follow each other in launch order."""
    starts, end_ns = [], 0.0
    for kernel in kernels:
        start_ns = end_ns if kernel.real_start_ns is None else kernel.real_start_ns
        starts.append(start_ns)
        end_ns = max(end_ns, start_ns + kernel.real_ns)
    return starts


def _after_on_stream(before: _Placed, real_start_ns: float) -> float:
    """The earliest start behind a kernel of the same stream.

    Kernels of one stream overlap only by programmatic dependent launch: the later one then starts at the same share of
    the earlier one's time.
    """
    share = 1.0
    if before.kernel.real_ns > 0:
        share = min((real_start_ns - before.real_start_ns) / before.kernel.real_ns, 1.0)
    return before.predicted_start_ns + share * before.prediction.ns


def _step_row(index: int, placed: Sequence[_Placed], shift_ns: float, gaps: Gaps) -> dict[str, Any]:
    real_start_ns = min(one.real_start_ns for one in placed)
    real_ns = max(one.real_end_ns for one in placed) - real_start_ns
    busy_ns = busy_time_ns([(one.real_start_ns, one.real_end_ns) for one in placed])
    predicted_start_ns = min(one.predicted_start_ns for one in placed)
    return {
        "index": index,
        "phase": next((one.kernel.phase for one in placed if one.kernel.phase), None),
        "real_ns": real_ns if gaps == "kept" else busy_ns,
        "predicted_ns": max(one.predicted_end_ns for one in placed) - predicted_start_ns,
        "real_gaps_ns": real_ns - busy_ns,
        "kernels": [_kernel_row(one, shift_ns) for one in placed],
    }


def _kernel_row(one: _Placed, shift_ns: float) -> dict[str, Any]:
    row: dict[str, Any] = {
        "name": one.kernel.name,
        "trace_kernel": one.kernel.trace_kernel,
        "stream": one.kernel.stream,
        "real_start_ns": one.real_start_ns,
        "real_ns": one.kernel.real_ns,
        "predicted_start_ns": one.predicted_start_ns + shift_ns,
        "predicted_ns": one.prediction.ns,
        "source": one.prediction.source,
    }
    if one.prediction.low_ns is not None and one.prediction.high_ns is not None:
        row["interval_ns"] = [one.prediction.low_ns, one.prediction.high_ns]
    return row


def busy_time_ns(spans: Sequence[tuple[float, float]]) -> float:
    """The time in which at least one of the spans ``(start, end)`` runs."""
    busy_ns, reached_ns = 0.0, float("-inf")
    for start_ns, end_ns in sorted(spans):
        if end_ns > reached_ns:
            busy_ns += end_ns - max(start_ns, reached_ns)
            reached_ns = end_ns
    return busy_ns


def compare_steps(timeline: dict[str, Any]) -> dict[str, Any]:
    """Errors per step and over all, and how much of the real time each source stands for.

    ``coverage`` is the share of the real kernel time whose kernels were simulated themselves.
    """
    steps = [
        {key: step[key] for key in ("index", "phase", "real_ns", "predicted_ns")}
        | {"error": (step["predicted_ns"] - step["real_ns"]) / step["real_ns"] if step["real_ns"] > 0 else None}
        for step in timeline["steps"]
    ]
    shares = dict.fromkeys(("simulated", "propagated", "measured"), 0.0)
    for step in timeline["steps"]:
        for kernel in step["kernels"]:
            shares[kernel["source"]] += kernel["real_ns"]
    kernels_ns = sum(shares.values())
    errors = [abs(step["error"]) for step in steps if step["error"] is not None]
    real_ns, predicted_ns = (sum(step[key] for step in steps) for key in ("real_ns", "predicted_ns"))
    return {
        "steps": steps,
        "error": (predicted_ns - real_ns) / real_ns if real_ns > 0 else None,
        "mape": sum(errors) / len(errors) if errors else None,
        "coverage": shares["simulated"] / kernels_ns if kernels_ns > 0 else None,
        "propagated_share": shares["propagated"] / kernels_ns if kernels_ns > 0 else None,
        "measured_share": shares["measured"] / kernels_ns if kernels_ns > 0 else None,
        "gaps": timeline.get("gaps"),
    }
