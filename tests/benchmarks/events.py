"""Event streams under load, as a table: ``python -m tests.benchmarks.events [--production]``.

CLIENTS clients follow one run whose log grows EVENTS_PER_S times a second, while SIMS other sims send their heartbeats
every HEARTBEAT_S. Latency is from the moment a chunk is sent to the moment a client has its event.
"""

import argparse
import asyncio
import json
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from tests.servers import flow
from tests.servers.backing import postgres_server, redis_server
from tests.servers.cascade import BEARER, TOKEN, Cascade, Web
from traces.sample import SAMPLE_LOG

CLIENTS = 200
EVENTS_PER_S = 10
SIMS = 200
HEARTBEAT_S = 5


@dataclass
class Measured:
    """What the clients saw."""

    sent_at: dict[int, float] = field(default_factory=dict)
    latencies_s: list[float] = field(default_factory=list)
    heartbeats_s: list[float] = field(default_factory=list)
    out_of_order: int = 0
    errors: int = 0


async def follow(port: int, run_id: str, measured: Measured) -> None:
    """One client, by hand: an HTTP library would measure itself."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET /api/runs/{run_id}/events?token={TOKEN} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    last_id, kind = 0, b""
    try:
        while line := await reader.readline():
            name, _, value = line.rstrip().partition(b": ")
            if name == b"id":
                measured.out_of_order += int(value) != last_id + 1
                last_id = int(value)
            elif name == b"event":
                kind = value
            elif name == b"data" and kind == b"log":
                measured.latencies_s.append(time.monotonic() - measured.sent_at[json.loads(value)["offset"]])
    finally:
        writer.close()


async def write_log(http: httpx.AsyncClient, sim_id: str, measured: Measured, seconds: float) -> int:
    """Grow the log at a steady rate for a time; how many chunks it took."""
    text, started, number = "x" * 99 + "\n", time.monotonic(), 0
    while (due := number / EVENTS_PER_S) < seconds and time.monotonic() - started < seconds:
        await asyncio.sleep(max(0.0, started + due - time.monotonic()))
        offset = number * len(text)
        measured.sent_at[offset] = time.monotonic()
        response = await http.post(f"/api/sims/{sim_id}/logs", json={"text": text, "offset": offset})
        measured.errors += response.status_code != 200
        number += 1
    return number


async def beat(http: httpx.AsyncClient, sim_id: str, delay_s: float, measured: Measured) -> None:
    """One sim's runner: a heartbeat with news in each."""
    await asyncio.sleep(delay_s)
    done = 0
    while True:
        started = time.monotonic()
        done += 1
        body = {"state": "running", "kernels_done": done, "kernels_total": 1_000_000}
        response = await http.post(f"/api/sims/{sim_id}/heartbeat", json=body)
        measured.errors += response.status_code != 200
        measured.heartbeats_s.append(time.monotonic() - started)
        await asyncio.sleep(max(0.0, HEARTBEAT_S - (time.monotonic() - started)))


async def load(
    webs: list[Web], followed: dict[str, Any], others: dict[str, Any], seconds: float
) -> tuple[Measured, int]:
    """Everything at once, for a while; what was seen, and how many events each client should have."""
    measured = Measured()
    ports = [int(web.url.rsplit(":", 1)[1]) for web in webs]
    clients = [asyncio.create_task(follow(ports[n % len(ports)], followed["id"], measured)) for n in range(CLIENTS)]
    limits = httpx.Limits(max_connections=50)
    async with httpx.AsyncClient(base_url=webs[0].url, headers=BEARER, timeout=30, limits=limits) as http:
        beats = [
            asyncio.create_task(beat(http, sim["id"], number / SIMS * HEARTBEAT_S, measured))
            for number, sim in enumerate(others["sims"])
        ]
        await asyncio.sleep(2)
        count = await write_log(http, followed["sims"][0]["id"], measured, seconds)
        await asyncio.sleep(2)
        for task in [*clients, *beats]:
            task.cancel()
        for failed in await asyncio.gather(*clients, *beats, return_exceptions=True):
            measured.errors += isinstance(failed, Exception)
    return measured, count


@contextmanager
def installation(production: bool) -> Iterator[list[Web]]:
    """The embedded defaults with one web process, or PostgreSQL and Redis with two."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        env = {"CASCADE_REPLAY_LOG": str(SAMPLE_LOG)}
        if production:
            env["DATABASE_URL"] = stack.enter_context(postgres_server())
            env["REDIS_URL"] = stack.enter_context(redis_server(folder))
        cascade = stack.enter_context(Cascade(folder, env))
        yield [cascade.start_web() for _ in range(2 if production else 1)]


def quantile_ms(values_s: list[float], share: float) -> float:
    return sorted(values_s)[min(len(values_s) - 1, int(len(values_s) * share))] * 1000


def status(web: Web, name: str) -> str:
    text = Path(f"/proc/{web.process.pid}/status").read_text()
    return text.split(f"{name}:")[1].split("\n")[0].strip()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--production", action="store_true", help="PostgreSQL, Redis and two web processes")
    parser.add_argument("--seconds", type=float, default=20)
    options = parser.parse_args()
    with installation(options.production) as webs:
        http = webs[0].http
        trace = flow.upload_trace(http, "sample")
        followed = flow.launch(http, trace["id"])
        clocks = [1000 + number for number in range(SIMS)]
        others = flow.launch(http, trace["id"], ["SM7_QV100"], sweep={"core_clock_mhz": clocks})
        before = status(webs[0], "VmRSS")
        measured, count = asyncio.run(load(webs, followed, others, options.seconds))
        print(
            f"{CLIENTS} clients, {EVENTS_PER_S} events/s for {options.seconds:g} s; {SIMS} sims every {HEARTBEAT_S} s"
        )
        print(f"events      {len(measured.latencies_s)} of {count * CLIENTS}, out of order {measured.out_of_order}")
        for name, values in (("latency", measured.latencies_s), ("heartbeat", measured.heartbeats_s)):
            figures = "  ".join(f"p{share * 100:g} {quantile_ms(values, share):.0f} ms" for share in (0.5, 0.95, 1))
            print(f"{name:11} {figures}  ({len(values)})")
        print(f"errors      {measured.errors}")
        print(f"web process {before} -> {status(webs[0], 'VmRSS')}, {status(webs[0], 'Threads')} threads")


if __name__ == "__main__":
    main()
