"""``manage.py launch_run TRACE CONFIG...``: launches a run, and with ``--wait`` shows how it goes."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError
from django.core.serializers.json import DjangoJSONEncoder

from cascade_site.commands import DatabaseCommand
from runs import watching
from runs.launch import LaunchError, LaunchRequest, TraceNotReadyError, launch
from runs.models import Run, RunStatus
from runs.reading import comparison_of
from runs.serializers import RunSerializer
from sims.gpus import OverrideError, parse_override, values_of_text
from sims.simulators.registry import AUTO, NAMES
from traces.models import Trace


class Command(DatabaseCommand):
    help = "Launches a run of a trace on one or more GPU configs."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("trace", help="the trace's id")
        parser.add_argument("configs", nargs="+", metavar="config", help="a GPU config's id")
        parser.add_argument("--simulator", default=AUTO, choices=[AUTO, *NAMES])
        parser.add_argument("--kernels", default="", metavar="R", help="which kernels, for example 1-20,25")
        parser.add_argument("--name", help="a name for the run")
        parser.add_argument(
            "--set",
            action="append",
            default=[],
            metavar="K=V",
            help="change a config value, for example l2_bytes=8388608",
        )
        parser.add_argument(
            "--sweep",
            action="append",
            default=[],
            metavar="K=V1,V2",
            help="try several values of a config value; FIRST:LAST:STEP is a range",
        )
        parser.add_argument(
            "--option",
            action="append",
            default=[],
            metavar="K=V",
            help="a switch of the simulator, for example exact=true",
        )
        parser.add_argument(
            "--wait", action="store_true", help="wait for the end and print a table; fails if a sim did"
        )
        parser.add_argument("--json", action="store_true", help="print JSON: the run; with --wait also its comparison")

    def handle(self, *, trace: str, wait: bool, json: bool, **options: Any) -> None:
        found = Trace.objects.filter(pk=trace).first()
        if found is None:
            raise CommandError(f"There is no trace '{trace}'; ingest it with ingest_trace first.")
        try:
            run = launch(found, request_from(options))
        except LaunchError as error:
            option = error.field.removeprefix("options.")
            raise CommandError(f"{option} {error}" if option != error.field else str(error)) from None
        except (TraceNotReadyError, OverrideError, ValueError) as error:
            raise CommandError(str(error)) from None
        if not wait:
            self._print(run, json)
            return
        try:
            run = watching.watch(run, show=not json)
        except KeyboardInterrupt:
            raise CommandError(f"{run.id} goes on; it was only this command that ended.") from None
        self._print(run, json, ended=True)
        if run.status != RunStatus.FINISHED:
            raise CommandError(f"{run.id} {run.status}.")

    def _print(self, run: Run, as_json: bool, ended: bool = False) -> None:
        if as_json:
            body: dict[str, Any] = {"run": RunSerializer(run).data}
            if ended:
                body["comparison"] = comparison_of(run)
            self.stdout.write(json.dumps(body, cls=DjangoJSONEncoder, indent=2))
        elif ended:
            self.stdout.write("\n".join([*watching.describe_end(run), watching.comparison_table(run), run.id]))
        else:
            count = len(run.sims.all())
            self.stdout.write(f"{run.id}: {count} {'sim is' if count == 1 else 'sims are'} queued.")


def request_from(options: dict[str, Any]) -> LaunchRequest:
    """What the command line asks for. Raises ``ValueError`` with a sentence."""
    return LaunchRequest(
        gpu_configs=list(dict.fromkeys(options["configs"])),
        simulator=options["simulator"],
        name=options["name"],
        kernels=options["kernels"],
        overrides=dict(parse_override(text) for text in options["set"]),
        sweep=dict(_sweep(text) for text in options["sweep"]),
        options=dict(_option(text) for text in options["option"]),
    )


def _sweep(text: str) -> tuple[str, list[Any]]:
    name, separator, values = text.partition("=")
    if not separator or not values:
        raise ValueError(f"'{text}' is no sweep: write for example l2_bytes=4M,8M or sms=20:80:20.")
    return name, [parse_override(f"{name}={value}")[1] for value in values_of_text(name, values)]


def _option(text: str) -> tuple[str, Any]:
    name, separator, value = text.partition("=")
    if not separator:
        raise ValueError(f"'{text}' is no option: write for example exact=true.")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value
