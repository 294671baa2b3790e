"""A client with the token, and the things that most routes need: a trace, a run of it, its sim."""

import json
import warnings
from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings
from django.test import Client

from runs.launch import LaunchRequest, launch
from runs.models import Run
from sims.models import Sim
from traces.models import Trace, TraceKernel, TraceStatus


@pytest.fixture(autouse=True)
def _database(db: None, settings: Any) -> None:
    """Every route but health reads the database."""
    settings.CASCADE_REPLAY_LOG = __file__  # any file: nothing is replayed here


@pytest.fixture
def api() -> Client:
    return Client(headers={"Authorization": f"Bearer {settings.CASCADE_TOKEN}"})


@pytest.fixture
def stranger() -> Client:
    return Client()


@pytest.fixture
def trace() -> Trace:
    return make_trace("babelstream", kernels=3)


@pytest.fixture
def run(trace: Trace) -> Run:
    return launch(trace, LaunchRequest(["SM86_RTX3070", "SM7_QV100"], simulator="replay"))


@pytest.fixture
def sim(run: Run) -> Sim:
    return run.sims.order_by("position")[0]


@pytest.fixture
def post(api: Client) -> Callable[..., Any]:
    """Posts JSON with the token."""
    return lambda path, body, **headers: api.post(path, body, content_type="application/json", headers=headers)


def make_trace(name: str, kernels: int, status: str = TraceStatus.READY, real_ns: int | None = 1000) -> Trace:
    trace = Trace.objects.create(pk=name, status=status, metadata={"workload": name}, kernels_total=kernels)
    trace.replace_kernels(
        [
            TraceKernel(
                trace=trace,
                index=index,
                name=f"kernel_{index}",
                trace_file=f"kernel-{index}.traceg",
                grid=[index, 1, 1],
                block=[32, 1, 1],
                real_ns=real_ns,
            )
            for index in range(1, kernels + 1)
        ]
    )
    return trace


def body_of(response: Any) -> bytes:
    """A response's bytes, streamed or not. (The test client is no async server, and Django says so.)"""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return b"".join(response) if response.streaming else response.content


def json_of(response: Any) -> Any:
    """A response's JSON, streamed or not."""
    return json.loads(body_of(response))
