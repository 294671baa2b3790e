"""A trace comes in: a run directory or a bare Accel-Sim trace, as a folder, an archive, or a place in storage.

A trace is understood (from its list and headers alone) before the first byte of it is stored, so that what is refused
leaves nothing behind. Its row then says ``uploading`` while the files are copied, and ``ready`` or ``failed`` at the
end.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

from django.core.files.storage import default_storage
from django.db import IntegrityError, transaction

from cascade_site.fields import storable_text
from cascade_site.serializing import TRACE_ID
from cascade_site.storage import delete_tree, save_stream
from traces.accelsim import TraceError
from traces.archives import read_archive
from traces.files import seekable_copy
from traces.models import Trace, TraceKernel, TraceStatus
from traces.real_times import set_times
from traces.rundir import RunDirectory, read_run_directory
from traces.sources import FolderSource, Source, StorageSource
from traces.times import TimesError, TimesReport, read_times

STORAGE_FOLDER = "traces"
_ARCHIVE_SUFFIX = re.compile(r"(\.tar)?\.(tar|tgz|txz|tzst|gz|xz|zst|zip)$", re.IGNORECASE)

OnProgress = Callable[[int, int], None]
"""Hears bytes stored and bytes in all."""


class IngestError(ValueError):
    """A trace that cannot be taken: one sentence with what is wrong, where, and what to do."""


class TraceExistsError(IngestError):
    """There is a trace of that name, and it was not to be replaced."""


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the one who brings a trace may say about it."""

    name: str | None = None
    times: TimesReport | None = None
    times_name: str = ""
    replace: bool = False
    on_progress: OnProgress = lambda done, total: None


def ingest_folder(folder: Path, wishes: Wishes, *, in_place: bool = False) -> Trace:
    """Take a folder: copied into storage, or with ``in_place`` read where it is. Raises :class:`IngestError`."""
    with _clear_errors():
        found = read_run_directory(FolderSource(folder))
    trace_id = _trace_id(wishes.name, found, folder.resolve().name)
    root = folder / found.root

    def store(trace: Trace) -> None:
        if in_place:
            trace.folder = str(root.resolve())
            return
        done = 0
        for name, size_bytes in found.files.items():
            with (root / name).open("rb") as stream:
                save_stream(f"{trace.prefix}/{name}", stream)
            done += size_bytes
            wishes.on_progress(done, found.size_bytes)

    return _take(trace_id, found, wishes, store)


def ingest_archive(stream: BinaryIO, archive: str, wishes: Wishes) -> Trace:
    """Take an archive from a stream that can seek. Raises :class:`IngestError`.

    It is read twice: to understand it, then to store it. The decompression costs less than a clean-up that may fail.
    """
    with _clear_errors():
        found = read_run_directory(read_archive(stream, archive))
    trace_id = _trace_id(wishes.name, found, _ARCHIVE_SUFFIX.sub("", archive))

    def store(trace: Trace) -> None:
        stored = _Stored(trace, found, wishes.on_progress)
        stream.seek(0)
        read_archive(stream, archive, stored.take)

    stream.seek(0)
    return _take(trace_id, found, wishes, store)


def ingest_upload(upload: Any, name: str | None) -> Trace:
    """Take an uploaded archive (a Django ``UploadedFile``). Raises :class:`IngestError`."""
    return ingest_archive(cast(BinaryIO, upload.file), upload.name or "upload", Wishes(name=name))


def ingest_stored(folder_name: str) -> Trace:
    """Index a run directory that lies in storage under ``traces/``; one that is broken becomes a failed trace."""
    prefix = f"{STORAGE_FOLDER}/{folder_name}"
    trace = _claim(folder_name, replace=False)
    try:
        found = read_run_directory(cast(Source, StorageSource(default_storage, prefix)))
        trace.prefix = f"{prefix}/{found.root}".rstrip("/")
        _complete(trace, found, Wishes())
    except TraceError as error:
        trace.fail(str(error))
    return trace


def unindexed_folders() -> list[str]:
    """Names of the folders under ``traces/`` in storage that no working trace stands for."""
    try:
        folders, _ = default_storage.listdir(STORAGE_FOLDER)
    except FileNotFoundError:
        return []
    known = set(Trace.objects.exclude(status=TraceStatus.FAILED).values_list("id", flat=True))
    return sorted(name for name in folders if TRACE_ID.fullmatch(name) and name not in known)


@contextmanager
def _clear_errors() -> Iterator[None]:
    try:
        yield
    except TraceError as error:
        raise IngestError(str(error)) from error


class _Stored:
    """Takes an archive's members into storage, those of the run directory alone."""

    def __init__(self, trace: Trace, found: RunDirectory, on_progress: OnProgress) -> None:
        self._trace = trace
        self._found = found
        self._on_progress = on_progress
        self._done_bytes = 0

    def take(self, name: str, content: BinaryIO) -> None:
        root = self._found.root
        relative = name.removeprefix(f"{root}/") if root else name
        size_bytes = self._found.files.get(relative)
        if size_bytes is None or (root and relative == name):
            return
        save_stream(f"{self._trace.prefix}/{relative}", content)
        self._done_bytes += size_bytes
        self._on_progress(self._done_bytes, self._found.size_bytes)


def _trace_id(wanted: str | None, found: RunDirectory, fallback: str) -> str:
    """The trace's id: the name that was asked for, the run's own, or that of its folder or archive."""
    if wanted is not None:
        if not TRACE_ID.fullmatch(wanted):
            raise IngestError("A trace's name has 1 to 200 of A-Z a-z 0-9 . _ - and does not start with a dot.")
        return wanted
    own = found.metadata.get("name")
    text = own if isinstance(own, str) and own.strip() else fallback
    clean = re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-").lstrip(".")[:200]
    if not clean:
        raise IngestError("The trace has no name; give it one.")
    return clean


def _take(trace_id: str, found: RunDirectory, wishes: Wishes, store: Callable[[Trace], None]) -> Trace:
    trace = _claim(trace_id, wishes.replace)
    try:
        delete_tree(trace.prefix)  # what a failed or replaced trace of this name left there
        store(trace)
        _complete(trace, found, wishes)
    except BaseException as error:
        # Whatever it was, the row must not say "uploading" for ever.
        trace.fail(f"Its ingest ended before the trace was complete: {error}"[:2000])
        raise
    return trace


def _claim(trace_id: str, replace: bool) -> Trace:
    """A row in state ``uploading`` that is this ingest's alone."""
    prefix = f"{STORAGE_FOLDER}/{trace_id}"
    try:
        with transaction.atomic():
            return Trace.objects.create(pk=trace_id, prefix=prefix)
    except IntegrityError:
        pass
    with transaction.atomic():
        trace = Trace.objects.select_for_update().get(pk=trace_id)
        if trace.status == TraceStatus.UPLOADING:
            raise TraceExistsError(f"A trace named '{trace_id}' is being uploaded right now; choose another name.")
        if trace.status == TraceStatus.READY and not replace:
            raise TraceExistsError(f"There is a trace named '{trace_id}' already; choose another name.")
        if trace.runs.filter(finished_at__isnull=True).exists():
            raise TraceExistsError(f"Trace '{trace_id}' has runs that have not ended; cancel them first.")
        fresh = Trace(pk=trace_id, prefix=prefix)
        fresh.save(force_update=True)
        return fresh


def _complete(trace: Trace, found: RunDirectory, wishes: Wishes) -> None:
    """Make the row say what the trace is; with its kernels, and its times where there are some."""
    from traces.tasks import read_contents

    relative_folder = found.trace_folder.removeprefix(found.root).strip("/")
    trace.list_name = f"{relative_folder}/{found.list_file}".lstrip("/")
    trace.metadata = found.metadata
    trace.workload = _text(found.metadata.get("workload"))
    trace.gpu = _text(found.metadata.get("gpu"))
    trace.binary_version = found.binary_version
    trace.tracer_version = found.tracer_version
    trace.nvbit_version = found.nvbit_version
    trace.size_bytes = found.size_bytes
    trace.warnings = [storable_text(warning) for warning in found.warnings]
    with transaction.atomic():
        trace.replace_kernels([_kernel(trace, entry) for entry in found.kernels])
        _take_times(trace, found, wishes)
        trace.status, trace.detail = TraceStatus.READY, None
        trace.save()
        transaction.on_commit(lambda: read_contents.delay(trace.pk), robust=True)


def _text(value: Any) -> str | None:
    """A text of ``run.json``, if it is one. (Its reader has refused NUL.)"""
    return value[:1000] if isinstance(value, str) and value.strip() else None


def _kernel(trace: Trace, entry: Any) -> TraceKernel:
    return TraceKernel(
        trace=trace,
        index=entry.index,
        name=storable_text(entry.name),
        trace_file=entry.trace_file,
        grid=list(entry.grid),
        block=list(entry.block),
        shared_memory_bytes=entry.shared_memory_bytes,
        registers_per_thread=entry.registers_per_thread,
        stream=entry.stream,
    )


def _take_times(trace: Trace, found: RunDirectory, wishes: Wishes) -> None:
    """The times that were given apart, else the run directory's own; the latter only warn where they cannot be used."""
    if wishes.times is not None:
        set_times(trace, wishes.times, wishes.times_name)
    elif found.timeline_file:
        try:
            set_times(trace, _own_times(trace, found), _in_root(found, found.timeline_file))
        except TimesError as error:
            trace.warnings = [*trace.warnings, f"its real times are left out: {error}"]


def _own_times(trace: Trace, found: RunDirectory) -> TimesReport:
    timeline = _in_root(found, found.timeline_file or "")
    with seekable_copy(trace, timeline) as stream:
        if not found.alignment_file:
            return read_times(stream, timeline)
        with seekable_copy(trace, _in_root(found, found.alignment_file)) as alignment:
            return read_times(stream, timeline, alignment)


def _in_root(found: RunDirectory, name: str) -> str:
    return name.removeprefix(found.root).lstrip("/")
