"""A web server that is away, slow, confused, or has been told something else meanwhile."""

import threading
from collections.abc import Callable

import pytest

from tests.runner.app import App, AppServer, Request
from tests.runner.conftest import RunnerStarter

Eventually = Callable[..., None]
COUNT = "for i in $(seq 300); do echo line $i; sleep 0.01; done"
COUNTED = b"".join(b"line %d\n" % number for number in range(1, 301))


def test_a_server_away_for_a_while_costs_not_a_byte(
    app: App, server: AppServer, runner: RunnerStarter, eventually: Eventually
) -> None:
    process = runner.start(COUNT)
    eventually(lambda: app.log)
    server.down()
    threading.Event().wait(2)
    server.up()
    process.communicate(timeout=60)
    assert bytes(app.log) == COUNTED
    assert app.end is not None


def test_the_end_is_reported_when_the_server_comes_back(
    app: App, server: AppServer, runner: RunnerStarter, eventually: Eventually
) -> None:
    process = runner.start("echo one; sleep 1; echo two")
    eventually(lambda: app.log)
    server.down()
    threading.Event().wait(3)
    server.up()
    process.communicate(timeout=60)
    assert app.log == b"one\ntwo\n"
    assert app.end is not None


def test_answers_that_are_lost_double_nothing(app: App, runner: RunnerStarter) -> None:
    lost = []

    def lose_every_second(request: Request) -> str | None:
        lost.append(request)
        return "lose" if request.route == "logs" and len(lost) % 2 else None

    app.fault = lose_every_second
    runner.run(COUNT)
    assert bytes(app.log) == COUNTED


@pytest.mark.parametrize("status", [500, 502, 503, 408, 423, 429])
def test_it_tries_again_after_a_passing_fault(app: App, runner: RunnerStarter, status: int) -> None:
    faults = iter([status] * 3)
    app.fault = lambda request: next(faults, None) if request.route == "logs" else None
    runner.run("echo hello")
    assert app.log == b"hello\n"


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422])
def test_a_refused_chunk_is_never_sent_again(app: App, runner: RunnerStarter, status: int) -> None:
    app.fault = lambda request: status if request.route == "logs" else None
    runner.run("echo hello; sleep 30", timeout_s=20)
    assert sum(request.route == "logs" for request in app.requests) == 1
    assert app.end is not None
    assert app.end["state"] == "failed"
    assert f"answered {status}" in app.end["detail"]


def test_it_goes_on_from_where_the_app_is(app: App, runner: RunnerStarter, eventually: Eventually) -> None:
    process = runner.start(COUNT)
    eventually(lambda: len(app.log) > 500)
    with app.lock:
        del app.log[100:]
    process.communicate(timeout=60)
    assert bytes(app.log) == COUNTED


def test_a_superseded_runner_stops_and_ends_nothing(app: App, runner: RunnerStarter, eventually: Eventually) -> None:
    process = runner.start("sleep 60")
    eventually(lambda: app.states() == ["starting", "running"])
    app.attempt = 2
    process.communicate(timeout=15)
    assert app.end is None
    assert process.returncode == 0


def test_its_patience_ends(app: App, runner: RunnerStarter, eventually: Eventually) -> None:
    runner.limits["patience_s"] = 2
    process = runner.start("sleep 60")
    eventually(lambda: app.beats())
    app.fault = lambda request: 503
    process.communicate(timeout=20)
    assert process.returncode == 1


def test_without_a_lease_it_ends_before_another_may_start(
    app: App, server: AppServer, runner: RunnerStarter, eventually: Eventually
) -> None:
    runner.limits |= {"lease_s": 6, "grace_s": 1}
    process = runner.start("sleep 60")
    eventually(lambda: app.beats())
    server.down()
    process.communicate(timeout=6)
    server.up()
    assert process.returncode == 1


def test_an_outage_costs_few_requests(app: App, runner: RunnerStarter, eventually: Eventually) -> None:
    runner.limits |= {"heartbeat_s": 0.1}
    process = runner.start("while true; do echo x; sleep 0.01; done")
    eventually(lambda: app.log)
    app.fault = lambda request: 503
    before = len(app.requests)
    threading.Event().wait(8)
    assert len(app.requests) - before < 15
    process.kill()
