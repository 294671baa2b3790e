"""What the reaper asks of the broker, of both kinds."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.servers.backing import MissingError, redis_server
from tests.servers.cascade import Cascade

COUNT = "from sims.lost import messages_waiting; print(messages_waiting())"
SEND = "from sims.tasks import simulate; [simulate.delay('sim-000000000000') for _ in range(3)]; "


@pytest.fixture(params=["folder", "redis"])
def cascade(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Cascade]:
    """An installation without any process, on each kind of broker."""
    if request.param == "folder":
        yield Cascade(tmp_path)
        return
    try:
        with redis_server(tmp_path) as url:
            yield Cascade(tmp_path, {"REDIS_URL": url})
    except MissingError as missing:
        pytest.skip(str(missing))


def shell(cascade: Cascade, code: str) -> str:
    return cascade.manage("shell", "--no-imports", "-c", code).strip()


def test_an_empty_queue_has_no_messages(cascade: Cascade) -> None:
    assert shell(cascade, COUNT) == "0"


def test_messages_that_wait_are_counted(cascade: Cascade) -> None:
    assert shell(cascade, SEND + COUNT) == "3"


def test_a_broker_that_is_away_leaves_the_sim_to_the_reaper(tmp_path: Path) -> None:
    cascade = Cascade(tmp_path, {"REDIS_URL": "redis://127.0.0.1:1/0"})
    code = "from sims.tasks import dispatch; dispatch('sim-000000000000'); print('went on')"
    assert shell(cascade, code) == "went on"
