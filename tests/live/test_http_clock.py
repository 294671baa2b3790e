"""The web server's clocks, without waiting for them: a connection on a clock that the test moves."""

from types import SimpleNamespace
from typing import Any

import pytest
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransportWithDisconnection

from cascade_site import http
from cascade_site.http import HEADERS_S, LINGER_S, Channel


class Connection:
    """A channel, what it has sent, and the clock it goes by."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.transport: Any = StringTransportWithDisconnection()
        self.channel = Channel()
        self.transport.protocol = self.channel  # type: ignore[assignment]
        server = SimpleNamespace(protocol_connected=lambda _: None, protocol_disconnected=lambda _: None)
        self.channel.factory = SimpleNamespace(server=server)
        self.channel.makeConnection(self.transport)

    def send(self, data: bytes) -> None:
        self.channel.dataReceived(data)

    @property
    def answer(self) -> bytes:
        sent: bytes = self.transport.value()
        return sent


@pytest.fixture
def connection(monkeypatch: pytest.MonkeyPatch) -> Connection:
    clock = Clock()
    monkeypatch.setattr(http, "reactor", clock)
    return Connection(clock)


def test_headers_that_trickle_in_get_408_when_their_time_is_up(connection: Connection) -> None:
    connection.send(b"GET /api/health HTTP/1.1\r\n")
    for _ in range(HEADERS_S):
        assert connection.answer == b""
        connection.send(b"X-More: 1\r\n")
        connection.clock.advance(1)
    assert connection.answer.startswith(b"HTTP/1.1 408 Request Timeout\r\n")


def test_complete_headers_stop_the_clock(connection: Connection) -> None:
    connection.send(b"PUT /api/sims/x/files/y HTTP/1.1\r\nContent-Length: 10\r\n\r\n12345")
    connection.clock.advance(HEADERS_S + 1)
    assert connection.answer == b""


def test_a_refused_connection_is_dropped_after_a_while(connection: Connection) -> None:
    connection.send(b"nonsense\r\n")
    assert connection.answer.startswith(b"HTTP/1.1 400 Bad Request\r\n")
    assert connection.transport.connected
    connection.clock.advance(LINGER_S)
    assert not connection.transport.connected


def test_what_a_refused_client_goes_on_to_send_is_ignored(connection: Connection) -> None:
    connection.send(b"nonsense\r\nGET /api/health HTTP/1.1\r\n\r\n")
    connection.send(b"nonsense\r\n" * 100)
    assert connection.answer.count(b"HTTP/1.1 ") == 1
