"""What the app hears of a simulation, from its start to its end."""

import itertools
import re
from pathlib import Path

import pytest

from tests.runner.app import TOKEN, App
from tests.runner.conftest import RunnerStarter
from traces.sample import SAMPLE_LOG

NORMAL_END = "echo 'GPGPU-Sim: *** exit detected ***'"


def test_it_reports_starting_then_running_then_the_end(app: App, runner: RunnerStarter) -> None:
    assert runner.run("sleep 1; exit 3") == 0, runner.stderr
    assert app.states() == ["starting", "running", "failed"]


def test_each_report_names_the_worker_and_the_attempt(app: App, runner: RunnerStarter) -> None:
    runner.run("true", kernels_total=7)
    assert {(beat.body["worker"], beat.body["attempt"], beat.body["kernels_total"]) for beat in app.beats()} == {
        ("test/1", 1, 7)
    }


def test_heartbeats_go_on_while_the_simulator_is_silent(app: App, runner: RunnerStarter) -> None:
    runner.run("sleep 3")
    times = [beat.at for beat in app.beats()]
    assert max(after - before for before, after in itertools.pairwise(times)) < 1.5


def test_the_app_has_the_log_byte_for_byte(app: App, runner: RunnerStarter) -> None:
    runner.run("for i in $(seq 20000); do echo line $i; done")
    assert bytes(app.log) == b"".join(b"line %d\n" % number for number in range(1, 20001))


def test_heartbeats_say_how_much_the_simulator_has_written(app: App, runner: RunnerStarter) -> None:
    runner.run("printf 0123456789; sleep 1; printf more; sleep 1")
    written = [beat.body["log_written_bytes"] for beat in app.beats()]
    assert written == sorted(written)
    assert set(written) == {0, 10, 14}


def test_a_log_without_a_last_newline_is_kept_to_its_last_byte(app: App, runner: RunnerStarter) -> None:
    runner.run("printf 'no newline here'")
    assert app.log == b"no newline here"


def test_invalid_utf8_is_replaced_and_nuls_are_kept(app: App, runner: RunnerStarter) -> None:
    runner.run(r"printf 'a\xff\xfeb\0c\xe2\x82'")
    assert app.log.decode() == "a��b\0c�"


def test_a_real_run_that_is_known_gives_a_step_timeline(app: App, runner: RunnerStarter) -> None:
    real = [{"name": "k", "duration_ns": 5000, "start_ns": start_ns, "trace_kernel": 1} for start_ns in (0, 9000)]
    runner.run(f"xzcat {SAMPLE_LOG}", real_launches=real)
    (posted,) = (request.body for request in app.requests if request.route == "step-timeline")
    assert [kernel["source"] for kernel in posted["timeline"]["steps"][0]["kernels"]] == ["simulated"] * 2
    assert posted["origin"] == "predicted"


def test_without_a_real_run_there_is_no_step_timeline(app: App, runner: RunnerStarter) -> None:
    runner.run(f"xzcat {SAMPLE_LOG}")
    assert "step-timeline" not in {request.route for request in app.requests}


def test_no_chunk_is_cut_inside_a_character(app: App, runner: RunnerStarter) -> None:
    runner.limits["log_chunk_bytes"] = 1000
    runner.run("for i in $(seq 500); do printf '€ß漢🙂x'; done")
    assert app.log.decode() == "€ß漢🙂x" * 500


def test_a_long_log_is_cut_with_a_mark_that_states_both_sizes(app: App, runner: RunnerStarter) -> None:
    runner.limits["max_log_bytes"] = 10_000
    runner.run("head -c 50000 /dev/zero | tr '\\0' x")
    assert re.search(rb"^x{10000}\n\[Cascade: .*10000 of 50000 bytes", app.log)


def test_a_flood_on_stderr_before_any_output_stops_nothing(app: App, runner: RunnerStarter) -> None:
    runner.run("head -c 50000000 /dev/zero | tr '\\0' e >&2; echo done")
    assert app.log == b"done\n"
    assert len(app.files["stderr.txt"]) < 10_000_000


def test_a_line_of_fifty_megabytes_stops_nothing(app: App, runner: RunnerStarter) -> None:
    runner.run("head -c 50000000 /dev/zero | tr '\\0' o")
    assert len(app.log) == 50_000_000


def test_what_came_on_stderr_is_uploaded(app: App, runner: RunnerStarter) -> None:
    runner.run("echo a warning >&2")
    assert app.files["stderr.txt"] == b"a warning\n"


def test_a_quiet_stderr_makes_no_file(app: App, runner: RunnerStarter) -> None:
    runner.run("true")
    assert "stderr.txt" not in app.files


def test_output_files_are_uploaded_whole(app: App, runner: RunnerStarter) -> None:
    runner.run("head -c 3000000 /dev/urandom > gpgpu_inst_stats.txt; cp gpgpu_inst_stats.txt ../../copy")
    assert app.files["gpgpu_inst_stats.txt"] == (runner.folder / "copy").read_bytes()


def test_a_link_out_of_the_work_folder_is_not_uploaded(app: App, runner: RunnerStarter) -> None:
    runner.run("ln -s /etc/passwd gpgpu_inst_stats.txt")
    assert "gpgpu_inst_stats.txt" not in app.files


def test_a_file_over_the_limit_is_left_out_and_said(app: App, runner: RunnerStarter) -> None:
    runner.limits["max_file_bytes"] = 100_000
    runner.run(f"head -c 200000 /dev/zero > gpgpu_inst_stats.txt; {NORMAL_END}")
    assert app.end is not None
    assert "gpgpu_inst_stats.txt was not kept: it has 200000 bytes" in app.end["detail"]


def test_the_simulator_sees_no_secret(app: App, runner: RunnerStarter, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DATABASE_URL", "REDIS_URL", "AWS_SECRET_ACCESS_KEY", "CASCADE_SECRET_KEY"):
        monkeypatch.setenv(name, f"secret-{name}")
    runner.run("env; tr '\\0' '\\n' < /proc/self/environ")
    assert b"PATH=" in app.log
    assert b"secret-" not in app.log
    assert TOKEN.encode() not in app.log


def test_a_trace_that_is_gone_fails_with_a_sentence(app: App, runner: RunnerStarter, tmp_path: Path) -> None:
    process = runner.start("true")
    process.kill()
    (tmp_path / "trace" / "kernelslist.g").unlink()
    app.end = None
    process = runner.restart()
    process.communicate(timeout=30)
    assert app.end is not None
    assert app.end["state"] == "failed"
    assert "has no kernelslist.g" in app.end["detail"]


def test_a_full_disk_fails_the_sim_and_says_so(app: App, runner: RunnerStarter, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "log").symlink_to("/dev/full")
    runner.run("echo hello; sleep 30")
    assert app.end is not None
    assert app.end["state"] == "failed"
    assert "disk of the worker is full" in app.end["detail"]


def test_a_program_that_cannot_be_started_fails_with_its_name(app: App, runner: RunnerStarter) -> None:
    runner.run("true", binary_text="#!/no/such/interpreter\n")
    assert app.end is not None
    assert app.end["state"] == "failed"
    assert "could not be started" in app.end["detail"]
