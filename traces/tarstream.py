"""A tar archive as a stream of members.

Python's ``tarfile`` takes a damaged header in the middle of an archive for its end, and reads a member's extension
header whole, whatever size it claims. An upload that was cut must not pass for a smaller one, so only its header
decoding is used here.
"""

import re
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from traces.accelsim import TraceError

BLOCK_BYTES = 512
MAX_EXTENSION_BYTES = 64 * 1024
DRAIN_BYTES = 1024 * 1024

_PAX_RECORD = re.compile(rb"(\d{1,7}) ([^=]+)=")
_KINDS = {
    tarfile.LNKTYPE: "a hard link",
    tarfile.SYMTYPE: "a symbolic link",
    tarfile.CHRTYPE: "a device",
    tarfile.BLKTYPE: "a device",
    tarfile.FIFOTYPE: "a pipe",
    tarfile.GNUTYPE_SPARSE: "a sparse file",
}


class MemberStream:
    """The content of one member: ``size_bytes`` bytes of the archive's stream."""

    def __init__(self, stream: BinaryIO, size_bytes: int, archive: str) -> None:
        self._stream = stream
        self._left = size_bytes
        self._archive = archive

    def read(self, size: int = -1) -> bytes:
        wanted = self._left if size < 0 else min(size, self._left)
        data = self._stream.read(wanted) if wanted else b""
        if wanted and not data:
            raise TraceError("ends inside a member: the archive was cut, send it again.", self._archive)
        self._left -= len(data)
        return data

    def drain(self) -> None:
        while self.read(DRAIN_BYTES):
            pass


@dataclass(frozen=True, slots=True)
class TarMember:
    name: str
    size_bytes: int
    is_folder: bool
    content: MemberStream


def tar_members(stream: BinaryIO, archive: str) -> Iterator[TarMember]:
    """Regular files and folders in the order of the archive; what the caller leaves of a member's content is skipped.

    Raises ``TraceError`` for links, devices and the like, for damage, and for an archive without its end mark.
    """
    extension: dict[str, str] = {}
    while (info := _next_header(stream, archive)) is not None:
        if info.type in (tarfile.XHDTYPE, tarfile.SOLARIS_XHDTYPE):
            extension |= _pax_records(_read_extension(stream, info, archive), archive)
        elif info.type == tarfile.GNUTYPE_LONGNAME:
            extension["path"] = _text(_read_extension(stream, info, archive).rstrip(b"\0"))
        elif info.type in (tarfile.XGLTYPE, tarfile.GNUTYPE_LONGLINK):
            _read_extension(stream, info, archive)
        else:
            member = _member(stream, info, extension, archive)
            yield member
            member.content.drain()
            _skip_padding(stream, member.size_bytes, archive)
            extension = {}
    # Reading on to the end lets a compressed archive's checksum speak.
    while rest := stream.read(DRAIN_BYTES):
        if rest.strip(b"\0"):
            raise TraceError("has more data after its end mark: send one archive at a time.", archive)


def _next_header(stream: BinaryIO, archive: str) -> tarfile.TarInfo | None:
    block = _read_exactly(stream, BLOCK_BYTES, archive)
    if not block.strip(b"\0"):
        return None
    try:
        info = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
    except tarfile.HeaderError as error:
        wanted = "give a .tar (.gz, .xz, .zst) or .zip of the trace's whole folder; real times come afterwards"
        raise TraceError(f"is not a readable tar archive ({error}): {wanted}.", archive) from error
    if info.size < 0:
        raise TraceError("has a member of negative size: pack it again.", archive)
    return info


def _member(stream: BinaryIO, info: tarfile.TarInfo, extension: dict[str, str], archive: str) -> TarMember:
    name = extension.get("path", info.name)
    size = extension.get("size", str(info.size))
    is_folder = info.type == tarfile.DIRTYPE
    sparse = any(key.startswith("GNU.sparse.") for key in extension)
    if sparse or (info.type not in tarfile.REGULAR_TYPES and not is_folder) or info.type == tarfile.GNUTYPE_SPARSE:
        kind = "a sparse file" if sparse else _KINDS.get(info.type, "of an unknown kind")
        raise TraceError(f"its member {name[:80]!a} is {kind}: pack plain files only.", archive)
    if not re.fullmatch(r"\d{1,18}", size, re.ASCII):
        raise TraceError(f"its member {name[:80]!a} has no readable size.", archive)
    size_bytes = 0 if is_folder else int(size)
    return TarMember(name, size_bytes, is_folder, MemberStream(stream, size_bytes, archive))


def _read_extension(stream: BinaryIO, info: tarfile.TarInfo, archive: str) -> bytes:
    if info.size > MAX_EXTENSION_BYTES:
        raise TraceError(f"has an extended header of {info.size} bytes: pack it again.", archive)
    data = _read_exactly(stream, info.size, archive)
    _skip_padding(stream, info.size, archive)
    return data


def _pax_records(data: bytes, archive: str) -> dict[str, str]:
    """``<length> <key>=<value>\\n`` records, the length being that of the whole record."""
    records: dict[str, str] = {}
    at = 0
    while at < len(data.rstrip(b"\0")):
        match = _PAX_RECORD.match(data, at)
        end = at + int(match[1]) if match else 0
        if not match or not match.end() < end <= len(data):
            raise TraceError("has a damaged extended header: pack it again.", archive)
        records[_text(match[2])] = _text(data[match.end() : end - 1])
        at = end
    return records


def _text(data: bytes) -> str:
    return data.decode("utf-8", errors="surrogateescape")


def _skip_padding(stream: BinaryIO, size_bytes: int, archive: str) -> None:
    _read_exactly(stream, -size_bytes % BLOCK_BYTES, archive)


def _read_exactly(stream: BinaryIO, size: int, archive: str) -> bytes:
    data = b""
    while len(data) < size:
        piece = stream.read(size - len(data))
        if not piece:
            raise TraceError("ends before its end mark: the archive was cut, send it again.", archive)
        data += piece
    return data
