"""What large bodies cost the web process, as a table: ``python -m tests.benchmarks.bodies [--megabytes 300]``."""

import argparse
import socket
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.servers import flow
from tests.servers.cascade import TOKEN, Cascade, Web
from traces.sample import SAMPLE_LOG

MB = 1_000_000


def resident_bytes(web: Web) -> int:
    status = Path(f"/proc/{web.process.pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


def pieces(size_bytes: int) -> Iterator[bytes]:
    """A body of unknown length."""
    for _ in range(size_bytes // MB):
        yield bytes(MB)


def measure(web: Web, name: str, act: Callable[[], object]) -> None:
    """Print how long an act took and how far it raised the process's highest memory use."""
    before, started = resident_bytes(web), time.monotonic()
    act()
    seconds, growth = time.monotonic() - started, resident_bytes(web) - before
    print(f"{name:44} {seconds:6.1f} s   +{growth / MB:5.1f} MB", flush=True)


def download_slowly(web: Web, path: str, seconds: float) -> None:
    """Ask for a file and read next to nothing of it."""
    with socket.create_connection(("127.0.0.1", int(web.url.rsplit(":", 1)[1]))) as client:
        client.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\n\r\n".encode())
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            client.recv(1000)
            time.sleep(0.1)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=300)
    size_bytes = parser.parse_args().megabytes * MB
    env = {"CASCADE_REPLAY_LOG": str(SAMPLE_LOG), "CASCADE_MAX_FILE_BYTES": str(size_bytes + MB)}
    with tempfile.TemporaryDirectory() as folder, Cascade(Path(folder), env) as cascade:
        web = cascade.start_web()
        run = flow.launch(web.http, flow.upload_trace(web.http, "sample")["id"])
        path = f"/api/sims/{run['sims'][0]['id']}/files/big.bin"
        web.http.put(path, content=bytes(MB))
        print(f"{size_bytes / MB:g} MB, web process at {resident_bytes(web) / MB:.0f} MB")
        measure(web, "PUT of announced length", lambda: web.http.put(path, content=bytes(size_bytes)))
        measure(web, "PUT of unknown length", lambda: web.http.put(path, content=pieces(size_bytes)))
        upload = {"file": ("trace.tar", bytes(size_bytes))}
        measure(web, "upload of a form (refused: no trace in it)", lambda: web.http.post("/api/traces", files=upload))
        measure(web, "PUT over the limit (refused)", lambda: web.http.put(path, content=bytes(size_bytes + 2 * MB)))
        measure(web, "download", lambda: web.http.get(path))
        measure(web, "download by a client that hardly reads", lambda: download_slowly(web, path, 5))


if __name__ == "__main__":
    main()
