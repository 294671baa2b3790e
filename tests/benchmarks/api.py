"""How fast the API answers for a run of 4 sims x 10,000 kernels, over HTTP from a real server, and how many reports it takes.

python -m tests.benchmarks.api
"""

import random
import statistics
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import httpx

from cascade_site.packing import packed
from tests.servers.cascade import BEARER, Cascade

if TYPE_CHECKING:
    from sims.models import Sim, SimKernel

SIMS, KERNELS, REQUESTS = 4, 10_000, 20
CONFIGS = ("SM7_QV100", "SM75_RTX2060", "SM86_RTX3070", "SM80_A100")
ROUTES = ("", "/comparison", "/kernels", "/perfetto")
REPORTERS, SECONDS = 16, 10


def seed() -> None:
    """A finished run in the database of the settings; called inside the server's environment."""
    from runs.launch import LaunchRequest, launch
    from sims.models import Sim, SimKernel
    from sims.models.states import Report
    from traces.models import Trace, TraceKernel, TraceStatus

    chance = random.Random(1)
    trace = Trace.objects.create(pk="large", status=TraceStatus.READY)
    times = [chance.lognormvariate(9, 1) for _ in range(KERNELS)]
    trace.replace_kernels(
        [
            TraceKernel(
                trace=trace,
                index=index,
                name=f"_Z6kernel{index % 300}PfS_i",
                trace_file=f"kernel-{index}.traceg",
                grid=[80, 1, 1],
                block=[256, 1, 1],
                stream=index % 3,
                real_ns=round(real_ns),
            )
            for index, real_ns in enumerate(times, start=1)
        ]
    )
    run = launch(trace, LaunchRequest(list(CONFIGS), simulator="replay"))
    for sim in run.sims.all():
        SimKernel.objects.bulk_create([_result(sim, index, ns, chance) for index, ns in enumerate(times, start=1)], 500)
    for sim in run.sims.all():
        Sim.objects.get(pk=sim.pk).heartbeat(Report("finished"))
    print(run.id)


def _result(sim: "Sim", index: int, real_ns: float, chance: random.Random) -> "SimKernel":
    from sims.models import SimKernel

    simulated_ns = real_ns * chance.lognormvariate(0, 0.1)
    stats = {f"stat_{n}": chance.random() for n in range(30)}
    return SimKernel(
        sim=sim,
        index=index,
        launch_uid=index,
        name=f"_Z6kernel{index % 300}PfS_i",
        stream=index % 3,
        cycles=round(simulated_ns * 1.2) + 5000,
        launch_cycles=5000,
        instructions=round(real_ns * 100),
        ipc=100.0,
        simulated_ns=simulated_ns,
        occupancy=chance.uniform(10, 100),
        l1_hit_rate=chance.random(),
        l2_hit_rate=chance.random(),
        dram_bytes=round(real_ns * 200),
        stats_packed=packed(stats),
    )


def main() -> None:
    """Print p50, p95 and size of each route, and heartbeats taken per second."""
    with (
        tempfile.TemporaryDirectory(prefix="cascade-bench-") as folder,
        Cascade(Path(folder), environment()) as cascade,
    ):
        web = cascade.start_web()
        run_id = seeded(cascade)
        sims = web.http.get(f"/api/runs/{run_id}").json()["sims"]
        print(f"{'GET':42}{'first s':>8}{'p50 s':>8}{'p95 s':>8}{'MB':>8}")
        for route in ROUTES:
            _measure(web.http, f"/api/runs/{run_id}{route}")
        _measure(web.http, "/api/traces/large")
        _measure(web.http, "/api/runs")
        print(
            f"heartbeats from {REPORTERS} connections: {_heartbeats_per_s(web.url, [sim['id'] for sim in sims]):.0f}/s"
        )


def seeded(cascade: Cascade) -> str:
    """Make the large run in an installation; its id."""
    return cascade.manage("shell", "-v0", "-c", "from tests.benchmarks.api import seed; seed()").split()[-1]


def environment() -> dict[str, str]:
    return {"CASCADE_REPLAY_LOG": __file__}  # never replayed: it only makes the simulator one that can be chosen


def _measure(client: httpx.Client, path: str) -> None:
    first_s, size_bytes = _timed(client, path)
    seconds = [_timed(client, path)[0] for _ in range(REQUESTS)]
    cuts = statistics.quantiles(seconds, n=20)
    print(f"{path:42}{first_s:8.3f}{cuts[9]:8.3f}{cuts[18]:8.3f}{size_bytes / 1e6:8.2f}")


def _timed(client: httpx.Client, path: str) -> tuple[float, int]:
    """Seconds and bytes of one answer."""
    start = time.perf_counter()
    size_bytes = len(client.get(path).raise_for_status().content)
    return time.perf_counter() - start, size_bytes


def _heartbeats_per_s(url: str, sim_ids: list[str]) -> float:
    counts = [0] * REPORTERS
    end = time.monotonic() + SECONDS

    def report(place: int) -> None:
        with httpx.Client(base_url=url, headers=BEARER, timeout=30) as client:
            while time.monotonic() < end:
                path = f"/api/sims/{sim_ids[place % len(sim_ids)]}/heartbeat"
                client.post(path, json={"state": "running"}).raise_for_status()
                counts[place] += 1

    threads = [threading.Thread(target=report, args=(place,)) for place in range(REPORTERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) / SECONDS


if __name__ == "__main__":
    main()
