"""``python manage.py simulate PATH --config C``: the built-in simulator alone, without service or database."""

import json
import os
import sys
import time
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from sims.engine.errors import Cancelled, EngineError
from sims.engine.front import Options, Simulation, SimulationError, kernels_in, read_plan
from sims.engine.front.options import L2_CHOICES
from sims.engine.front.report import KernelReport
from sims.engine.front.table import kernel_table, totals_of, totals_text
from sims.engine.front.terminal import TerminalBar
from sims.gpus import ConfigError, OverrideError, apply_overrides, load_shipped, parse_override, read_accelsim_config
from sims.gpus.spec import GpuSpec
from traces.accelsim import TraceError
from traces.selection import parse_selection

MOST_THREADS = 4
"""More have not been measured."""


class Command(BaseCommand):
    help = "Simulate a trace on one GPU with the built-in simulator."
    requires_system_checks: list[str] = []  # it needs no database and no settings of the service

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("path", metavar="PATH", type=Path, help="a trace: kernelslist.g or the folder it is in")
        parser.add_argument(
            "--config", required=True, metavar="C", help="a shipped config's id, or a folder with a gpgpusim.config"
        )
        parser.add_argument("--json", action="store_true", help="print the results as JSON")
        parser.add_argument("--exact", action="store_true", help="take no shortcut: simulate every instruction")
        parser.add_argument(
            "--set", action="append", default=[], metavar="NAME=VALUE", help="change a value of the config (repeatable)"
        )
        parser.add_argument(
            "--threads",
            type=int,
            default=min(MOST_THREADS, os.cpu_count() or 1),
            metavar="N",
            help=f"threads to use (default: one for each core, {MOST_THREADS} at most); the result is the same",
        )
        parser.add_argument(
            "--l2",
            choices=L2_CHOICES,
            default="chain",
            help="what a kernel finds in the L2: what earlier ones left (chain, the default), nothing, or its own data",
        )
        parser.add_argument(
            "--kernels", default="", metavar="R", help="kernels to simulate, such as 1-20,25 (default all)"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        started = time.monotonic()
        try:
            simulation = self._simulation(options)
        except (TraceError, ConfigError, OverrideError, EngineError, ValueError, OSError) as error:
            raise CommandError(str(error)) from error
        reports: list[KernelReport] = []
        failure: Exception | None = None
        with TerminalBar(sys.stderr) as bar:
            simulation.on_progress = bar.show
            for text in [*simulation.plan.warnings, *(f"not modelled: {item}" for item in simulation.unsupported)]:
                bar.note(f"warning: {text}")
            try:
                for report in simulation.kernels():
                    reports.append(report)
            except (SimulationError, EngineError) as error:
                failure = error
            except KeyboardInterrupt:
                failure = Cancelled(f"interrupted after {len(reports)} kernels")
        self._print(simulation, reports, time.monotonic() - started, as_json=options["json"])
        if failure is not None:
            raise CommandError(str(failure))

    def _simulation(self, options: dict[str, Any]) -> Simulation:
        overrides = dict(parse_override(text) for text in options["set"])
        spec = apply_overrides(config_named(options["config"]), overrides)
        path: Path = options["path"]
        selected = parse_selection(options["kernels"], kernels_in(path))
        plan = read_plan(path, selected)
        if not plan.launches:
            raise TraceError("the list has no kernel to simulate.", str(path))
        switches = Options(l2=options["l2"], threads=options["threads"])
        return Simulation(plan, spec, switches.exact() if options["exact"] else switches)

    def _print(self, simulation: Simulation, reports: list[KernelReport], seconds: float, *, as_json: bool) -> None:
        totals = totals_of(reports, simulation.spec)
        if as_json:
            kernels = [report.to_dict() for report in reports]
            result = {"config": simulation.spec.id, "kernels": kernels, "totals": totals, "seconds": round(seconds, 3)}
            self.stdout.write(json.dumps(result))
            return
        self.stdout.write(kernel_table(reports))
        self.stdout.write(totals_text(totals, reports, simulation.options, seconds))


def config_named(name: str) -> GpuSpec:
    """A shipped config by id, or the one in a folder. Raises ``ConfigError`` or ``ValueError`` with one sentence."""
    shipped = load_shipped()
    if name in shipped:
        return shipped[name]
    if Path(name).exists():
        return read_accelsim_config(Path(name)).spec
    raise ValueError(
        f"there is no config '{name}': name one of {', '.join(shipped)}, or a folder with a gpgpusim.config"
    )
