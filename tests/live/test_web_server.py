"""The web server process under bad clients: bodies too large, clients too slow, and a stop in the middle."""

import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.live.conftest import REPLAY, Installation
from tests.servers import flow
from tests.servers.cascade import BEARER, TOKEN, Cascade, Web
from tests.servers.processes import PROJECT, PYTHON, wait_until

MIB = 1024**2
FILE_LIMIT = 64 * MIB
JSON_LIMIT = 16 * MIB


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """An installation of its own: memory is measured here, and servers are stopped."""
    env = {**REPLAY, "CASCADE_MAX_FILE_BYTES": str(FILE_LIMIT)}
    with Cascade(tmp_path_factory.mktemp("web-server"), env) as cascade:
        web = cascade.start_web()
        yield Installation(cascade, [web], [], flow.upload_trace(web.http, "sample")["id"])


@pytest.fixture
def run(installation: Installation) -> dict[str, Any]:
    return flow.launch(installation.web.http, installation.trace_id)


@pytest.fixture
def file_path(run: dict[str, Any]) -> str:
    return f"/api/sims/{run['sims'][0]['id']}/files/out.bin"


def zeros(size: int) -> Iterator[bytes]:
    for _ in range(size // MIB):
        yield bytes(MIB)


def resident_bytes(web: Web) -> int:
    status = Path(f"/proc/{web.process.pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) * 1024


def connect(web: Web) -> socket.socket:
    return socket.create_connection(("127.0.0.1", int(web.url.rsplit(":", 1)[1])), timeout=20)


def send_and_read(web: Web, request: bytes) -> bytes:
    """Send raw bytes; what comes back until the server closes or says nothing more for a second."""
    with connect(web) as client:
        client.sendall(request)
        client.settimeout(1)
        received = b""
        try:
            while block := client.recv(65536):
                received += block
        except TimeoutError:
            pass
        return received


def test_a_body_over_the_limit_is_refused_before_it_is_sent(installation: Installation, file_path: str) -> None:
    head = f"PUT {file_path} HTTP/1.1\r\nHost: x\r\nContent-Length: {FILE_LIMIT + 1}\r\nExpect: 100-continue\r\n\r\n"
    answer = send_and_read(installation.web, head.encode())
    assert answer.startswith(b"HTTP/1.1 413 Content Too Large\r\n")
    assert str(FILE_LIMIT).encode() in answer.partition(b"\r\n\r\n")[2]


def test_a_client_that_sends_it_all_the_same_can_read_the_refusal(installation: Installation, file_path: str) -> None:
    response = installation.web.http.put(file_path, content=bytes(FILE_LIMIT + MIB))
    assert (response.status_code, set(response.json())) == (413, {"detail"})


def test_a_body_of_unknown_length_is_cut_off_at_the_limit(installation: Installation, file_path: str) -> None:
    response = installation.web.http.put(file_path, content=zeros(FILE_LIMIT * 2))
    assert response.status_code == 413


def test_a_json_route_takes_less_than_a_file_route(installation: Installation) -> None:
    response = installation.web.http.post("/api/runs", content=bytes(JSON_LIMIT + 1))
    assert response.status_code == 413


def test_a_body_at_the_limit_is_stored_whole(installation: Installation, file_path: str) -> None:
    stored = flow.answer(installation.web.http.put(file_path, content=zeros(FILE_LIMIT)), 201)
    assert stored["size_bytes"] == FILE_LIMIT


def test_large_bodies_do_not_grow_the_server(installation: Installation, file_path: str) -> None:
    web = installation.web
    web.http.put(file_path, content=zeros(4 * MIB))
    before = resident_bytes(web)
    for _ in range(3):
        web.http.put(file_path, content=zeros(FILE_LIMIT))
    assert resident_bytes(web) - before < FILE_LIMIT // 2


def test_a_client_that_does_not_read_its_download_does_not_grow_the_server(
    installation: Installation, file_path: str
) -> None:
    web = installation.web
    web.http.put(file_path, content=zeros(FILE_LIMIT))
    web.http.get(file_path)
    before = resident_bytes(web)
    request = f"GET {file_path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\n\r\n".encode()
    idle = [connect(web) for _ in range(4)]
    for client in idle:
        client.sendall(request)
    time.sleep(2)
    growth = resident_bytes(web) - before
    for client in idle:
        client.close()
    assert growth < FILE_LIMIT


def test_requests_one_after_the_other_share_a_thread(installation: Installation) -> None:
    def threads() -> int:
        status = Path(f"/proc/{installation.web.process.pid}/status").read_text()
        return int(status.split("Threads:")[1].split()[0])

    installation.web.http.get("/api/traces")
    before = threads()
    for _ in range(30):
        installation.web.http.get("/api/traces")
    assert threads() <= before


def test_a_client_that_goes_away_leaves_its_thread_to_others(installation: Installation, file_path: str) -> None:
    installation.web.http.put(file_path, content=zeros(FILE_LIMIT))
    for _ in range(40):
        with connect(installation.web) as client:
            client.sendall(f"GET {file_path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\n\r\n".encode())
            client.recv(1000)
    assert installation.web.http.get("/api/traces", timeout=10).status_code == 200


def test_clients_that_never_finish_their_headers_stop_nobody_else(installation: Installation) -> None:
    idle = [connect(installation.web) for _ in range(200)]
    for client in idle:
        client.sendall(b"GET /api/health HTTP/1.1\r\nX-Slow: ")
    response = installation.web.http.get("/api/health", timeout=5)
    for client in idle:
        client.close()
    assert response.status_code == 200


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"nonsense\r\n\r\n",
        b"GET /api/health HTTP/1.1\r\nno colon\r\n\r\n",
        b"GET /api/health HTTP/1.1\r\nContent-Length: ten\r\n\r\n",
        b"GET /api/health HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"PUT /api/health HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n",
        b"GET /\xff HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /?\xff HTTP/1.1\r\nHost: x\r\n\r\n",
    ],
    ids=["no request line", "header", "length", "two lengths", "chunk", "path", "query"],
)
def test_what_is_not_http_gets_400_in_the_form_of_every_error(installation: Installation, request_bytes: bytes) -> None:
    head, _, body = send_and_read(installation.web, request_bytes).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 Bad Request\r\n")
    assert body.startswith(b'{"detail": "')


def test_an_endless_header_is_refused(installation: Installation) -> None:
    answer = send_and_read(installation.web, b"GET /api/health HTTP/1.1\r\nX: " + b"y" * 70_000)
    assert answer.startswith(b"HTTP/1.1 431 Request Header Fields Too Large\r\n")


def test_two_requests_sent_at_once_are_answered_in_order(installation: Installation) -> None:
    request = b"GET /api/health HTTP/1.1\r\nHost: x\r\n\r\n"
    last = request.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    assert send_and_read(installation.web, request + last).count(b"HTTP/1.1 200 OK") == 2


def test_a_stop_ends_streams_cleanly_and_leaves_no_traceback(installation: Installation, run: dict[str, Any]) -> None:
    web = installation.cascade.start_web()
    with httpx.stream("GET", f"{web.url}/api/runs/{run['id']}/events", headers=BEARER, timeout=20) as response:
        chunks = response.iter_raw()
        assert next(chunks).startswith(b"id: 1\nevent: run\n")
        web.process.signal(signal.SIGTERM)
        assert b"".join(chunks) == b""
    wait_until(lambda: not web.process.is_running, "the end of the server", 15)
    assert web.process.stop() == 0
    assert "Traceback" not in web.process.output


def test_a_stop_lets_a_request_finish(installation: Installation, file_path: str) -> None:
    web = installation.cascade.start_web()
    installation.web.http.put(file_path, content=zeros(FILE_LIMIT))
    with httpx.stream("GET", web.url + file_path, headers=BEARER, timeout=20) as response:
        chunks = response.iter_raw()
        received = len(next(chunks))
        web.process.signal(signal.SIGTERM)
        received += sum(map(len, chunks))
    assert received == FILE_LIMIT
    assert web.process.stop() == 0


def test_a_taken_port_is_one_clear_line(installation: Installation) -> None:
    port = installation.web.url.rsplit(":", 1)[1]
    argv = [PYTHON, "-m", "cascade_site.server", "-p", port]
    done = subprocess.run(argv, cwd=PROJECT, env=installation.cascade.env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == f"Cannot listen on 127.0.0.1:{port}: Address already in use."


def test_the_access_log_shows_paths_without_their_queries(installation: Installation) -> None:
    cascade = installation.cascade
    web = cascade.start_web(access_log=True)
    httpx.get(f"{web.url}/api/traces?token={TOKEN}")
    assert "GET /api/traces 401" in web.process.output
    assert TOKEN not in web.process.output
