"""The web server process: ``python -m cascade_site.server -b 127.0.0.1 -p 8000``.

daphne with the HTTP of :mod:`cascade_site.http`: memory stays flat whatever is sent to it or read from it, no log line
holds a query string (``?token=``), and a stop lets responses end.
"""

import argparse
import asyncio
import logging
import os
import sys
import tempfile
from typing import Any

from daphne.server import Server as Daphne  # isort: skip  (First: it installs the reactor that the others find.)
from twisted.internet import defer
from twisted.internet import reactor as _reactor
from twisted.internet.error import CannotListenError
from twisted.logger import ILogObserver, globalLogBeginner
from zope.interface import provider  # type: ignore[import-untyped]

from cascade_site.http import Factory, Request, RequestBody

logger = logging.getLogger("cascade_site.server")
reactor: Any = _reactor

GRACE_S = 8.0
"""How long requests may go on after a stop was asked for."""
FLUSH_S = 0.1
BACKLOG = 512


class Server(Daphne):
    """daphne's handling of applications over our own HTTP. It serves no WebSockets."""

    def __init__(self, application: Any, host: str, port: int, access_log: bool = False) -> None:
        logs = log_request if access_log else None
        super().__init__(application, endpoints=[f"{host}:{port}"], action_logger=logs, server_name="")
        self.host, self.port = host.strip("[]"), port
        self.connections: dict[Request, dict[str, Any]] = {}
        self._listener: Any = None

    def run(self) -> None:
        """Serve until SIGTERM or SIGINT. Raises :class:`CannotListenError` where the port is not to be had."""
        globalLogBeginner.beginLoggingTo([_drop], redirectStandardIO=False, discardBuffer=True)
        self._listener = reactor.listenTCP(self.port, Factory(self), backlog=BACKLOG, interface=self.host)
        logger.info("Listening on %s:%s", self.host, self._listener.getHost().port)
        asyncio.set_event_loop(reactor._asyncioEventloop)
        reactor.callLater(1, self.application_checker)
        reactor.addSystemEventTrigger("before", "shutdown", self._stopped)
        reactor.run()

    def create_application(self, protocol: Request, scope: dict[str, Any]) -> RequestBody:
        """Start the application for a request; the body is handed out as it asks."""
        body = RequestBody(protocol.take_content())

        async def send(message: dict[str, Any]) -> None:
            await self.handle_reply(protocol, message)

        scope["asgi"] = {"version": "3.0"}
        instance = self.application(scope=scope, receive=body.receive, send=send)
        self.connections[protocol]["application_instance"] = asyncio.ensure_future(instance)
        return body

    async def handle_reply(self, protocol: Request, message: dict[str, Any]) -> None:
        """Pass on what the application sends, and let it go on when the client has room for more."""
        await super().handle_reply(protocol, message)
        await protocol.drained()

    def _stopped(self) -> "defer.Deferred[None]":
        return defer.Deferred.fromFuture(asyncio.ensure_future(self._wind_down()))

    async def _wind_down(self) -> None:
        """Take no new connection, end the streams (their clients resume elsewhere), let the other responses finish."""
        self._listener.stopListening()
        running = {
            details["application_instance"]: protocol
            for protocol, details in self.connections.items()
            if "application_instance" in details
        }
        for instance, protocol in running.items():
            if protocol.is_stream:
                instance.cancel()
        if running:
            _, late = await asyncio.wait(running, timeout=GRACE_S)
            for instance in late:
                instance.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        await asyncio.sleep(FLUSH_S)


@provider(ILogObserver)
def _drop(event: Any) -> None:
    """Twisted's own log repeats what is logged here already, addresses with their query strings among it."""


def log_request(_protocol: str, _action: str, details: dict[str, Any]) -> None:
    """One line per request; what follows the ``?`` may be a secret."""
    path = details["path"].partition("?")[0]
    milliseconds = details["time_taken"] * 1000
    logger.info("%s %s %s %s bytes %.0f ms", details["method"], path, details["status"], details["size"], milliseconds)


def main(arguments: list[str] | None = None) -> int:
    """Parse the command line and serve; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m cascade_site.server", description="Serve Cascade over HTTP.")
    parser.add_argument("-b", "--bind", default="127.0.0.1", metavar="HOST", help="the address to listen on")
    parser.add_argument(
        "-p",
        "--port",
        type=int,
        choices=range(65536),
        default=8000,
        metavar="PORT",
        help="the port; 0 for any free one",
    )
    parser.add_argument("--access-log", action="store_true", help="log a line per request, without its query string")
    options = parser.parse_args(arguments)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "cascade_site.settings")

    from django.conf import settings

    from cascade_site.asgi import application

    # Bodies are received where they are going to be kept: the system's own folder may be small, or memory.
    bodies = settings.CASCADE_DATA / "tmp"
    bodies.mkdir(exist_ok=True)
    tempfile.tempdir = str(bodies)
    try:
        Server(application, options.bind, options.port, options.access_log).run()
    except CannotListenError as problem:
        print(f"Cannot listen on {options.bind}:{options.port}: {problem.socketError.strerror}.", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
