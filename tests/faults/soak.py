"""Long loops of the fault tests, run by hand: ``python -m tests.faults.soak kills --rounds 1000``.

``kills``: workers, runners and web servers are killed at random moments while sims talk; every log must be the
simulator's own output, byte for byte. ``flood``: half a gigabyte on stderr, then on stdout without a newline; the
runner's peak memory.
"""

import argparse
import contextlib
import os
import random
import re
import signal
import sys
import tempfile
import time
from pathlib import Path

from tests.faults.conftest import END, Faulty, a_whole_trace, install
from tests.runner.app import App, AppServer
from tests.runner.conftest import RunnerStarter
from tests.servers.processes import Process

LINES = 200
TALK = f"for i in $(seq {LINES}); do echo line $i of this log; sleep 0.01; done; {END}"
SIMS_AT_A_TIME = 4


def expected_log() -> bytes:
    lines = b"".join(b"line %d of this log\n" % number for number in range(1, LINES + 1))
    return lines + b"GPGPU-Sim: *** exit detected ***\n"


def kills(rounds: int) -> int:
    """Kill something every now and then, ``rounds`` times; how many logs were wrong."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with install(folder, {"CASCADE_ATTEMPTS": "100000"}) as cascade:
            cascade.manage("ingest_trace", str(a_whole_trace(folder)), "--name", "a-trace")
            faulty = Faulty(folder, cascade, cascade.start_web())
            faulty.simulator_does(TALK)
            return _kill_and_compare(faulty, rounds)


def _kill_and_compare(faulty: Faulty, rounds: int) -> int:
    worker = faulty.cascade.start_worker()
    sims = [faulty.launch() for _ in range(SIMS_AT_A_TIME)]
    killed: dict[str, int] = {}
    checked = wrong = 0
    while sum(killed.values()) < rounds or sims:
        time.sleep(random.uniform(0, 1))
        if sum(killed.values()) < rounds:
            victim = random.choices(["worker", "pool", "runner", "web"], [1, 2, 6, 2])[0]
            worker = _kill(faulty, worker, victim)
            killed[victim] = killed.get(victim, 0) + 1
        ended = [sim for sim in sims if faulty.sim(sim)["status"] in ("finished", "failed", "cancelled")]
        for sim in ended:
            checked += 1
            wrong += faulty.log(sim) != expected_log()
            sims.remove(sim)
            if sum(killed.values()) < rounds:
                sims.append(faulty.launch())
        print(f"\r{sum(killed.values())} kills {killed}, {checked} logs compared, {wrong} wrong", end="", flush=True)
    print(f"\nleft behind: {len(faulty.simulators())} simulators")
    return wrong


def _kill(faulty: Faulty, worker: Process, victim: str) -> Process:
    if victim == "web":
        faulty.web.process.kill()
        faulty.web = faulty.cascade.start_web(faulty.cascade.first_port)
    elif victim == "worker":
        worker.kill()
        return faulty.cascade.start_worker()
    else:
        runners = faulty.runners(worker)
        parents = [_parent(pid) for pid in runners]
        for pid in (runners if victim == "runner" else parents)[:1]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    return worker


def _parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except (OSError, ValueError):
        return pid


def flood(megabytes: int) -> int:
    """Peak memory of a runner whose simulator floods it, above that of one whose simulator says nothing."""
    quiet = _peak_mib("true")
    half = f"head -c {megabytes}000000 /dev/zero | tr '\\0' "
    loud = _peak_mib(f"{half} e >&2; {half} o")
    print(f"peak memory: {quiet} MiB quiet, {loud} MiB with {megabytes} MB on each pipe (want at most 64 more)")
    return int(loud - quiet > 64)


def _peak_mib(script: str) -> int:
    with tempfile.TemporaryDirectory() as folder:
        app = App()
        server = AppServer(app)
        process = RunnerStarter(Path(folder), server.url).start(script)
        peak_kib = 0
        while process.poll() is None:
            with contextlib.suppress(OSError):
                found = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{process.pid}/status").read_text())
                peak_kib = max(peak_kib, int(found[1]) if found else 0)
            time.sleep(0.05)
        server.down()
        return peak_kib // 1024


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["kills", "flood"])
    parser.add_argument("--rounds", type=int, default=1000, help="how many kills (default: %(default)s)")
    parser.add_argument("--megabytes", type=int, default=500, help="of each flood (default: %(default)s)")
    arguments = parser.parse_args()
    return kills(arguments.rounds) if arguments.what == "kills" else flood(arguments.megabytes)


if __name__ == "__main__":
    sys.exit(main())
