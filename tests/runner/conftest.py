"""Runners as processes of their own, against a stand-in for the app."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from sims.gpus import load_shipped, spec_to_dict
from sims.runner.assignment import Assignment, Limits, TracePlace
from sims.simulators.base import Places
from tests.runner.app import TOKEN, App, AppServer

PROJECT = Path(__file__).resolve().parents[2]
SIM_ID = "sim-0123456789ab"


@pytest.fixture
def app() -> App:
    return App()


@pytest.fixture
def server(app: App) -> Iterator[AppServer]:
    server = AppServer(app)
    yield server
    server.down()


@dataclass
class RunnerStarter:
    """Starts runners whose simulator is a shell script in the place of Accel-Sim."""

    folder: Path
    url: str
    limits: dict[str, Any] = field(default_factory=dict)
    started: list["subprocess.Popen[bytes]"] = field(default_factory=list)
    stderr: bytes = b""
    """What the last runner wrote there, once it has ended."""

    def start(
        self,
        script: str,
        *,
        simulator: str = "accelsim",
        places: Places | None = None,
        binary_text: str = "",
        **values: Any,
    ) -> "subprocess.Popen[bytes]":
        """A running runner; ``script`` is what the simulator does (bash)."""
        binary = self.folder / "accel-sim.out"
        binary.write_text(binary_text or f"#!/bin/bash\n{script}\n")
        binary.chmod(0o755)
        assignment = Assignment(
            sim_id=SIM_ID,
            attempt=1,
            url=self.url,
            worker="test/1",
            simulator=simulator,
            spec=spec_to_dict(load_shipped()["SM86_RTX3070"]),
            trace=TracePlace("a-trace", "kernelslist.g", folder=str(a_trace(self.folder))),
            work_folder=str(self.folder / "work"),
            limits=Limits(**{"heartbeat_s": 0.3, "patience_s": 20, "grace_s": 1} | self.limits),
            places=places or Places(str(binary), str(self.folder)),
            **values,
        )
        assignment.write(self.folder / "assignment.json")
        return self.restart()

    def restart(self) -> "subprocess.Popen[bytes]":
        """A runner of the assignment that the last one had."""
        process = subprocess.Popen(
            [sys.executable, "-m", "sims.runner", str(self.folder / "assignment.json")],
            cwd=PROJECT,
            env=os.environ | {"CASCADE_TOKEN": TOKEN},
            stderr=subprocess.PIPE,
        )
        self.started.append(process)
        return process

    def run(self, script: str, timeout_s: float = 60, **values: Any) -> int:
        """A runner's exit code, once it has ended."""
        process = self.start(script, **values)
        _, self.stderr = process.communicate(timeout=timeout_s)
        return int(process.returncode)


def a_trace(folder: Path) -> Path:
    """The smallest trace: one list, one kernel file (no simulator here reads it)."""
    trace = folder / "trace"
    trace.mkdir(exist_ok=True)
    (trace / "kernelslist.g").write_text("MemcpyHtoD,0x7f0000000000,1024\nkernel-1.traceg\n")
    (trace / "kernel-1.traceg").write_text("-kernel name = k\n-kernel id = 1\n")
    return trace


@pytest.fixture
def runner(tmp_path: Path, server: AppServer) -> Iterator[RunnerStarter]:
    starter = RunnerStarter(tmp_path, server.url)
    yield starter
    for process in starter.started:
        process.kill()
        process.wait()
        if process.stderr:
            process.stderr.close()


@pytest.fixture
def eventually() -> Callable[[Callable[[], object], float], None]:
    """Wait for something to become true."""

    def wait(condition: Callable[[], object], timeout_s: float = 20) -> None:
        deadline = time.monotonic() + timeout_s
        while not condition():
            assert time.monotonic() < deadline, "it did not happen in time"
            time.sleep(0.02)

    return wait
