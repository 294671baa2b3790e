"""What Prometheus reads of a web process that is at work."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.live.conftest import Installation
from tests.servers import flow
from tests.servers.cascade import BEARER
from tests.servers.processes import wait_until


@pytest.fixture
def run(web_only: Installation) -> dict[str, Any]:
    """A queued run."""
    return flow.launch(web_only.web.http, web_only.trace_id)


def read(web_only: Installation, sample_name: str, **labels: str) -> float:
    """The sum of a figure's samples."""
    families = text_string_to_metric_families(httpx.get(f"{web_only.web.url}/metrics").text)
    found = (sample for family in families for sample in family.samples if sample.name == sample_name)
    return sum(sample.value for sample in found if labels.items() <= sample.labels.items())


@contextmanager
def open_stream(web_only: Installation, run_id: str) -> Iterator[None]:
    """An event stream that has begun and does not end by itself."""
    with httpx.stream("GET", f"{web_only.web.url}/api/runs/{run_id}/events", headers=BEARER) as response:
        lines = response.iter_lines()  # kept: an iterator that is thrown away closes the connection
        next(lines)
        yield


def test_open_streams_are_counted_while_they_are_open(web_only: Installation, run: dict[str, Any]) -> None:
    with ExitStack() as stack:
        for _ in range(3):
            stack.enter_context(open_stream(web_only, run["id"]))
        assert read(web_only, "cascade_streams_open") == 3
    wait_until(lambda: read(web_only, "cascade_streams_open") == 0, "the streams are closed")


def test_every_request_is_timed(web_only: Installation, run: dict[str, Any]) -> None:
    route = {"route": "api/runs/<str:run_id>", "method": "GET", "status": "200"}
    before = read(web_only, "cascade_request_seconds_count", **route)
    took_before = read(web_only, "cascade_request_seconds_sum", **route)
    threads = [threading.Thread(target=flow.run_of, args=(web_only.web.http, run["id"])) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert read(web_only, "cascade_request_seconds_count", **route) == before + 20
    assert 0 < read(web_only, "cascade_request_seconds_sum", **route) - took_before < 20
