"""A Cascade whose simulator does what a test says, and whose processes tests kill."""

import os
import signal
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sims.runner.processes import descendants
from tests.runner.conftest import a_trace
from tests.servers import flow
from tests.servers.cascade import Cascade, Web
from tests.servers.processes import PYTHON, Process, wait_until

LEASE_S = 10
SCRIPT = "simulator.sh"
END = "echo 'GPGPU-Sim: *** exit detected ***'"
STARTED = {"starting", "running"}


class Faulty:
    """One installation, and how to hurt it."""

    def __init__(self, folder: Path, cascade: Cascade, web: Web) -> None:
        self.folder, self.cascade, self.web = folder, cascade, web

    def simulator_does(self, script: str) -> None:
        """What the simulator (bash) does from the next start on; ``$WORKED`` is a file that it may leave word in."""
        (self.folder / SCRIPT).write_text(f"WORKED={self.folder}/worked\n{script}\n")

    def worked(self) -> list[str]:
        """The words that simulators have left."""
        file = self.folder / "worked"
        return file.read_text().split() if file.exists() else []

    def launch(self) -> dict[str, Any]:
        """Launch a run of one sim; the Sim."""
        (self.folder / "worked").unlink(missing_ok=True)
        run = flow.launch(self.web.http, "a-trace", ["SM86_RTX3070"], simulator="accelsim")
        return dict(run["sims"][0])

    def sim(self, sim: dict[str, Any]) -> dict[str, Any]:
        """The sim as it is now."""
        run = flow.run_of(self.web.http, sim["run_id"])
        return next(dict(found) for found in run["sims"] if found["id"] == sim["id"])

    def wait_for(
        self, sim: dict[str, Any], condition: Callable[[dict[str, Any]], object], timeout_s: float = 60
    ) -> dict[str, Any]:
        """The sim, once the condition holds of it."""
        wait_until(lambda: bool(condition(self.sim(sim))), f"{sim['id']} is {self.sim(sim)}", timeout_s, every_s=0.1)
        return self.sim(sim)

    def wait_for_end(self, sim: dict[str, Any], timeout_s: float = 90) -> dict[str, Any]:
        return self.wait_for(sim, lambda now: now["status"] in flow.ENDED, timeout_s)

    def wait_until_it_works(self, sim: dict[str, Any]) -> dict[str, Any]:
        """The sim, once its simulator has printed something."""
        return self.wait_for(sim, lambda now: now["log_bytes"] > 0)

    def log(self, sim: dict[str, Any]) -> bytes:
        return self.web.http.get(f"/api/sims/{sim['id']}/log").content

    def runners(self, worker: Process) -> list[int]:
        """The processes of a worker that are runners."""
        return [pid for pid in descendants(worker.pid) if b"sims.runner" in command_of(pid)]

    def simulators(self) -> list[int]:
        """Every process that runs this installation's simulator."""
        name = str(self.folder / SCRIPT).encode()
        return [
            int(entry.name)
            for entry in Path("/proc").iterdir()
            if entry.name.isdigit() and name in command_of(int(entry.name))
        ]


def command_of(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def kill(*pids: int) -> None:
    for pid in pids:
        os.kill(pid, signal.SIGKILL)


def install(folder: Path, env: dict[str, str] | None = None) -> Cascade:
    """A Cascade whose Accel-Sim is a script that tests write."""
    binary = folder / "accel-sim.out"
    binary.write_text(f'#!/bin/bash\nexec bash {folder}/{SCRIPT} "$@"\n')
    binary.chmod(binary.stat().st_mode | stat.S_IXUSR)
    (folder / "configs").mkdir()
    settings = {
        "CASCADE_ACCELSIM": str(binary),
        "CASCADE_ACCELSIM_CONFIGS": str(folder / "configs"),
        "CASCADE_HEARTBEAT_S": "1",
        "CASCADE_LEASE_S": str(LEASE_S),
        "CASCADE_ATTEMPTS": "5",
    }
    return Cascade(folder, {**settings, **(env or {})})


@pytest.fixture(scope="session")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Faulty]:
    """A web server and a ready trace of one kernel; tests start the workers."""
    folder = tmp_path_factory.mktemp("faulty")
    with install(folder) as cascade:
        cascade.manage("ingest_trace", str(a_whole_trace(folder)), "--name", "a-trace")
        yield Faulty(folder, cascade, cascade.start_web())


def a_whole_trace(folder: Path) -> Path:
    """One kernel whose header can be read."""
    trace = a_trace(folder)
    (trace / "kernel-1.traceg").write_text(HEADER)
    return trace


HEADER = """-kernel name = _Z1kv
-kernel id = 1
-grid dim = (1,1,1)
-block dim = (32,1,1)
-shmem = 0
-nregs = 8
-binary version = 86
-cuda stream id = 0
-shmem base_addr = 0x00007f4a00000000
-local mem base_addr = 0x00007f4a02000000
-nvbit version = 1.5.5
-accelsim tracer version = 5
-enable lineinfo = 0

# traces format = PC mask dest_num [reg_dests] opcode src_num [reg_srcs] mem_width [adrrescompress?] [mem_addresses]
# immediate

#BEGIN_TB

thread block = 0,0,0

warp = 0
insts = 1
0000 ffffffff 0 EXIT 0 0

#END_TB
"""

__all__ = ["END", "LEASE_S", "PYTHON", "STARTED", "Faulty", "install", "kill"]
