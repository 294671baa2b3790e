"""The switches of a simulation."""

import pytest

from sims.engine.front import OptionError, Options


def test_exact_turns_every_shortcut_off() -> None:
    assert Options().shortcuts
    assert Options.from_dict({"exact": True}).shortcuts == []


def test_switches_are_taken_by_name() -> None:
    assert Options.from_dict({"l2": "cold", "threads": 2, "same_launches": False}) == Options(
        "cold", 2, same_launches=False
    )


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"l2": "hot"}, "must be one of chain, cold, warm"),
        ({"threads": 0}, "from 1 to"),
        ({"threads": "two"}, "from 1 to"),
        ({"exact": "yes"}, "must be true or false"),
        ({"fast": True}, "no switch 'fast'"),
    ],
)
def test_it_refuses_what_does_not_exist(values: dict[str, object], says: str) -> None:
    with pytest.raises(OptionError, match=says):
        Options.from_dict(values)
