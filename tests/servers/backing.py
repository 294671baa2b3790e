"""PostgreSQL, Redis and an S3 server (moto's) as the production set-up has them, empty and for one test session.

Each ``…_server`` is a context manager that yields the address; :class:`MissingError` where the program is not
installed.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import boto3

from tests.servers.processes import PYTHON, Process, answers, free_port


class MissingError(Exception):
    """A server program that is not on this machine."""


def _postgres_binary(name: str) -> str:
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: float(path.parent.name), reverse=True)
    found = shutil.which(name, path=os.pathsep.join([*map(str, folders), os.environ.get("PATH", "")]))
    if found is None:
        raise MissingError(f"PostgreSQL's {name} is not installed")
    return found


@contextmanager
def postgres_server() -> Iterator[str]:
    """A PostgreSQL server; yields its ``DATABASE_URL``."""
    initdb, postgres = _postgres_binary("initdb"), _postgres_binary("postgres")
    # PostgreSQL refuses to run as root, and its own user cannot enter pytest's folders.
    user = "postgres" if os.getuid() == 0 else None
    folder = Path(tempfile.mkdtemp(prefix="cascade-postgres-"))
    try:
        if user is not None:
            shutil.chown(folder, user, user)
        data, port = folder / "data", free_port()
        subprocess.run(
            [initdb, "-D", str(data), "-U", "cascade", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"],
            check=True,
            capture_output=True,
            cwd=folder,
            user=user,
            group=user,
        )
        argv = [postgres, "-D", str(data), "-h", "127.0.0.1", "-p", str(port), "-k", str(folder), "-F"]
        server = Process("postgres", argv, folder, user=user)
        try:
            server.wait_ready(lambda: "ready to accept connections" in server.output)
            yield f"postgres://cascade@127.0.0.1:{port}/postgres"
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def start_redis(folder: Path, port: int) -> Process:
    """Start a Redis server that keeps nothing on disk, and wait until it answers."""
    binary = shutil.which("redis-server")
    if binary is None:
        raise MissingError("redis-server is not installed")
    argv = [binary, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)]
    server = Process("redis", argv, folder)
    server.wait_ready(lambda: answers(port))
    return server


@contextmanager
def redis_server(folder: Path) -> Iterator[str]:
    """A Redis server; yields its ``REDIS_URL``."""
    port = free_port()
    server = start_redis(folder, port)
    try:
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        server.stop()


@contextmanager
def s3_server(folder: Path) -> Iterator[dict[str, str]]:
    """An S3 endpoint with one bucket; yields the environment that points Cascade to it."""
    port = free_port()
    server = Process("s3", [PYTHON, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)], folder)
    env = {
        "CASCADE_S3_ENDPOINT": f"http://127.0.0.1:{port}",
        "CASCADE_S3_BUCKET": "cascade",
        "CASCADE_S3_PREFIX": "team/one",
        "AWS_ACCESS_KEY_ID": "test-access",
        "AWS_SECRET_ACCESS_KEY": "test-secret",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    try:
        server.wait_ready(lambda: answers(port))
        s3_client(env).create_bucket(Bucket=env["CASCADE_S3_BUCKET"])
        yield env
    finally:
        server.stop()


def s3_client(env: dict[str, str]) -> Any:
    """A client for the endpoint that an environment names."""
    return boto3.client(
        "s3",
        endpoint_url=env["CASCADE_S3_ENDPOINT"],
        aws_access_key_id=env["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=env["AWS_SECRET_ACCESS_KEY"],
        region_name=env["AWS_DEFAULT_REGION"],
    )
