"""Brings a trace to this machine: nothing to do where storage is a folder; from object storage the files needed.

Fetched files stay in the cache folder for the next runner. Each is written under another name first and then renamed,
so that a file that is there is whole; a lock per file lets runners that start together share one download.
"""

import contextlib
import fcntl
import os
import shutil
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from sims.runner.assignment import TracePlace
from traces.accelsim import open_file, parse_kernelslist, stored_names

COPY_BLOCK_BYTES = 1024 * 1024


def trace_folder(place: TracePlace, kernel_indices: list[int]) -> Path:
    """The folder that holds the list and the chosen kernels' files.

    Raises ``ValueError``, ``TraceError`` or ``OSError``.
    """
    if place.folder is not None:
        folder = Path(place.folder)
        if not (folder / place.list_name).is_file():
            raise ValueError(f"The trace {place.id} has no {place.list_name} in {folder}: ingest it again.")
        return folder
    if place.prefix is None or place.cache_folder is None:
        raise ValueError(f"Nobody said where the trace {place.id} lies.")
    cache = Path(place.cache_folder)
    list_path = _fetch(place.prefix, place.list_name, cache)
    with open_file(list_path) as file:
        launches = parse_kernelslist(file.read(), place.list_name).kernels
    chosen = set(kernel_indices) or set(range(1, len(launches) + 1))
    beside = PurePosixPath(place.list_name).parent
    for name in dict.fromkeys(launch.file.name for number, launch in enumerate(launches, 1) if number in chosen):
        _fetch_kernel(place.prefix, beside, name, cache)
    # The cache is swept by when a trace was last used.
    os.utime(cache)
    return cache


def _fetch_kernel(prefix: str, beside: PurePosixPath, listed: str, cache: Path) -> None:
    """A listed kernel file, under the name it is stored by: it may have been compressed after the list was written."""
    for name in stored_names(listed):
        with contextlib.suppress(FileNotFoundError):
            _fetch(prefix, str(beside / name), cache)
            return
    raise FileNotFoundError(f"The trace has no {listed}: ingest it again.")


def _fetch(prefix: str, name: str, cache: Path) -> Path:
    target = cache / name
    if target.exists():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with _locked(target):
        if not target.exists():
            _download(f"{prefix}/{name}", target)
    return target


def _download(key: str, target: Path) -> None:
    # Only here are the settings needed, with their keys to the object storage.
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "cascade_site.settings")
    from django.core.files.storage import default_storage

    from cascade_site.storage import open_stream

    if not default_storage.exists(key):
        raise FileNotFoundError(f"Storage has no {key}: ingest the trace again.")
    draft = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        with contextlib.closing(open_stream(key)) as source, draft.open("wb") as file:
            shutil.copyfileobj(source, file, COPY_BLOCK_BYTES)
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)


@contextlib.contextmanager
def _locked(target: Path) -> Iterator[None]:
    """Only one process at a time; the lock goes with its holder, however that ends."""
    with target.with_name(f".{target.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
