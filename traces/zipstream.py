"""A zip archive as a stream of members, judged by its directory before anything is inflated."""

import io
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from traces.accelsim import TraceError

END_RECORD = struct.Struct("<4s4H2LH")
END_RECORD_64 = struct.Struct("<4sQ2H2L4Q")
LOCATOR_64 = struct.Struct("<4sLQL")
MAX_COMMENT_BYTES = 65535
MAX_DIRECTORY_BYTES = 32 * 1024 * 1024
FLAG_ENCRYPTED = 1

# What zipfile lets out for an archive damaged on purpose: negative seeks, unknown versions, text that is no text.
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    NotImplementedError,
    OSError,
    OverflowError,
    RuntimeError,
    ValueError,
)


class ZipContent:
    """The content of one member; damage in it is a ``TraceError``."""

    def __init__(self, content: zipfile.ZipExtFile, archive: str) -> None:
        self._content = content
        self._archive = archive

    def read(self, size: int = -1) -> bytes:
        try:
            return self._content.read(size)
        except _DAMAGE as error:
            raise TraceError(f"has a damaged member ({error}): pack it again.", self._archive) from error


@dataclass(frozen=True, slots=True)
class ZipMember:
    name: str
    size_bytes: int
    is_folder: bool
    info: zipfile.ZipInfo


class ZipReader:
    """A zip in a seekable stream. Raises ``TraceError`` for damage, encryption, links and foreign compressions."""

    def __init__(self, stream: BinaryIO, archive: str) -> None:
        self._archive = archive
        self.size_bytes = stream.seek(0, io.SEEK_END)
        _check_directory_size(stream, archive)
        try:
            self._zip = zipfile.ZipFile(stream)
        except _DAMAGE as error:
            raise TraceError(f"is not a readable zip archive ({error}): pack it again.", archive) from error

    def members(self) -> Iterator[ZipMember]:
        """What the directory says of every member, nothing being inflated yet."""
        for info in self._zip.infolist():
            self._refuse_unusual(info)
            # zipfile cuts a name at a NUL; the name as it stands in the archive is the one to judge.
            yield ZipMember(info.orig_filename, info.file_size, info.orig_filename.endswith("/"), info)

    def open(self, member: ZipMember) -> ZipContent:
        try:
            content = self._zip.open(member.info)
        except _DAMAGE as error:
            raise TraceError(f"has a damaged member ({error}): pack it again.", self._archive) from error
        if not isinstance(content, zipfile.ZipExtFile):
            raise TypeError(content)
        return ZipContent(content, self._archive)

    def _refuse_unusual(self, info: zipfile.ZipInfo) -> None:
        kind = stat.S_IFMT(info.external_attr >> 16)
        if info.flag_bits & FLAG_ENCRYPTED:
            why = "is encrypted: pack it without a password"
        elif kind not in (0, stat.S_IFREG, stat.S_IFDIR):
            why = "is a link or a device: pack plain files only"
        elif info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            why = "is compressed in an unusual way: pack it with deflate"
        else:
            return
        raise TraceError(f"its member {info.orig_filename[:80]!a} {why}.", self._archive)


def _check_directory_size(stream: BinaryIO, archive: str) -> None:
    """``zipfile`` reads the whole directory into objects: its size is looked at first."""
    size = stream.seek(0, io.SEEK_END)
    stream.seek(max(0, size - MAX_COMMENT_BYTES - END_RECORD.size - LOCATOR_64.size))
    tail = stream.read()
    at = tail.rfind(b"PK\5\6")
    if at < 0 or len(tail) - at < END_RECORD.size:
        raise TraceError("is a zip archive without its directory: it was cut, send it again.", archive)
    directory_bytes = END_RECORD.unpack_from(tail, at)[5]
    if at >= LOCATOR_64.size and tail[at - LOCATOR_64.size :].startswith(b"PK\6\7"):
        stream.seek(min(LOCATOR_64.unpack_from(tail, at - LOCATOR_64.size)[2], size))
        record = stream.read(END_RECORD_64.size)
        if len(record) == END_RECORD_64.size and record.startswith(b"PK\6\6"):
            directory_bytes = max(directory_bytes, END_RECORD_64.unpack(record)[8])
    stream.seek(0)
    if directory_bytes > min(size, MAX_DIRECTORY_BYTES):
        raise TraceError(f"has a directory of {directory_bytes} bytes, which is too much for a trace.", archive)
