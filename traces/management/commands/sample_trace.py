"""``python manage.py sample_trace OUT``: writes the sample trace."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from traces.sample import write_sample


class Command(BaseCommand):
    help = "Write the sample trace (BabelStream, six kernels, made by Cascade's own generator) as a run directory."
    requires_system_checks: list[str] = []  # it needs no database and no settings of the service

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("out", metavar="OUT", type=Path, help="a new or empty folder")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            write_sample(options["out"])
        except OSError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(
            f"{options['out']}: the sample trace; take it in with: python manage.py ingest_trace {options['out']}"
        )
