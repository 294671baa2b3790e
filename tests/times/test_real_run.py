"""The real run of which a step timeline is made: which launches of a file it has, and from when on."""

from dataclasses import replace

import pytest

from cascade_site.packing import packed, unpacked
from traces.real_run import TooManyLaunchesError, from_rows, real_run, to_rows
from traces.times import Launch


def profile(*starts_ns: float | None) -> list[Launch]:
    """Launches as a profiler tells them: without steps."""
    return [Launch(f"kernel_{place}", 10, start_ns=start_ns) for place, start_ns in enumerate(starts_ns)]


def names(launches: list[Launch]) -> list[str]:
    return [launch.name for launch in launches]


def test_each_launch_has_the_index_of_its_kernel() -> None:
    assert [launch.trace_kernel for launch in real_run(profile(0, 20, 40), [1, None, 2])] == [1, None, 2]


def test_of_a_profile_it_begins_and_ends_with_launches_that_the_trace_has() -> None:
    found = real_run(profile(0, 20, 40, 60, 80), [None, 1, None, 2, None])
    assert names(found) == ["kernel_1", "kernel_2", "kernel_3"]


def test_a_profiles_clock_begins_with_it() -> None:
    assert [launch.start_ns for launch in real_run(profile(700, 720, 745), [None, 1, 2])] == [0, 25]


def test_a_profiles_launches_are_in_the_order_of_their_starts() -> None:
    assert names(real_run(profile(40, 0, 20), [3, 1, 2])) == ["kernel_1", "kernel_2", "kernel_0"]


def test_steps_that_a_file_names_are_taken_as_they_are() -> None:
    steps = [replace(launch, step=7) for launch in profile(100, 120, 140)]
    found = real_run(steps, [None, 1, None])
    assert [launch.start_ns for launch in found] == [100, 120, 140]


def test_it_is_unknown_where_no_start_is_known() -> None:
    assert real_run(profile(None, None), [1, 2]) == []


def test_one_unknown_start_leaves_the_rest_without_order() -> None:
    assert real_run(profile(0, None, 40), [1, 2, 3]) == []


def test_one_that_no_timeline_can_hold_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("traces.real_run.MOST_LAUNCHES", 2)
    with pytest.raises(TooManyLaunchesError, match="has 3 launches, a predicted step timeline at most 2"):
        real_run(profile(0, 20, 40), [1, 2, 3])


def test_what_is_not_of_the_traced_step_does_not_make_it_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("traces.real_run.MOST_LAUNCHES", 2)
    assert len(real_run(profile(0, 20, 40), [1, 2, None])) == 2


def test_it_comes_back_as_it_was_kept() -> None:
    launches = [Launch("gemm", 5.5, (8, 1, 1), (128, 1, 1), 0, "7", step=1, phase="decode", trace_kernel=1)]
    assert from_rows(unpacked(packed(to_rows(launches)))) == launches
