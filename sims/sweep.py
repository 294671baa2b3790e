"""Removes what nobody points to: objects whose writer died before its commit, and folders of runners that are gone."""

import logging
import shutil
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

from django.conf import settings
from django.core.files.storage import default_storage
from django.utils import timezone

from sims.models import LogSegment, Sim, SimFile

logger = logging.getLogger(__name__)

OBJECT_AGE = timedelta(hours=6)
"""Younger objects may belong to an upload that is still to be committed."""
UNUSED_TRACE_S = 7 * 24 * 3600
ROOT = "sims"


def sweep() -> None:
    """One round over everything."""
    objects, folders = sweep_storage(), sweep_work_folders() + sweep_trace_cache()
    if objects or folders:
        logger.info("Swept %d objects and %d folders that nothing points to", len(objects), len(folders))


def sweep_storage(age: timedelta = OBJECT_AGE) -> list[str]:
    """Delete the objects of sims that are in no row and older than ``age``; their keys."""
    removed = []
    for sim_id in _folders(ROOT):
        known = set(SimFile.objects.filter(sim=sim_id).values_list("key", flat=True))
        known |= set(LogSegment.objects.filter(sim=sim_id).exclude(key="").values_list("key", flat=True))
        for key in _objects(f"{ROOT}/{sim_id}"):
            if key not in known and default_storage.get_modified_time(key) < timezone.now() - age:
                default_storage.delete(key)
                removed.append(key)
    return removed


def sweep_work_folders() -> list[Path]:
    """Delete the work folders of attempts that are over; a killed runner leaves one."""
    root = Path(settings.CASCADE_DATA) / "work"
    removed = []
    for folder in root.iterdir() if root.is_dir() else ():
        sim_id, _, attempt = folder.name.rpartition("-")
        if attempt.isdigit() and not Sim.everything.unfinished().filter(pk=sim_id, attempt=int(attempt)).exists():
            shutil.rmtree(folder, ignore_errors=True)
            removed.append(folder)
    return removed


def sweep_trace_cache(unused_s: float = UNUSED_TRACE_S) -> list[Path]:
    """Delete fetched traces that no runner has used for a week."""
    root = Path(settings.CASCADE_DATA) / "cache" / "traces"
    removed = []
    for folder in root.iterdir() if root.is_dir() else ():
        if time.time() - folder.stat().st_mtime > unused_s:
            shutil.rmtree(folder, ignore_errors=True)
            removed.append(folder)
    return removed


def _folders(path: str) -> list[str]:
    try:
        return list(default_storage.listdir(path)[0])
    except FileNotFoundError:
        return []


def _objects(path: str) -> Iterator[str]:
    folders, files = default_storage.listdir(path)
    yield from (f"{path}/{name}" for name in files)
    for folder in folders:
        yield from _objects(f"{path}/{folder}")
