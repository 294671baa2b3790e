"""``corrected_timeline.json`` with ``trace_alignment.json``."""

import io
import json
from typing import Any

import pytest

from traces.times import TimesError, TimesReport, read_times

KERNEL = {"name": "gemm", "start_ns": 100, "duration_ns": 50, "stream": 7, "grid": [4, 1, 1], "block": [64, 1, 1]}


def document(*steps: Any) -> dict[str, Any]:
    return {"steps": list(steps)}


def step(index: int, *kernels: Any) -> dict[str, Any]:
    return {"index": index, "phase": "decode", "kernels": list(kernels)}


def report(content: Any, alignment: Any = None) -> TimesReport:
    beside = None if alignment is None else io.BytesIO(json.dumps(alignment).encode())
    return read_times(io.BytesIO(json.dumps(content).encode()), "corrected_timeline.json", beside)


def refusal(content: Any, alignment: Any = None) -> str:
    with pytest.raises(TimesError) as caught:
        report(content, alignment)
    return str(caught.value)


def aligned(*entries: tuple[int | str, int, int]) -> dict[str, Any]:
    return {"kernels": [{"trace_kernel": k, "step": s, "position": p} for k, s, p in entries]}


def test_every_kernel_of_every_step_is_a_launch_with_its_step() -> None:
    found = report(document(step(3, KERNEL), step(4, KERNEL, KERNEL)))
    assert [(x.step, x.phase) for x in found.launches] == [(3, "decode"), (4, "decode"), (4, "decode")]
    assert (found.launches[0].grid, found.launches[0].start_ns, found.launches[0].duration_ns) == ((4, 1, 1), 100, 50)


def test_an_alignment_says_which_trace_kernel_a_launch_is() -> None:
    found = report(document(step(0, KERNEL, KERNEL)), aligned((5, 0, 1), (4, 0, 0)))
    assert [x.trace_kernel for x in found.launches] == [4, 5]


def test_an_alignment_that_counts_from_one_is_recognised() -> None:
    found = report(document(step(0, KERNEL, KERNEL)), aligned((4, 0, 1), (5, 0, 2)))
    assert [x.trace_kernel for x in found.launches] == [4, 5]


def test_an_alignment_past_the_end_of_a_step_is_refused() -> None:
    assert "step 0 of the timeline has no kernel at position 5" in refusal(
        document(step(0, KERNEL)), aligned((4, 0, 5))
    )


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"duration_ns": 0}, "is not above zero"),
        ({"duration_ns": -4}, "is not above zero"),
        ({"duration_ns": "12"}, "duration_ns is '12', not a number"),
        ({"start_ns": None}, "start_ns is 'None', not a number"),
        ({"grid": [4, 0, 1]}, "grid is '[4, 0, 1]', not three sizes"),
        ({"name": ""}, "has no name"),
    ],
)
def test_a_wrong_value_is_named_with_step_and_kernel(change: dict[str, Any], complaint: str) -> None:
    sentence = refusal(document(step(0, KERNEL), step(1, KERNEL, KERNEL | change)))
    assert sentence.startswith("corrected_timeline.json, step 1, kernel 1: ")
    assert complaint in sentence


@pytest.mark.parametrize("content", [{}, {"steps": 5}, {"steps": []}, {"steps": [5]}, {"steps": [{"kernels": 1}]}, 5])
def test_another_shape_is_refused(content: Any) -> None:
    assert refusal(content).startswith(("corrected_timeline.json", "the file"))


def test_an_alignment_given_as_the_times_is_recognised() -> None:
    assert "trace_alignment.json" in refusal(aligned((1, 0, 0)))


@pytest.mark.parametrize("text", [b'{"steps": [', b'{"steps": NaN}', b"[" * 100_000, b'{"a": ' + b"9" * 5000 + b"}"])
def test_text_that_is_no_json_is_refused(text: bytes) -> None:
    with pytest.raises(TimesError, match="is not JSON"):
        read_times(io.BytesIO(text), "corrected_timeline.json")
