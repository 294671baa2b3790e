"""What a run costs on top of its simulator: ``python -m tests.benchmarks.overhead [--long SECONDS]``.

A log is replayed at once, for the time from launch to end; then over a set time, for what comes on top of that time.
"""

import argparse
import tempfile
import time
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import Any

import httpx

from tests.servers import flow
from tests.servers.cascade import Cascade
from traces.sample import SAMPLE_LOG


def seconds_between(begin: str, end: str) -> float:
    return (datetime.fromisoformat(end) - datetime.fromisoformat(begin)).total_seconds()


def one_sim(http: httpx.Client, replay_s: float) -> dict[str, Any]:
    """Launch one sim and wait for its end; the Sim."""
    run = flow.launch(http, "sample", ["SM86_RTX3070"], options={"replay_seconds": replay_s})
    return dict(flow.wait_for_end(http, run["id"], timeout_s=replay_s + 120)["sims"][0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--long", type=float, default=60, help="seconds of the long replay (default: %(default)s)")
    long_s = parser.parse_args().long
    with (
        tempfile.TemporaryDirectory() as folder,
        Cascade(Path(folder), {"CASCADE_REPLAY_LOG": str(SAMPLE_LOG)}) as cascade,
    ):
        http = cascade.start_web().http
        flow.upload_trace(http, "sample")
        cascade.start_worker()
        time.sleep(3)
        short = [one_sim(http, 0) for _ in range(5)]
        long = one_sim(http, long_s)
    totals = [seconds_between(sim["created_at"], sim["finished_at"]) for sim in short]
    starts = [seconds_between(sim["created_at"], sim["started_at"]) for sim in short]
    print(f"ends at once: {median(totals):.2f} s from launch to end (worst {max(totals):.2f}; want < 3)")
    print(f"  of these until a worker has it: {median(starts):.2f} s")
    over_s = seconds_between(long["started_at"], long["finished_at"]) - long_s
    print(f"replay of {long_s:.0f} s: {over_s:.2f} s on top, {over_s / long_s:.2%} (want < 2 % of 300 s)")


if __name__ == "__main__":
    main()
