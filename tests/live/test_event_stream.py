"""A run's event stream over HTTP, from a real web process; the test plays the simulator."""

import threading
from typing import Any

import httpx
import pytest

from tests.live.conftest import Installation
from tests.servers import flow
from tests.servers.cascade import TOKEN
from tests.servers.events import Event


@pytest.fixture
def run(web_only: Installation) -> dict[str, Any]:
    """A queued run of two sims."""
    return flow.launch(web_only.web.http, web_only.trace_id)


def play(http: httpx.Client, run: dict[str, Any]) -> None:
    """Run both sims to their end."""
    for sim in run["sims"]:
        flow.heartbeat(http, sim["id"], "running")
        flow.log(http, sim["id"], "one line\n")
        http.put(f"/api/sims/{sim['id']}/files/stats.txt", content=b"cycles 1\n")
        flow.heartbeat(http, sim["id"], "finished")


def listen(web_only: Installation, run_id: str, count: int = 1) -> tuple[list[list[Event]], list[threading.Thread]]:
    """Start clients that read the run's stream to its end."""
    heard: list[list[Event]] = [[] for _ in range(count)]
    clients = [
        threading.Thread(target=lambda events=events: events.extend(web_only.web.stream(run_id))) for events in heard
    ]
    for client in clients:
        client.start()
    return heard, clients


def test_it_begins_and_ends_with_the_run_and_then_the_server_closes_it(web_only: Installation, run: Any) -> None:
    play(web_only.web.http, run)
    events = list(web_only.web.stream(run["id"]))
    assert (events[0].kind, events[0].data) == ("run", run)
    last = flow.run_of(web_only.web.http, run["id"])
    del last["trace"]
    assert (events[-1].kind, events[-1].data) == ("run", last)


def test_it_tells_every_change_in_between(web_only: Installation, run: Any) -> None:
    play(web_only.web.http, run)
    kinds = [event.kind for event in web_only.web.stream(run["id"])]
    assert kinds == ["run", *["sim", "log", "file", "sim"] * 2, "run"]


def test_a_sim_event_is_the_sim_and_a_log_event_its_size(web_only: Installation, run: Any) -> None:
    play(web_only.web.http, run)
    sim_id = run["sims"][0]["id"]
    sim, log = list(web_only.web.stream(run["id"]))[1:3]
    assert (sim.data["id"], sim.data["status"]) == (sim_id, "running")
    assert log.data == {"sim_id": sim_id, "offset": 0, "size_bytes": 9}


def test_clients_that_listen_meanwhile_hear_the_same_as_one_that_comes_later(web_only: Installation, run: Any) -> None:
    heard, clients = listen(web_only, run["id"], count=5)
    play(web_only.web.http, run)
    for client in clients:
        client.join(30)
    later = list(web_only.web.stream(run["id"]))
    assert all(events == later for events in heard)


def test_a_client_that_reconnects_gets_what_it_missed_once_and_in_order(web_only: Installation, run: Any) -> None:
    play(web_only.web.http, run)
    events = list(web_only.web.stream(run["id"]))
    for position, event in enumerate(events[:-1]):
        assert list(web_only.web.stream(run["id"], last_event_id=event.id)) == events[position + 1 :]


def test_a_client_that_has_read_to_the_end_is_told_not_to_come_back(web_only: Installation, run: Any) -> None:
    play(web_only.web.http, run)
    last = list(web_only.web.stream(run["id"]))[-1]
    stream = web_only.web.stream(run["id"], last_event_id=last.id)
    assert list(stream) == []
    assert stream.status == 204


def test_an_idle_stream_carries_a_comment_every_15_seconds(web_only: Installation, run: Any) -> None:
    url = f"{web_only.web.url}/api/runs/{run['id']}/events"
    with httpx.stream("GET", url, params={"token": TOKEN}, timeout=20) as response:
        lines = response.iter_lines()
        assert next(line for line in lines if line.startswith(":")) == ": keep-alive"


@pytest.mark.parametrize(
    ("method", "query", "status"),
    [
        ("GET", "", 401),
        ("GET", "?token=wrong", 401),
        ("HEAD", f"?token={TOKEN}", 405),
        ("POST", f"?token={TOKEN}", 405),
    ],
)
def test_it_refuses_with_a_real_status(web_only: Installation, run: Any, method: str, query: str, status: int) -> None:
    response = httpx.request(method, f"{web_only.web.url}/api/runs/{run['id']}/events{query}")
    assert response.status_code == status
    assert method == "HEAD" or set(response.json()) == {"detail"}


def test_a_run_that_does_not_exist_is_a_404_that_names_it(web_only: Installation) -> None:
    response = web_only.web.http.get("/api/runs/run-000000000000/events")
    assert (response.status_code, response.json()) == (404, {"detail": "There is no run 'run-000000000000'."})


def test_a_trailing_slash_is_another_path(web_only: Installation, run: Any) -> None:
    response = httpx.get(f"{web_only.web.url}/api/runs/{run['id']}/events/")
    assert (response.status_code, response.json()) == (404, {"detail": "Not Found"})


def test_the_token_in_the_address_is_in_no_log(web_only: Installation, run: Any) -> None:
    httpx.post(f"{web_only.web.url}/api/runs/{run['id']}/events?token={TOKEN}")
    assert TOKEN not in web_only.web.process.output
