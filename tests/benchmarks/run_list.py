"""How long the list of runs takes at 100,000 runs with 200,000 sims on SQLite, and how many queries: the server's work alone.

python -m tests.benchmarks.run_list
"""

import gc
import os
import random
import statistics
import tempfile
import time
from datetime import timedelta

RUNS, TRACES, REPEATS, BATCH = 100_000, 300, 20, 2000
CONFIGS = ("SM7_QV100", "SM75_RTX2060", "SM86_RTX3070", "SM80_A100")
PAGES = {
    "newest": "",
    "page 1,000": "?page=1000",
    "last page": "?page=2000",
    "last failed": "?status=failed&page=200",
    "by MAPE, last page": "?sort=-mape&page=2000",
    "failed": "?status=failed",
    "one trace": "?trace=trace-7",
    "by MAPE": "?sort=-mape",
    "by error and name": "?sort=error,name",
    "by speed, page 500": "?sort=instructions_per_s&page=500",
    "by name": "?sort=name",
    "by configs": "?sort=configs",
    "found: many": "?q=A100",
    "found: one": "?q=label+99999",
    "found: none, by MAPE": "?q=nothing&sort=mape",
}


def seed() -> None:
    """Finished runs, two sims each; the rows as a launch and an end leave them."""
    from django.utils import timezone

    from runs.models import Run
    from sims.models import Sim
    from traces.models import Trace

    chance, now = random.Random(1), timezone.now()
    Trace.objects.bulk_create(Trace(pk=f"trace-{n}", status="ready", gpu="NVIDIA A100") for n in range(TRACES))
    for start in range(0, RUNS, BATCH):
        runs, sims = [], []
        for number in range(start, start + BATCH):
            pair = chance.sample(CONFIGS, 2)
            started = now - timedelta(minutes=number)
            run = Run(
                name=f"label {number}",
                trace_id=f"trace-{number % TRACES}",
                simulator="builtin",
                status=chance.choices(["finished", "failed", "cancelled"], [90, 8, 2])[0],
                created_at=started,
                started_at=started,
                finished_at=started + timedelta(seconds=chance.expovariate(0.01)),
                request={"trace_id": f"trace-{number % TRACES}", "gpu_configs": pair, "simulator": "builtin"},
                configs=", ".join(pair),
                is_baseline=number < TRACES,
                wall_s=chance.expovariate(0.01),
                instructions_per_s=chance.lognormvariate(15, 1),
                slowdown=chance.lognormvariate(10, 1),
                fastest_ns=chance.lognormvariate(15, 1),
                error=chance.gauss(0, 0.1),
                mape=abs(chance.gauss(0, 0.1)),
                geomean_ratio=chance.gauss(1, 0.1),
            )
            runs.append(run)
            sims += [
                Sim(run=run, position=n, gpu_config=config, simulator="builtin", status=run.status, simulated_ns=1e6)
                for n, config in enumerate(pair)
            ]
        Run.objects.bulk_create(runs)
        Sim.everything.bulk_create(sims)


def measure() -> None:
    """Print queries and milliseconds of CPU time of each page, in which SQLite's are."""
    from django.db import connection
    from django.test import Client
    from django.test.utils import CaptureQueriesContext

    client = Client()
    print(f"{'page':<24}{'queries':>8}{'first ms':>10}{'p50 ms':>8}{'p95 ms':>8}")
    for title, query in PAGES.items():
        took = []
        for _ in range(REPEATS + 1):
            began = time.process_time()
            assert client.get(f"/runs{query}").status_code == 200
            took.append(1e3 * (time.process_time() - began))
        with CaptureQueriesContext(connection) as captured:
            client.get(f"/runs{query}")
        first, *others = took
        p95 = statistics.quantiles(others, n=20)[-1]
        print(f"{title:<24}{len(captured):8}{first:10.0f}{statistics.median(others):8.0f}{p95:8.0f}")


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="cascade-bench-") as folder:
        os.environ |= {"CASCADE_DATA": folder, "CASCADE_NO_AUTH": "1"}
        os.environ["DJANGO_SETTINGS_MODULE"] = "cascade_site.settings"
        import django

        django.setup()
        from django.core.management import call_command

        call_command("migrate", verbosity=0)
        seed()
        # What the seeding left behind is no part of a web server's garbage collection.
        gc.collect()
        gc.freeze()
        measure()


if __name__ == "__main__":
    main()
