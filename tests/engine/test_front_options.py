"""The switches of a simulation."""

import pytest

from runs.options import problem_with
from sims.engine import team, threads
from sims.engine.front import OptionError, Options


def test_exact_turns_every_shortcut_off() -> None:
    assert Options().shortcuts
    assert Options.from_dict({"exact": True}).shortcuts == []


def test_switches_are_taken_by_name() -> None:
    assert Options.from_dict({"l2": "cold", "threads": 2, "same_launches": False}) == Options(
        "cold", 2, same_launches=False
    )


def test_a_run_is_held_to_as_many_threads_as_the_engine_has_places_for() -> None:
    assert problem_with({"threads": team.MAX_THREADS}) is None
    assert problem_with({"threads": team.MAX_THREADS + 1}) == ("threads", "must be a whole number from 1 to 64")
    assert Options(threads=team.MAX_THREADS).threads == threads.MAX_THREADS


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"l2": "hot"}, "must be one of chain, cold, warm"),
        ({"threads": 0}, "from 1 to 64"),
        ({"threads": 65}, "from 1 to 64"),
        ({"threads": "two"}, "from 1 to"),
        ({"exact": "yes"}, "must be true or false"),
        ({"fast": True}, "no switch 'fast'"),
    ],
)
def test_it_refuses_what_does_not_exist(values: dict[str, object], says: str) -> None:
    with pytest.raises(OptionError, match=says):
        Options.from_dict(values)
