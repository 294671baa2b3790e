"""How many queries and how long the admin's pages take at 100,000 runs with 200,000 sims, on SQLite.

python -m tests.benchmarks.admin
"""

import os
import random
import statistics
import tempfile
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from django.db.models import Model
    from django.test import Client

    from runs.models import Run
    from sims.models import Sim

TRACES, RUNS, SIMS_PER_RUN, KERNELS, AUDITS = 300, 100_000, 2, 500_000, 50_000
CONFIGS = ("SM7_QV100", "SM75_RTX2060", "SM86_RTX3070", "SM80_A100")
WORKERS = 40
REPEATS = 5
BATCH = 2000
PAGES = {
    "index": "",
    "runs": "runs/run/",
    "runs, failed": "runs/run/?status__exact=failed",
    "runs, searched": "runs/run/?q=run-0001",
    "runs, page 1,500": "runs/run/?p=1500",
    "sims": "sims/sim/",
    "sims, failed": "sims/sim/?status__exact=failed",
    "sims, running": "sims/sim/?status__exact=running",
    "sims, stale": "sims/sim/?heartbeat=stale",
    "sims, lease run out": "sims/sim/?heartbeat=lost",
    "sims, one simulator": "sims/sim/?simulator=accelsim",
    "sims, asked to stop": "sims/sim/?heartbeat=stopping",
    "sims, this week's": "sims/sim/?created_at__gte=2026-11-23 00:00:00Z",
    "sims, searched by id": "sims/sim/?q={sim}",
    "sims, searched by run": "sims/sim/?q={run}",
    "sims, searched by text": "sims/sim/?q=worker-17",
    "a sim": "sims/sim/{sim}/change/",
    "a run": "runs/run/{run}/change/",
    "traces": "traces/trace/",
    "traces by size": "traces/trace/?o=-7",
    "kernel results": "sims/simkernel/",
    "output files": "sims/simfile/",
    "audit": "admin/logentry/",
}


def main() -> None:
    """Print each page's queries and milliseconds: of the first answer, the median of the next ones, and their CPU time."""
    with tempfile.TemporaryDirectory(prefix="cascade-bench-") as folder:
        os.environ |= {"CASCADE_DATA": folder, "DJANGO_SETTINGS_MODULE": "cascade_site.settings"}
        import django

        django.setup()
        seed()
        measure()


def measure() -> None:
    """Each page of the admin, asked for by an operator in this process: what the server's work alone takes."""
    from django.contrib.auth.models import User
    from django.test import Client

    from runs.models import Run
    from sims.models import Sim

    client = Client()
    client.force_login(User.objects.get())
    names = {"sim": Sim.objects.all()[:1].get().pk, "run": Run.objects.all()[:1].get().pk}
    print(f"{'page':<24}{'queries':>8}{'first ms':>10}{'next ms':>9}{'CPU ms':>8}{'slowest query ms':>18}")
    for title, path in PAGES.items():
        _measure(client, title, "/admin/" + path.format(**names))


def _measure(client: "Client", title: str, path: str) -> None:
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    took, worked = [], []
    for _ in range(REPEATS + 1):
        with CaptureQueriesContext(connection) as queries:
            began, began_cpu = time.perf_counter(), time.process_time()
            answer = client.get(path)
            took.append(1e3 * (time.perf_counter() - began))
            worked.append(1e3 * (time.process_time() - began_cpu))
        assert answer.status_code == 200, f"{path}: {answer.status_code}"
    slowest = max(queries.captured_queries, key=lambda query: float(query["time"]))
    slowest_ms = 1e3 * float(slowest["time"])
    median, cpu = statistics.median(took[1:]), statistics.median(worked[1:])
    print(f"{title:<24}{len(queries):>8}{took[0]:>10.0f}{median:>9.0f}{cpu:>8.0f}{slowest_ms:>18.0f}")
    if os.environ.get("CASCADE_SHOW_QUERIES"):
        print(f"    {slowest['sql'][:1000]}")


def seed() -> None:
    """Two years of runs, the last few hundred of them at work, in the database of the settings."""
    from django.contrib.admin.models import LogEntry
    from django.contrib.auth.models import User
    from django.contrib.contenttypes.models import ContentType
    from django.core.management import call_command
    from django.utils import timezone

    from runs.models import Run
    from sims.models import Sim, SimFile, SimKernel
    from traces.models import Trace, TraceStatus

    call_command("migrate", verbosity=0)
    chance, now = random.Random(1), timezone.now()
    operator = User.objects.create_superuser("operator", "", "secret")
    traces = [
        Trace(pk=f"trace-{n}", status=TraceStatus.READY, size_bytes=chance.randrange(10**10), gpu="NVIDIA A100")
        for n in range(TRACES)
    ]
    _insert(Trace, iter(traces))
    began = [now - timedelta(minutes=10 * (RUNS - n)) for n in range(RUNS)]
    runs = [_run(n, began[n], chance) for n in range(RUNS)]
    _insert(Run, iter(runs))
    _insert(Sim, _sims(runs, chance, now))
    sims = [f"sim-{n:012x}" for n in range(RUNS * SIMS_PER_RUN)]
    _insert(SimKernel, (_result(sims[n // 50], n % 50 + 1, chance) for n in range(KERNELS)))
    _insert(
        SimFile,
        (
            SimFile(
                sim_id=sim, name="result.json", size_bytes=chance.randrange(10**6), sha256="0" * 64, content_type="json"
            )
            for sim in sims[::2]
        ),
    )
    kind = ContentType.objects.get_for_model(Run)
    _insert(
        LogEntry,
        (
            LogEntry(
                action_time=chance.choice(began),
                user=operator,
                content_type=kind,
                object_id=f"run-{n:012x}",
                object_repr=f"run-{n:012x}",
                action_flag=2,
                change_message="Cancel asked for.",
            )
            for n in range(AUDITS)
        ),
    )


def _insert(model: "type[Model]", rows: Iterator[Any]) -> None:
    while batch := list(islice(rows, BATCH)):
        model._base_manager.bulk_create(batch, batch_size=200)


def _run(number: int, began: datetime, chance: random.Random) -> "Run":
    from runs.models import Run

    status = chance.choices(["finished", "failed", "cancelled"], [92, 6, 2])[0]
    if number >= RUNS - 500:
        status = "queued" if number >= RUNS - 300 else "running"
    ended = None if status in ("queued", "running") else began + timedelta(minutes=chance.randrange(1, 500))
    return Run(
        pk=f"run-{number:012x}",
        name=f"decode {number}",
        trace_id=f"trace-{chance.randrange(TRACES)}",
        simulator="auto",
        status=status,
        created_at=began,
        started_at=None if status == "queued" else began,
        finished_at=ended,
        request={"trace_id": "trace", "gpu_configs": list(CONFIGS[:SIMS_PER_RUN])},
    )


def _sims(runs: "list[Run]", chance: random.Random, now: datetime) -> "Iterator[Sim]":
    from sims.gpus import load_shipped, spec_to_dict
    from sims.models import Sim

    specs = load_shipped()
    configs = {name: spec_to_dict(specs[name]) for name in CONFIGS}
    for number, run in enumerate(runs):
        for position in range(SIMS_PER_RUN):
            name = CONFIGS[(number + position) % len(CONFIGS)]
            worker = f"worker-{chance.randrange(WORKERS)}"
            at_work = run.status == "running"
            silent_s = chance.choice([1, 2, 3, 4, 30, 90]) if at_work else 0
            yield Sim(
                pk=f"sim-{number * SIMS_PER_RUN + position:012x}",
                run=run,
                position=position,
                gpu_config=name,
                config=configs[name],
                simulator=chance.choice(["builtin", "builtin", "builtin", "accelsim", "replay"]),
                status=run.status,
                worker=None if run.status == "queued" else worker,
                kernels_done=50,
                kernels_total=50,
                detail=_reason(chance, worker) if run.status == "failed" else None,
                created_at=run.created_at,
                started_at=run.started_at,
                finished_at=run.finished_at,
                heartbeat_at=now - timedelta(seconds=silent_s) if at_work else run.finished_at,
                lease_expires_at=now + timedelta(seconds=60 - silent_s) if at_work else None,
                log_bytes=chance.randrange(10**7),
            )


def _reason(chance: random.Random, worker: str) -> str:
    """Why a sim failed: few reasons, most of them with a number or a name in them that is like no other's."""
    return chance.choice(
        [
            f"Nothing was heard of worker {worker} for 60 s. That was attempt 3: the sim is given up.",
            f"The simulator ended with exit code 134 at kernel {chance.randrange(5000)}.",
            f"The simulator was killed by SIGKILL after {chance.randrange(9000)} s: out of memory?",
            "Deadlock detected.",
            f"kernel-{chance.randrange(5000)}.traceg: an instruction this simulator does not know.",
        ]
    )


def _result(sim_id: str, index: int, chance: random.Random) -> Any:
    from sims.models import SimKernel

    limiters = ["dram", "l2", "issue", "dependency", ""]
    name = f"_Z6kernel{index % 30}PfS_i"
    return SimKernel(sim_id=sim_id, index=index, name=name, cycles=6000, limiter=chance.choice(limiters))


if __name__ == "__main__":
    main()
