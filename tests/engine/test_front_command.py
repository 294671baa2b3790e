"""``manage.py simulate``, and the process that the runner starts."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from sims.gpus import load_shipped, spec_to_dict, to_accelsim_options
from sims.statlog import StatLog
from tests.conftest import FIXTURES
from tests.engine.kernel_texts import EXIT, cta, header

PROJECT = Path(__file__).resolve().parents[2]
SPEC = load_shipped()["SM86_RTX3070"]
LOAD = "0010 ffffffff 1 R4 LDG.E 1 R2 4 1 0x20000000 4 0 "
KERNEL_KEYS = {
    "index", "launch_uid", "name", "cycles", "launch_cycles", "instructions", "ipc", "simulated_ns", "occupancy",
    "l1_hit_rate", "l2_hit_rate", "dram_bytes", "source", "warp_instructions", "stats",
}  # fmt: skip


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    folder = tmp_path / "trace"
    folder.mkdir()
    for i in (1, 2, 3):
        (folder / f"kernel-{i}.traceg").write_text(header() + cta([LOAD, EXIT]))
    (folder / "kernelslist.g").write_text("kernel-1.traceg\nkernel-2.traceg\nkernel-3.traceg\n")
    return folder


def simulate(*arguments: object) -> str:
    out = StringIO()
    call_command("simulate", *map(str, arguments), stdout=out)
    return out.getvalue()


def simulated(*arguments: object) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(simulate(*arguments, "--json"))
    return result


def test_it_prints_what_the_service_would_show(trace: Path) -> None:
    result = simulated(trace, "--config", "SM86_RTX3070")
    assert set(result) == {"config", "kernels", "totals", "seconds"}
    assert {frozenset(kernel) for kernel in result["kernels"]} == {frozenset(KERNEL_KEYS)}
    assert (result["config"], result["totals"]["kernels"]) == ("SM86_RTX3070", 3)


def test_it_runs_a_compressed_trace_of_hopper_to_its_end(tmp_path: Path) -> None:
    shutil.copy(FIXTURES / "traces" / "hopper_synthetic_v6.tracez", tmp_path / "kernel-3-ctx_0x1.tracez")
    (tmp_path / "kernelslist.g").write_text("kernel-3-ctx_0x1.tracez\n")
    first, second = (simulated(tmp_path, "--config", "SM90_H100")["kernels"] for _ in range(2))
    assert first[0]["warp_instructions"] > 10_000
    assert first == second


def test_it_prints_a_table_for_people(trace: Path) -> None:
    text = simulate(trace, "--config", "SM86_RTX3070")
    assert "limited by" in text
    assert "3 kernels" in text
    assert [line.split()[1] for line in text.splitlines()[1:4]] == ["test", "test", "test"]  # traced as _Z4testv


def test_a_folder_with_a_gpgpusim_config_is_a_config(trace: Path, tmp_path: Path) -> None:
    for name, text in to_accelsim_options(SPEC).items():
        (tmp_path / name).write_text(text)
    own, shipped = (simulated(trace, "--config", config)["kernels"] for config in (tmp_path, "SM86_RTX3070"))
    assert [kernel["cycles"] for kernel in own] == [kernel["cycles"] for kernel in shipped]


def test_any_value_of_the_config_can_be_changed(trace: Path) -> None:
    slower = simulated(trace, "--config", "SM86_RTX3070", "--set", "l2_rop_latency_cycles=400", "--exact")
    usual = simulated(trace, "--config", "SM86_RTX3070", "--exact")
    assert slower["kernels"][0]["cycles"] == usual["kernels"][0]["cycles"] + 400 - SPEC.l2_rop_latency_cycles


def test_kernels_can_be_selected(trace: Path) -> None:
    assert [
        kernel["index"] for kernel in simulated(trace, "--config", "SM86_RTX3070", "--kernels", "2-3")["kernels"]
    ] == [2, 3]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--config", "SM99"], "no config 'SM99'"),
        (["--config", "SM86_RTX3070", "--set", "l3_bytes=1"], "l3_bytes"),
        (["--config", "SM86_RTX3070", "--kernels", "7"], "outside the trace"),
        (["--config", "SM86_RTX3070", "--threads", "0"], "threads is 0"),
    ],
)
def test_it_refuses_bad_input_in_one_line(trace: Path, arguments: list[str], says: str) -> None:
    with pytest.raises(CommandError, match=says) as caught:
        simulate(trace, *arguments)
    assert "\n" not in str(caught.value)


def test_it_refuses_a_path_without_a_trace(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"no kernelslist\.g"):
        simulate(tmp_path, "--config", "SM86_RTX3070")


def test_finished_kernels_are_printed_before_the_failure(trace: Path) -> None:
    (trace / "kernel-2.traceg").write_text(header())
    out = StringIO()
    with pytest.raises(CommandError, match="kernel 2"):
        call_command("simulate", str(trace), "--config", "SM86_RTX3070", "--json", stdout=out)
    assert [kernel["index"] for kernel in json.loads(out.getvalue())["kernels"]] == [1]


@pytest.fixture
def start(trace: Path, tmp_path: Path) -> Callable[..., subprocess.Popen[bytes]]:
    def start(**changes: object) -> subprocess.Popen[bytes]:
        job = {
            "trace_list": str(trace / "kernelslist.g"),
            "spec": spec_to_dict(SPEC),
            "kernel_indices": [],
            "options": {},
            "progress_file": "progress.jsonl",
        }
        (tmp_path / "job.json").write_text(json.dumps(job | changes))
        return subprocess.Popen(
            [sys.executable, "-m", "sims.simulators.builtin", "job.json"],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(PROJECT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    return start


def test_the_process_writes_a_log_that_the_parser_reads(start: Callable[..., subprocess.Popen[bytes]]) -> None:
    out, err = start().communicate(timeout=900)
    log = StatLog()
    blocks = log.feed(out)
    assert (len(blocks), log.facts.exit_detected, err) == (3, True, b"")


def test_the_process_tells_its_progress(start: Callable[..., subprocess.Popen[bytes]], tmp_path: Path) -> None:
    start().communicate(timeout=900)
    lines = (tmp_path / "progress.jsonl").read_text().splitlines()
    assert json.loads(lines[-1])["share"] == 1.0


def test_a_failed_kernel_ends_the_process_with_one_sentence(
    start: Callable[..., subprocess.Popen[bytes]], trace: Path
) -> None:
    (trace / "kernel-2.traceg").write_text(header())
    process = start()
    out, err = process.communicate(timeout=900)
    assert (process.returncode, err.count(b"\n"), len(StatLog().feed(out))) == (1, 1, 1)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"spec": {"id": "x"}}, b"job.json"),
        ({"options": {"fast": True}}, b"no switch 'fast'"),
        ({"trace_list": "/nowhere/kernelslist.g"}, b"no such file"),
        ({"kernel_indices": [99]}, b"no kernel to simulate"),
    ],
)
def test_a_bad_job_ends_in_one_sentence(
    start: Callable[..., subprocess.Popen[bytes]], changes: dict[str, object], says: bytes
) -> None:
    process = start(**changes)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 1
    assert says in err


def test_the_process_ends_within_a_second_when_told_to(start: Callable[..., subprocess.Popen[bytes]]) -> None:
    process = start()
    assert process.stdout is not None
    process.stdout.readline()  # it is at work
    told = time.monotonic()
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=10) in (0, 143)
    assert time.monotonic() - told < 5, "a second, and what a busy machine adds"
