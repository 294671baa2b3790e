"""Uploaded archives of a run directory (``.tar``, ``.tar.gz``, ``.tar.xz``, ``.tar.zst``, ``.zip``), member by member.

Nothing is extracted: each member passes as a stream to whoever stores it, and of a kernel only the header is kept, so
that memory stays flat and the list may come after the kernels. Everything about an archive is held to be hostile.
"""

import io
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import BinaryIO, Protocol, cast

from traces.accelsim import TraceError, open_stream, parse_kernel_file_name
from traces.accelsim.files import Compression, sniff_compression
from traces.member_names import MemberNames
from traces.rundir import MAX_METADATA_BYTES, METADATA_FILE, is_list_name
from traces.sources import HEAD_BYTES, HeaderOrError, header_of_start, read_limited
from traces.tarstream import tar_members
from traces.zipstream import ZipReader

COPY_BYTES = 1024 * 1024
MAX_KEPT_BYTES = 64 * 1024 * 1024
ZIP_MAGIC = (b"PK\x03\x04", b"PK\x05\x06")
MAGIC_BYTES = 6
RATIO_GRACE_BYTES = 64 * 1024 * 1024
"""Small archives may be as regular as they like."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What an archive may unfold to."""

    members: int = 100_000
    total_bytes: int = 64 * 1024**3
    deflate_ratio: int = 500
    """Zero bytes shrink by 1,030 in gzip and zip."""
    other_ratio: int = 5_000
    """The text of a very regular kernel shrinks by up to 3,200 in xz, zero bytes by 6,900."""


class Content(Protocol):
    """A member's bytes, readable once and forward."""

    def read(self, size: int = -1, /) -> bytes: ...


Store = Callable[[str, BinaryIO], None]
"""Takes a member's name and content; the content is only valid during the call."""


@dataclass(slots=True)
class ArchiveSource:
    """What is kept of an archive that was read through; answers like a folder (see ``traces.sources.Source``)."""

    sizes: dict[str, int] = field(default_factory=dict)
    kept: dict[str, bytes] = field(default_factory=dict)
    kernel_headers: dict[str, HeaderOrError] = field(default_factory=dict)

    def files(self) -> Mapping[str, int]:
        return self.sizes

    def read(self, name: str, limit_bytes: int) -> bytes:
        if name not in self.kept:
            raise TraceError("is too large for such a file.", name)
        return read_limited(io.BytesIO(self.kept[name]), name, limit_bytes)

    def headers(self, names: Iterable[str]) -> Mapping[str, HeaderOrError]:
        return {name: self.kernel_headers[name] for name in names}


def read_archive(
    stream: BinaryIO, archive: str, store: Store | None = None, limits: Limits | None = None
) -> ArchiveSource:
    """Reads an archive to its end, handing every file to ``store`` as it passes.

    Raises ``TraceError`` at the first thing that is wrong; what was stored until then is the caller's to remove.
    """
    reader = _Reader(archive, store, limits or Limits())
    start = stream.read(MAGIC_BYTES)
    whole = _put_back(stream, start)
    if start.startswith(ZIP_MAGIC):
        reader.read_zip(whole)
    else:
        reader.read_tar(whole, sniff_compression(start))
    if not reader.source.sizes:
        raise TraceError("holds no files.", archive)
    return reader.source


class _Reader:
    def __init__(self, archive: str, store: Store | None, limits: Limits) -> None:
        self._archive = archive
        self._store = store
        self._limits = limits
        self._names = MemberNames(archive)
        self._members = 0
        self._kept_bytes = 0
        self.source = ArchiveSource()

    def read_tar(self, stream: BinaryIO, compression: Compression) -> None:
        packed = _Counted(stream)
        unpacked = _Counted(open_stream(cast(BinaryIO, packed), self._archive), self._check_size(packed, compression))
        for member in tar_members(cast(BinaryIO, unpacked), self._archive):
            self._count_member()
            if member.is_folder:
                self._names.accept_folder(member.name)
            else:
                self._take(self._names.accept_file(member.name), member.size_bytes, member.content)

    def read_zip(self, stream: BinaryIO) -> None:
        reader = ZipReader(_seekable(stream, self._archive), self._archive)
        total = 0
        for member in reader.members():
            self._count_member()
            total += member.size_bytes
            if total > self._limits.total_bytes:
                raise self._too_large()
            # Members may overlap, so it is the archive's own size that counts and not what they claim to take up in it.
            if total > max(RATIO_GRACE_BYTES, self._limits.deflate_ratio * reader.size_bytes):
                raise self._bomb()
        for member in reader.members():
            if member.is_folder:
                self._names.accept_folder(member.name)
            else:
                self._take(self._names.accept_file(member.name), member.size_bytes, reader.open(member))

    def _take(self, name: str, size_bytes: int, content: Content) -> None:
        self.source.sizes[name] = size_bytes
        start = content.read(HEAD_BYTES) if size_bytes else b""
        base = name.rpartition("/")[2]
        if parse_kernel_file_name(base):
            self.source.kernel_headers[name] = header_of_start(io.BytesIO(start), name)
        elif base == METADATA_FILE or is_list_name(base):
            start = self._keep(name, start, size_bytes, content)
        rest = _Joined(start, content)
        if self._store:
            self._store(name, cast(BinaryIO, io.BufferedReader(rest, COPY_BYTES)))
        while rest.read(COPY_BYTES):
            pass

    def _keep(self, name: str, start: bytes, size_bytes: int, content: Content) -> bytes:
        """Keeps a small file whole; returns its bytes as far as they were read."""
        limit = MAX_METADATA_BYTES if name.endswith(METADATA_FILE) else MAX_KEPT_BYTES
        self._kept_bytes += size_bytes
        if size_bytes > limit or self._kept_bytes > MAX_KEPT_BYTES:
            return start
        pieces = [start]
        while piece := content.read(COPY_BYTES):
            pieces.append(piece)
        self.source.kept[name] = b"".join(pieces)
        return self.source.kept[name]

    def _count_member(self) -> None:
        self._members += 1
        if self._members > self._limits.members:
            raise TraceError(f"holds more than {self._limits.members} members.", self._archive)

    def _check_size(self, packed: "_Counted", compression: Compression) -> Callable[[int], None]:
        ratio = self._limits.deflate_ratio if compression is Compression.GZIP else self._limits.other_ratio

        def check(unpacked_bytes: int) -> None:
            if unpacked_bytes > self._limits.total_bytes:
                raise self._too_large()
            if compression and unpacked_bytes > max(RATIO_GRACE_BYTES, ratio * packed.count):
                raise self._bomb()

        return check

    def _too_large(self) -> TraceError:
        return TraceError(f"unfolds to more than {self._limits.total_bytes} bytes.", self._archive)

    def _bomb(self) -> TraceError:
        return TraceError("unfolds to far more than a trace of its size would: it is refused as a bomb.", self._archive)


class _Counted(io.RawIOBase):
    """Passes bytes on, counts them and tells ``check`` the count."""

    def __init__(self, source: BinaryIO, check: Callable[[int], None] | None = None) -> None:
        super().__init__()
        self._source = source
        self._check = check
        self.count = 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        data = self._source.read(size)
        self.count += len(data)
        if self._check:
            self._check(self.count)
        return data


class _Joined(io.RawIOBase):
    """The first bytes of a member, already read, and the rest of it."""

    def __init__(self, start: bytes, rest: Content) -> None:
        super().__init__()
        self._start = start
        self._rest = rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        data = self._start[: len(buffer)] or self._rest.read(len(buffer))
        self._start = self._start[len(data) :]
        buffer[: len(data)] = data
        return len(data)


def _put_back(stream: BinaryIO, start: bytes) -> BinaryIO:
    if stream.seekable():
        stream.seek(-len(start), io.SEEK_CUR)
        return stream
    return cast(BinaryIO, io.BufferedReader(_Joined(start, stream), COPY_BYTES))


def _seekable(stream: BinaryIO, archive: str) -> BinaryIO:
    """A zip has its directory at its end; one that comes as a bare stream is put aside first."""
    if stream.seekable():
        return stream
    copy = cast(BinaryIO, tempfile.TemporaryFile())  # noqa: SIM115 - lives as long as the archive is read
    while data := stream.read(COPY_BYTES):
        copy.write(data)
    copy.seek(0)
    return copy
