"""Where the files of a run directory come from: a folder, a place in storage, or an archive that was read through once.

All three answer the same questions, so that a run directory is understood by one piece of code (``traces.rundir``).
"""

import io
import os
import posixpath
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, BinaryIO, Protocol, cast

from traces.accelsim import KernelHeader, TraceError, open_stream, read_header

HEAD_BYTES = 256 * 1024
"""Enough of a stored kernel file for its header, compressed in any way: a zstd block is at most 128 KiB."""
MAX_FILES = 200_000
MAX_DEPTH = 8
STORAGE_THREADS = 16

HeaderOrError = KernelHeader | TraceError


class Source(Protocol):
    """Files by their relative names (``/`` between the parts)."""

    def files(self) -> Mapping[str, int]:
        """Every file's name and stored size in bytes."""
        ...

    def read(self, name: str, limit_bytes: int) -> bytes:
        """A small file's content, decompressed. Raises ``TraceError`` when it has more than the limit."""
        ...

    def headers(self, names: Iterable[str]) -> Mapping[str, HeaderOrError]:
        """The headers of kernel files, from their first bytes alone."""
        ...


def read_limited(stored: BinaryIO, name: str, limit_bytes: int) -> bytes:
    """A whole small file, decompressed, from a stream of its stored bytes; closes the stream."""
    with open_stream(stored, name) as stream:
        data = b""
        while len(data) <= limit_bytes and (piece := stream.read(limit_bytes + 1 - len(data))):
            data += piece
    if len(data) > limit_bytes:
        raise TraceError(f"has more than {limit_bytes} bytes, which is too much for such a file.", name)
    return data


def header_of_start(start: BinaryIO, name: str) -> HeaderOrError:
    """The header in the first stored bytes of a kernel file, or why there is none."""
    try:
        with open_stream(start, name) as stream:
            return read_header(stream, name)
    except TraceError as error:
        return error


class FolderSource:
    """A folder on this machine."""

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise TraceError("is not a folder." if folder.exists() else "does not exist.", str(folder))
        self._folder = folder

    def files(self) -> Mapping[str, int]:
        found: dict[str, int] = {}
        for path in self._walk():
            found[path.relative_to(self._folder).as_posix()] = path.stat().st_size
            if len(found) > MAX_FILES:
                raise TraceError(f"holds more than {MAX_FILES} files: give the folder of one trace.", str(self._folder))
        return found

    def read(self, name: str, limit_bytes: int) -> bytes:
        return read_limited(self._open(name), name, limit_bytes)

    def headers(self, names: Iterable[str]) -> Mapping[str, HeaderOrError]:
        return {name: header_of_start(self._open(name), name) for name in names}

    def _walk(self) -> Iterator[Path]:
        for folder, folders, names in os.walk(self._folder):
            if len(Path(folder).relative_to(self._folder).parts) >= MAX_DEPTH:
                folders.clear()
            for name in names:
                path = Path(folder, name)
                if path.is_file():
                    yield path

    def _open(self, name: str) -> BinaryIO:
        try:
            return (self._folder / name).open("rb")
        except OSError as error:
            raise TraceError(f"cannot be opened: {error.strerror or error}.", name) from error


class StorageSource:
    """A place in a Django storage (``prefix`` without slashes at its ends).

    For S3 the sizes come from one listing and a header from one ranged request: Django's own calls would ask for each
    size apart and fetch every file whole.
    """

    def __init__(self, storage: Any, prefix: str) -> None:
        self._storage = storage
        self._prefix = prefix
        self._bucket = getattr(storage, "bucket", None)

    def files(self) -> Mapping[str, int]:
        listing = self._list_bucket() if self._bucket is not None else self._list_storage("", 0)
        found: dict[str, int] = {}
        for name, size_bytes in listing:
            found[name] = size_bytes
            if len(found) > MAX_FILES:
                raise TraceError(f"holds more than {MAX_FILES} files.", self._prefix)
        return found

    def read(self, name: str, limit_bytes: int) -> bytes:
        stored = self._start(name, limit_bytes + 1)
        return read_limited(stored, name, limit_bytes)

    def headers(self, names: Iterable[str]) -> Mapping[str, HeaderOrError]:
        names = list(names)
        with ThreadPoolExecutor(STORAGE_THREADS) as pool:
            return dict(zip(names, pool.map(self._header, names), strict=True))

    def _header(self, name: str) -> HeaderOrError:
        return header_of_start(self._start(name, HEAD_BYTES), name)

    def _start(self, name: str, size_bytes: int) -> BinaryIO:
        if self._bucket is not None:
            try:
                answer = self._bucket.Object(self._key(name)).get(Range=f"bytes=0-{size_bytes - 1}")
            except self._bucket.meta.client.exceptions.ClientError as error:
                if error.response["Error"]["Code"] == "InvalidRange":  # an empty object has no first byte
                    return io.BytesIO()
                raise
            return io.BytesIO(answer["Body"].read())
        return cast(BinaryIO, self._storage.open(posixpath.join(self._prefix, name), "rb"))

    def _key(self, name: str) -> str:
        return posixpath.join(self._storage.location, self._prefix, name).lstrip("/")

    def _list_bucket(self) -> Iterator[tuple[str, int]]:
        root = self._key("")
        for found in self._bucket.objects.filter(Prefix=root):  # type: ignore[union-attr]
            if not found.key.endswith("/"):
                yield found.key.removeprefix(root), found.size

    def _list_storage(self, folder: str, depth: int) -> Iterator[tuple[str, int]]:
        folders, names = self._storage.listdir(posixpath.join(self._prefix, folder))
        for name in names:
            relative = posixpath.join(folder, name)
            yield relative, self._storage.size(posixpath.join(self._prefix, relative))
        for name in folders if depth < MAX_DEPTH else []:
            yield from self._list_storage(posixpath.join(folder, name), depth + 1)
