"""``manage.py up``: the whole app on this machine, until Ctrl-C."""

import contextlib
import os
import signal
import socket
import sys
import time
from argparse import ArgumentParser
from collections.abc import Iterator
from types import FrameType
from typing import Any

import httpx
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError

from cascade_site.auth import sign_in_code
from cascade_site.launcher import Launcher, web, worker
from cascade_site.operators import has_operator, make_operator
from runs import watching
from traces.sample import SAMPLE_LOG

START_S = 60
TEND_S = 0.5


class Command(BaseCommand):
    help = "Migrates, starts the web server and a worker, and keeps them running until Ctrl-C."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", default="127.0.0.1", help="the address to listen on (default: %(default)s)")
        parser.add_argument("--port", type=int, default=8000, help="the port (default: %(default)s)")
        parser.add_argument("--no-worker", action="store_true", help="start the web server alone")
        parser.add_argument("--sample", action="store_true", help="ingest the sample trace and launch a run of it")
        parser.add_argument(
            "--operator",
            metavar="NAME",
            default=os.environ.get("DJANGO_SUPERUSER_USERNAME", ""),
            help="make this operator account for the admin, unless it is there; its password is DJANGO_SUPERUSER_PASSWORD, "
            "or generated and printed once (default: DJANGO_SUPERUSER_USERNAME)",
        )
        parser.add_argument("--no-input", action="store_true", help="do not ask for a first operator account")

    def handle(
        self, *, host: str, port: int, no_worker: bool, sample: bool, operator: str, no_input: bool, **options: Any
    ) -> None:
        if sample and no_worker:
            raise CommandError("--sample needs a worker: leave out --no-worker.")
        refuse_taken_port(host, port)
        settings.STATIC_ROOT.mkdir(parents=True, exist_ok=True)
        call_command("migrate", verbosity=0, interactive=False)
        url = os.environ.get("CASCADE_URL") or f"http://{_reachable(host)}:{port}"
        services = [web(host, port)] + ([] if no_worker else [worker()])
        launcher = Launcher(services, self._environment(url, sample), self.stderr.write)
        with ended_by_signals():
            try:
                if operator:
                    self._make_operator(operator)
                elif not (no_input or has_operator()):
                    self._offer_operator()
                launcher.start()
                self._wait_until_it_answers(launcher, host, port)
                self._greet(url)
                if sample:
                    self._show_sample(launcher, url)
                while True:
                    launcher.tend()
                    time.sleep(TEND_S)
            except KeyboardInterrupt:
                self.stdout.write("Stopping.")
            finally:
                launcher.stop()

    def _make_operator(self, name: str) -> None:
        given = os.environ.get("DJANGO_SUPERUSER_PASSWORD", "")
        password = make_operator(name, given, os.environ.get("DJANGO_SUPERUSER_EMAIL", ""))
        if password and not given:
            self.stdout.write(f"operator: {name}, password: {password} (shown this once)")

    def _offer_operator(self) -> None:
        """Ask the person at the terminal, where there is one, before the servers' output comes in between."""
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            return
        self.stdout.write("The admin has no operator account yet. Make one now? [y/N] ", ending="")
        self.stdout.flush()
        if sys.stdin.readline().strip().lower() in ("y", "yes"):
            call_command("createsuperuser", email=os.environ.get("DJANGO_SUPERUSER_EMAIL", ""))

    def _environment(self, url: str, sample: bool) -> dict[str, str]:
        environment = os.environ | {"CASCADE_URL": url}
        if sample and not settings.CASCADE_REPLAY_LOG:
            # So that the sample has a simulator even where no other can run.
            settings.CASCADE_REPLAY_LOG = environment["CASCADE_REPLAY_LOG"] = str(SAMPLE_LOG)
        return environment

    def _wait_until_it_answers(self, launcher: Launcher, host: str, port: int) -> None:
        """By the address it was told to listen on; CASCADE_URL may be that of a proxy which is not up yet."""
        deadline = time.monotonic() + START_S
        with httpx.Client(trust_env=False, timeout=2) as client:
            while time.monotonic() < deadline:
                launcher.tend()
                with contextlib.suppress(httpx.TransportError):
                    if client.get(f"http://{_reachable(host)}:{port}/api/health").is_success:
                        return
                time.sleep(0.1)
        raise CommandError(f"The web server did not answer within {START_S} s; the lines above say why.")

    def _greet(self, url: str) -> None:
        self.stdout.write(f"app:   {url}")
        if not settings.CASCADE_NO_AUTH:
            self.stdout.write(f"sign in: {url}/sign-in?code={sign_in_code()}")
        how = "" if has_operator() else " (no operator yet: start with --operator NAME)"
        self.stdout.write(f"admin: {url}/admin/{how}")
        self.stdout.flush()

    def _show_sample(self, launcher: Launcher, url: str) -> None:
        from runs.samples import launch_sample

        run = launch_sample()
        if any(sim.simulator == "builtin" for sim in run.sims.all()):
            self.stdout.write("The simulator compiles itself before its very first kernel, which takes about a minute.")
        run = watching.watch(run, on_look=launcher.tend)
        for line in watching.describe_end(run):
            self.stdout.write(line)
        self.stdout.write(f"\n{watching.comparison_table(run)}\n\nrun:   {url}/runs/{run.id}\nCtrl-C ends the app.")
        self.stdout.flush()


def _reachable(host: str) -> str:
    return "127.0.0.1" if host in ("0.0.0.0", "::", "") else f"[{host}]" if ":" in host else host  # noqa: S104


def refuse_taken_port(host: str, port: int) -> None:
    """One clear line instead of a web server that dies over and over. Raises ``CommandError``."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise CommandError(f"Cannot listen on {host}:{port} ({reason}); choose another with --port.") from None


@contextlib.contextmanager
def ended_by_signals() -> Iterator[None]:
    """Inside, SIGTERM and SIGHUP do what Ctrl-C does."""

    def interrupt(signum: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    previous = {signum: signal.signal(signum, interrupt) for signum in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for signum, handler in previous.items():
            signal.signal(signum, handler)
