"""Production's shape when parts of it die: nothing is lost, nothing is counted twice, every client hears the same."""

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import httpx
import psycopg
import pytest

from tests.live.conftest import QUICK, REPLAY, Installation
from tests.live.test_whole_flow import KERNELS, RECORDED
from tests.servers import flow
from tests.servers.backing import start_redis
from tests.servers.cascade import BEARER, Cascade
from tests.servers.events import Event, Stream
from tests.servers.processes import Process, free_port, wait_until

# Longer than any of the outages here, shorter than the patience of a test.
PLAYBACK_S = 8


@dataclass
class Faulty(Installation):
    """An installation with a Redis of its own, so that it may go away."""

    redis: Process
    redis_port: int
    database: str


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory, production_env: dict[str, str]) -> Iterator[Faulty]:
    folder, port = tmp_path_factory.mktemp("faulty"), free_port()
    with psycopg.connect(production_env["DATABASE_URL"], autocommit=True) as admin:
        admin.execute("CREATE DATABASE faulty")
    database = production_env["DATABASE_URL"].rpartition("/")[0] + "/faulty"
    env = {**production_env, **REPLAY, **QUICK, "DATABASE_URL": database, "REDIS_URL": f"redis://127.0.0.1:{port}/0"}
    with ExitStack() as stack:
        redis = start_redis(folder, port)
        cascade = stack.enter_context(Cascade(folder, env))
        webs = [cascade.start_web() for _ in range(2)]
        trace = flow.upload_trace(webs[0].http, "faulty")
        workers = [cascade.start_worker() for _ in range(2)]
        installation = Faulty(cascade, webs, workers, trace["id"], redis, port, database)
        yield installation
    installation.redis.stop()


@pytest.fixture
def run(faulty: Faulty) -> dict[str, Any]:
    """A run of two sims that plays for some seconds; both have started."""
    run = flow.launch(faulty.web.http, faulty.trace_id, options={"replay_seconds": PLAYBACK_S})
    http = faulty.webs[1].http
    wait_until(lambda: all(sim["log_bytes"] for sim in flow.run_of(http, run["id"])["sims"]), "the first log bytes")
    return run


def logs(faulty: Faulty, run: dict[str, Any]) -> list[bytes]:
    return [faulty.webs[1].http.get(f"/api/sims/{sim['id']}/log").content for sim in run["sims"]]


def follow(urls: list[str], run_id: str, heard: list[Event]) -> None:
    """A client that reconnects, to the next address each time, until the run's stream says that it is over."""
    for url in urls * 100:
        last = heard[-1].id if heard else None
        stream = Stream(f"{url}/api/runs/{run_id}/events", BEARER, last)
        try:
            heard.extend(stream)
        except httpx.TransportError:
            time.sleep(0.2)
        if stream.status == 204:
            return


def test_a_web_server_killed_under_the_runners_costs_no_byte_and_no_attempt(faulty: Faulty, run: Any) -> None:
    faulty.web.process.kill()
    time.sleep(2)
    faulty.webs[0] = faulty.cascade.start_web(faulty.cascade.first_port)
    ended = flow.wait_for_end(faulty.webs[1].http, run["id"])
    assert [(sim["status"], sim["attempt"], sim["kernels_done"]) for sim in ended["sims"]] == [
        ("finished", 1, KERNELS)
    ] * 2
    assert logs(faulty, run) == [RECORDED, RECORDED]


def test_streams_through_a_web_restart_end_with_the_same_list(faulty: Faulty, run: Any) -> None:
    urls = [web.url for web in faulty.webs]
    heard: list[list[Event]] = [[] for _ in range(20)]
    clients = [
        threading.Thread(target=follow, args=(urls if n % 2 else urls[::-1], run["id"], events))
        for n, events in enumerate(heard)
    ]
    for client in clients:
        client.start()
    time.sleep(1)
    faulty.web.process.kill()
    faulty.webs[0] = faulty.cascade.start_web(faulty.cascade.first_port)
    for client in clients:
        client.join(120)
    whole = list(faulty.webs[1].stream(run["id"]))
    assert all(events == whole for events in heard)
    assert [int(event.id) for event in whole] == list(range(1, len(whole) + 1))


def test_a_killed_worker_s_sims_are_done_by_the_other(faulty: Faulty, run: Any) -> None:
    faulty.workers[0].kill()
    ended = flow.wait_for_end(faulty.webs[1].http, run["id"])
    faulty.workers[0] = faulty.cascade.start_worker()
    assert [(sim["status"], sim["kernels_done"]) for sim in ended["sims"]] == [("finished", KERNELS)] * 2
    assert logs(faulty, run) == [RECORDED, RECORDED]


def test_events_arrive_while_redis_is_away(faulty: Faulty, run: Any) -> None:
    heard: list[Event] = []
    client = threading.Thread(target=follow, args=([faulty.webs[1].url], run["id"], heard))
    client.start()
    faulty.redis.kill()
    ended = flow.wait_for_end(faulty.webs[1].http, run["id"])
    client.join(30)
    faulty.redis = start_redis(faulty.cascade.folder, faulty.redis_port)
    assert ended["status"] == "finished"
    assert heard[-1].data["status"] == "finished"


def test_runs_go_on_when_redis_is_back(faulty: Faulty) -> None:
    run = flow.launch(faulty.web.http, faulty.trace_id)
    assert flow.wait_for_end(faulty.web.http, run["id"])["status"] == "finished"


def test_open_streams_hold_no_database_connection(faulty: Faulty, run: Any) -> None:
    clients = [threading.Thread(target=lambda: list(faulty.web.stream(run["id"]))) for _ in range(80)]
    for client in clients:
        client.start()
    time.sleep(2)
    with psycopg.connect(faulty.database) as connection:
        row = connection.execute("SELECT count(*) FROM pg_stat_activity WHERE datname = 'faulty'").fetchone()
    for client in clients:
        client.join(60)
    assert row is not None
    assert row[0] < 60


def test_many_writers_on_both_web_servers_leave_one_unbroken_journal(faulty: Faulty) -> None:
    run = flow.launch(faulty.web.http, faulty.trace_id, options={"replay_seconds": 600})
    sims = [sim["id"] for sim in run["sims"]]

    def write(number: int) -> None:
        for count in range(10):
            web = faulty.webs[(number + count) % 2]
            flow.heartbeat(web.http, sims[number % 2], "running", detail=f"writer {number}, report {count}")

    writers = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
    flow.answer(faulty.web.http.post(f"/api/runs/{run['id']}/cancel"))
    flow.wait_for_end(faulty.web.http, run["id"])
    events = list(faulty.web.stream(run["id"]))
    told = {event.data["detail"] for event in events if event.kind == "sim"}
    assert {f"writer {n}, report {count}" for n in range(8) for count in range(10)} <= told
    assert [int(event.id) for event in events] == list(range(1, len(events) + 1))
