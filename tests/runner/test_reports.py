"""What the app hears of a simulation, from its start to its end."""

from tests.runner.app import App
from tests.runner.conftest import RunnerStarter


def test_it_reports_starting_then_running_then_finished(app: App, runner: RunnerStarter) -> None:
    assert runner.run("echo hello; sleep 1") == 0, runner.stderr
    assert app.states()[0] == "starting"
    assert app.states()[-1] in ("finished", "failed")


def test_the_app_has_the_log_byte_for_byte(app: App, runner: RunnerStarter) -> None:
    runner.run("for i in $(seq 20000); do echo line $i; done")
    assert bytes(app.log) == b"".join(b"line %d\n" % number for number in range(1, 20001))
