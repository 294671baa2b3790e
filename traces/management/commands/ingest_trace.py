"""``python manage.py ingest_trace PATH``: takes a trace from this machine."""

import json
from argparse import ArgumentParser
from contextlib import closing
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError
from tqdm import tqdm

from cascade_site.commands import DatabaseCommand
from cascade_site.serializing import to_json
from traces.ingest import IngestError, TraceExistsError, Wishes, ingest_archive, ingest_folder
from traces.models import Trace
from traces.rundir import is_list_name
from traces.serializers import TraceSerializer
from traces.times import TimesError, TimesReport, read_times


class Command(DatabaseCommand):
    help = "Ingest a run directory or a bare Accel-Sim trace: a folder, or a .tar, .tar.gz, .tar.xz, .tar.zst or .zip."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("path", metavar="PATH", type=Path, help="the folder, its kernelslist.g, or an archive")
        parser.add_argument("--name", help="the trace's id; without it the run's own name, else the folder's")
        parser.add_argument("--times", metavar="FILE", type=Path, help="real kernel times, from any profiler we read")
        parser.add_argument("--replace", action="store_true", help="replace a trace of the same name")
        parser.add_argument("--in-place", action="store_true", help="read the folder where it is, copying nothing")
        parser.add_argument("--json", action="store_true", help="print the trace as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = options["path"]
        try:
            times = _read_times(options["times"])
            with closing(_Bar(quiet=options["json"] or options["verbosity"] == 0)) as bar:
                wishes = Wishes(
                    name=options["name"],
                    times=times,
                    times_name=options["times"].name if times else "",
                    replace=options["replace"],
                    on_progress=bar.update,
                )
                trace = _ingest(path, wishes, in_place=options["in_place"])
        except TraceExistsError as error:
            raise CommandError(f"{error} (--name NAME, or --replace)") from error
        except (IngestError, TimesError) as error:
            raise CommandError(str(error)) from error
        except OSError as error:
            raise CommandError(f"{error.filename or path}: {error.strerror or error}") from error
        self._report(trace, as_json=options["json"])

    def _report(self, trace: Trace, as_json: bool) -> None:
        if as_json:
            self.stdout.write(json.dumps(json.loads(to_json(TraceSerializer(trace).data)), indent=2))
            return
        with_times = trace.kernels.filter(real_ns__isnull=False).count()
        kernels = "1 kernel" if trace.kernels_total == 1 else f"{trace.kernels_total} kernels"
        self.stdout.write(f"{trace.id}: {kernels}, {with_times} with real times")
        for warning in trace.warnings:
            self.stderr.write(f"warning: {warning}")


def _read_times(path: Path | None) -> TimesReport | None:
    return read_times(path) if path else None


def _ingest(path: Path, wishes: Wishes, in_place: bool) -> Trace:
    if path.is_file() and is_list_name(path.name):
        path = path.parent
    if path.is_dir():
        return ingest_folder(path, wishes, in_place=in_place)
    if in_place:
        raise IngestError(f"{path}: only a folder can be read in place.")
    with path.open("rb") as stream:
        return ingest_archive(stream, path.name, wishes)


class _Bar:
    """A progress bar that appears with the first byte, on a terminal."""

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        self._bar: tqdm[Any] | None = None

    def update(self, done: int, total: int) -> None:
        if self._quiet:
            return
        if self._bar is None:
            self._bar = tqdm(total=total, unit="B", unit_scale=True, desc="storing", leave=False, disable=None)
        self._bar.update(done - self._bar.n)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
