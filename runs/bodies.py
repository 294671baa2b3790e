"""The large bodies of ended runs, kept as files: what has ended changes no more, and 40,000 kernels take a second to write.

A body's file is named by everything it depends on, so that a stale one is never found; the oldest go when there are many.
Nothing relies on a file being there.
"""

import hashlib
import json
import logging
import os
import secrets
from collections.abc import Callable, Generator
from contextlib import closing, suppress
from pathlib import Path
from typing import IO

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from cascade_site.streaming import ranged_file, streamed
from runs.models import Run

logger = logging.getLogger(__name__)

FORMAT = 3
"""Part of every name: raise it when a body changes its shape."""
MOST_FILES = 200

Make = Callable[[Run], Generator[bytes, None, None]]


def answer(request: HttpRequest, run: Run, name: str, make: Make) -> HttpResponseBase:
    """A JSON body of a run: from its file, or made now and, if the run has ended, kept for the next time.

    :param name: which body, with whatever parameters it depends on
    """
    if run.finished_at is None:
        return streamed(request, make(run))
    path = _folder() / _fingerprint(run, name)
    if path.exists():
        with suppress(FileNotFoundError):  # the oldest may go at any moment
            return ranged_file(request, path, "application/json")
    return streamed(request, make(run) if request.method == "HEAD" else _kept(path, make(run)))


def whole(run: Run, name: str, make: Make) -> bytes:
    """As :func:`answer`, for a body that is small enough to be held and is wanted by this process itself."""
    if run.finished_at is None:
        return b"".join(make(run))
    path = _folder() / _fingerprint(run, name)
    with suppress(FileNotFoundError):
        return path.read_bytes()
    return b"".join(_kept(path, make(run)))


def _folder() -> Path:
    return Path(settings.CASCADE_DATA) / "cache" / "bodies"


def _fingerprint(run: Run, name: str) -> str:
    """A digest of what the body depends on: the sims as they ended, and the trace's times as they were last set."""
    sims = [sim.state_of_results for sim in run.sims.all()]
    return hashlib.sha256(json.dumps([FORMAT, run.id, name, sims, run.trace.state_of_times]).encode()).hexdigest()


def _kept(path: Path, body: Generator[bytes, None, None]) -> Generator[bytes, None, None]:
    """The body's pieces as they pass; its file appears once they have all passed. A full disk only costs the file."""
    draft = path.with_name(f".{secrets.token_hex(8)}")
    with closing(body):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            file = draft.open("wb")
        except OSError as error:
            logger.warning("Bodies cannot be kept in %s: %s", path.parent, error)
            yield from body
            return
        try:
            whole = True
            for piece in body:
                whole = whole and _written(file, piece)
                yield piece
            file.close()
            if whole:
                os.replace(draft, path)
        finally:
            file.close()
            draft.unlink(missing_ok=True)
    _prune(path.parent)


def _written(file: IO[bytes], piece: bytes) -> bool:
    try:
        file.write(piece)
    except OSError:
        return False
    return True


def _prune(folder: Path) -> None:
    with suppress(OSError):
        files = sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime)
        for path in files[: max(len(files) - MOST_FILES, 0)]:
            path.unlink(missing_ok=True)
