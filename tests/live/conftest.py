"""Whole installations for the tests of this folder, started once."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.servers import flow
from tests.servers.backing import MissingError, postgres_server, redis_server, s3_server
from tests.servers.cascade import Cascade, Web
from tests.servers.processes import Process
from traces.sample import SAMPLE_LOG

REPLAY = {"CASCADE_REPLAY_LOG": str(SAMPLE_LOG)}
QUICK = {"CASCADE_HEARTBEAT_S": "1", "CASCADE_LEASE_S": "6"}


@dataclass
class Installation:
    """A running Cascade."""

    cascade: Cascade
    webs: list[Web]
    workers: list[Process]
    trace_id: str

    @property
    def web(self) -> Web:
        return self.webs[0]


def start(stack: ExitStack, folder: Path, env: dict[str, str], webs: int, workers: int) -> Installation:
    cascade = stack.enter_context(Cascade(folder, {**REPLAY, **QUICK, **env}))
    started = [cascade.start_web() for _ in range(webs)]
    trace: dict[str, Any] = flow.upload_trace(started[0].http, "sample")
    return Installation(cascade, started, [cascade.start_worker() for _ in range(workers)], trace["id"])


@pytest.fixture(scope="session")
def web_only(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """The embedded defaults without a worker: runs stay queued, and the test plays the simulator."""
    with ExitStack() as stack:
        yield start(stack, tmp_path_factory.mktemp("web-only"), {}, webs=1, workers=0)


@pytest.fixture(scope="session")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """One machine, no servers: SQLite, files, a folder as the broker."""
    with ExitStack() as stack:
        yield start(stack, tmp_path_factory.mktemp("embedded"), {}, webs=1, workers=1)


@pytest.fixture(scope="session")
def production_env(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """PostgreSQL, Redis and S3."""
    folder = tmp_path_factory.mktemp("servers")
    with ExitStack() as stack:
        try:
            database = stack.enter_context(postgres_server())
            redis = stack.enter_context(redis_server(folder))
        except MissingError as missing:
            pytest.skip(str(missing))
        yield {"DATABASE_URL": database, "REDIS_URL": redis, **stack.enter_context(s3_server(folder))}


@pytest.fixture(scope="session")
def production(tmp_path_factory: pytest.TempPathFactory, production_env: dict[str, str]) -> Iterator[Installation]:
    """Two web processes and two workers around PostgreSQL, Redis and S3."""
    with ExitStack() as stack:
        yield start(stack, tmp_path_factory.mktemp("production"), production_env, webs=2, workers=2)
