"""``python manage.py sync_traces``: indexes run directories that were put into storage by other means."""

import json
from argparse import ArgumentParser
from typing import Any

from tqdm import tqdm

from cascade_site.commands import DatabaseCommand
from traces.ingest import TraceExistsError, ingest_stored, unindexed_folders
from traces.models import TraceStatus


class Command(DatabaseCommand):
    help = "Index the run directories under traces/ in storage that are not known yet, and look again at failed ones."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="print what was found as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        found = []
        for name in tqdm(unindexed_folders(), unit="trace", disable=options["json"] or None, leave=False):
            try:
                trace = ingest_stored(name)
            except TraceExistsError:
                continue  # somebody else took it meanwhile
            found.append({"id": trace.id, "status": trace.status, "detail": trace.detail})
        if options["json"]:
            self.stdout.write(json.dumps(found, indent=2))
            return
        ready = [row["id"] for row in found if row["status"] == TraceStatus.READY]
        self.stdout.write(f"{len(ready)} traces indexed, {len(found) - len(ready)} failed")
        for row in found:
            self.stdout.write(f"  {row['id']}: {row['detail'] or row['status']}")
