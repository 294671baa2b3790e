"""Redis dies while tasks run, and comes back: nobody has to start anything again."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.faults.conftest import END, Faulty, a_whole_trace, install
from tests.servers.backing import MissingError, start_redis
from tests.servers.processes import Process, free_port, wait_until


@dataclass
class Redis:
    """A Redis server that dies and comes back on its port, with nothing in it."""

    folder: Path
    port: int
    process: Process

    def kill(self) -> None:
        self.process.kill()

    def start(self) -> None:
        self.process = start_redis(self.folder, self.port)


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[Redis]:
    port = free_port()
    try:
        redis = Redis(tmp_path, port, start_redis(tmp_path, port))
    except MissingError as missing:
        pytest.skip(str(missing))
    yield redis
    redis.process.stop()


@pytest.fixture
def faulty(tmp_path: Path, redis: Redis) -> Iterator[Faulty]:
    """A web server before that Redis; tests start the workers."""
    with install(tmp_path, {"REDIS_URL": f"redis://127.0.0.1:{redis.port}/0"}) as cascade:
        cascade.manage("ingest_trace", str(a_whole_trace(tmp_path)), "--name", "a-trace")
        yield Faulty(tmp_path, cascade, cascade.start_web())


def say_when_told(faulty: Faulty) -> None:
    """A simulator that works until the file ``go`` is there."""
    go = faulty.folder / "go"
    go.unlink(missing_ok=True)
    faulty.simulator_does(f"echo working; until [ -e {go} ]; do sleep 0.1; done; {END}")


def wait_for_word(worker: Process, since: int, *words: str) -> None:
    """Until the worker has said one of these after the first ``since`` characters of its output."""
    said = f"{worker.name} says {' or '.join(words)}"
    wait_until(lambda: any(word in worker.output[since:] for word in words), said, timeout_s=60, every_s=0.1)


@pytest.mark.parametrize("ends", ["while Redis is away", "after Redis is back"])
def test_a_worker_outlives_redis_and_takes_the_next_sim(faulty: Faulty, redis: Redis, ends: str) -> None:
    worker = faulty.cascade.start_worker()
    say_when_told(faulty)
    sim = faulty.launch()
    faulty.wait_until_it_works(sim)
    for outage in range(3):
        # Which of its connections a worker misses first is chance: three times find what one may not.
        said = len(worker.output)
        redis.kill()
        wait_for_word(worker, said, "Connection to broker lost", "Cannot connect to redis")
        if ends == "while Redis is away" and outage == 2:
            (faulty.folder / "go").touch()
            faulty.wait_for_end(sim)
        said = len(worker.output)
        redis.start()
        wait_for_word(worker, said, "mingle: all alone")
    (faulty.folder / "go").touch()
    assert faulty.wait_for_end(sim)["attempt"] == 1
    assert worker.is_running
    assert faulty.wait_for_end(faulty.launch())["attempt"] == 1
    assert "Unrecoverable error" not in worker.output
