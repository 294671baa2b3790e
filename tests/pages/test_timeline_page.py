"""The timeline tab: what is said of a step, and names, which are posted mangled, by anyone."""

from typing import Any

import pytest
from django.test import Client

from runs.models import Run
from sims.models import StepTimeline
from traces.spellings import LONGEST_NAME, MOST_NAMES, spellings


def text_of(browser: Client, run: Run, steps: int = 1, **comparison: Any) -> str:
    """The tab with a posted timeline."""
    rows = [{"index": n, "real_ns": 1000, "predicted_ns": 1100, "kernels": []} for n in range(steps)]
    posted = {"error": 0.1, "mape": 0.2, "coverage": 1.0, "propagation": {"mape": 0.3, "kernels": 6}} | comparison
    StepTimeline.objects.create(sim=run.sims.get(position=0), timeline={"steps": rows}, comparison=posted)
    return browser.get(f"/runs/{run.id}/timeline").content.decode()


@pytest.mark.parametrize(("steps", "said"), [(1, False), (2, True)])
def test_a_mean_is_told_of_several_steps(browser: Client, finished: Run, steps: int, said: bool) -> None:
    assert ("in the mean" in text_of(browser, finished, steps)) is said


@pytest.mark.parametrize(("share", "said"), [(0.0, False), (0.4, True)])
def test_how_far_off_taken_over_times_are_is_told_where_there_are_some(
    browser: Client, finished: Run, share: float, said: bool
) -> None:
    assert ("taken over from its like" in text_of(browser, finished, propagated_share=share)) is said


def test_a_mangled_name_has_a_short_and_a_whole_spelling() -> None:
    name = "_Z11copy_kernelIdEvPKT_PS0_"
    assert spellings([name]) == {name: ("copy_kernel", "void copy_kernel<double>(double const*, double*)")}


def test_what_is_no_name_is_shown_as_it_is(browser: Client, finished: Run) -> None:
    kernels = [{"name": 7, "stream": 0}, {"stream": 0}]
    steps = [{"index": 0, "phase": None, "real_ns": 1, "predicted_ns": 1, "kernels": kernels}]
    StepTimeline.objects.create(sim=finished.sims.get(position=0), timeline={"steps": steps}, comparison={})
    names = browser.get(f"/runs/{finished.id}/timeline").context["names"]
    assert names == {"7": ("7", "7"), "None": ("None", "None")}


@pytest.mark.parametrize(
    ("timeline", "comparison"),
    [
        ({"steps": 5}, {}),
        ({"steps": [1, {"kernels": 3}]}, {"error": "much", "propagation": 7}),
        ({"steps": [{"real_ns": 10**400, "predicted_ns": True}]}, {"error": -(10**400)}),
        (
            {"steps": [{"real_ns": [], "kernels": [4, {"name": {}, "real_ns": "long"}]}]},
            {"mape": {}, "coverage": "all"},
        ),
    ],
)
def test_whatever_was_posted_has_a_page(
    browser: Client, finished: Run, timeline: dict[str, Any], comparison: dict[str, Any]
) -> None:
    StepTimeline.objects.create(sim=finished.sims.get(position=0), timeline=timeline, comparison=comparison)
    assert browser.get(f"/runs/{finished.id}/timeline").status_code == 200


def test_a_page_carries_no_more_names_than_it_may() -> None:
    assert len(spellings(f"kernel_{n}" for n in range(MOST_NAMES + 1))) == MOST_NAMES
    assert spellings(["k" * (LONGEST_NAME + 1)]) == {}
