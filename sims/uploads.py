"""Output files: streamed into storage under a key of their own, then made visible by one commit.

A key is never written twice. Whoever dies between the two steps leaves an object that no row points to, which the
sweeper removes; whoever reads while a file is replaced goes on reading the old object.
"""

import base64
import binascii
import hashlib
import re
import secrets
from typing import IO, Any, cast

from django.core.files.storage import default_storage
from django.db import transaction
from django.utils import timezone

from cascade_site.errors import Conflict, TooLarge, Unprocessable
from cascade_site.serializing import FILE_NAME
from cascade_site.storage import save_stream
from sims.models import Sim, SimFile
from sims.serializers import SimFileSerializer

DEFAULT_CONTENT_TYPE = "application/octet-stream"
_CONTENT_TYPE = re.compile(r"[a-z0-9!#$&^_.+-]{1,60}/[a-z0-9!#$&^_.+-]{1,39}", re.ASCII)
_SHA256_DIGEST = re.compile(r"(?:^|,)\s*sha-256=:([A-Za-z0-9+/]{43}=):\s*(?=$|,|;)", re.ASCII)


def checked_name(name: str) -> str:
    """The file name itself. Raises 422 for anything that is not one plain segment."""
    if not FILE_NAME.fullmatch(name):
        raise Unprocessable(
            "A file name has 1 to 200 of A-Z a-z 0-9 . _ - and does not start with a dot.", field="name"
        )
    return name


def checked_content_type(header: str | None) -> str:
    """The media type of a ``Content-Type`` header without its parameters; the plainest one for what is none."""
    media_type = (header or "").split(";")[0].strip().lower()
    return media_type if _CONTENT_TYPE.fullmatch(media_type) else DEFAULT_CONTENT_TYPE


def announced_sha256(header: str | None) -> bytes | None:
    """The SHA-256 of a ``Content-Digest`` header (RFC 9530); None without one. Raises 422 for an unreadable header.

    >>> announced_sha256("sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:").hex()[:8]
    'e3b0c442'
    """
    if header is None:
        return None
    match = _SHA256_DIGEST.search(header)
    if match is None:
        raise Unprocessable("It must be of the form sha-256=:<base64>:.", field="Content-Digest")
    try:
        return base64.b64decode(match.group(1), validate=True)
    except binascii.Error:
        raise Unprocessable("Its base64 cannot be decoded.", field="Content-Digest") from None


class MeasuredStream:
    """A forward-only stream that counts and hashes what passes, and stops at a limit with 413."""

    def __init__(self, stream: IO[bytes], limit_bytes: int) -> None:
        self._stream = stream
        self._limit_bytes = limit_bytes
        self._hash = hashlib.sha256()
        self.size_bytes = 0

    def read(self, size: int = -1) -> bytes:
        data = self._stream.read(size)
        self.size_bytes += len(data)
        if self.size_bytes > self._limit_bytes:
            raise TooLarge(f"The file has more than {self._limit_bytes} bytes, the most a file may have here.")
        self._hash.update(data)
        return data

    @property
    def sha256(self) -> bytes:
        return self._hash.digest()


def store_file(
    sim: Sim,
    name: str,
    body: MeasuredStream,
    *,
    content_type: str,
    sha256: bytes | None = None,
    attempt: int | None = None,
) -> tuple[SimFile, bool]:
    """Store one output file; its row, and whether the name is new.

    :param sha256: what the content must hash to
    :param attempt: the writer's attempt; a superseded one is refused (409)
    """
    _refuse_superseded(sim, attempt)
    key = f"sims/{sim.id}/files/{secrets.token_hex(16)}"
    try:
        save_stream(key, cast(IO[bytes], body))
        if sha256 is not None and sha256 != body.sha256:
            raise Unprocessable("The content does not match it: it was damaged on its way.", field="Content-Digest")
        return _show(sim, name, key, body, content_type, attempt)
    except BaseException:
        default_storage.delete(key)
        raise


@transaction.atomic
def _show(
    sim: Sim, name: str, key: str, body: MeasuredStream, content_type: str, attempt: int | None
) -> tuple[SimFile, bool]:
    """The commit that makes a stored object the file of this name."""
    sim = sim.lock()
    _refuse_superseded(sim, attempt)
    old_key = SimFile.objects.filter(sim=sim, name=name).values_list("key", flat=True).first()
    values: dict[str, Any] = {
        "size_bytes": body.size_bytes,
        "sha256": body.sha256.hex(),
        "content_type": content_type,
        "uploaded_at": timezone.now(),
        "key": key,
    }
    file, created = SimFile.objects.update_or_create(sim=sim, name=name, defaults=values)
    sim.publish([("file", SimFileSerializer(file).data)])
    if old_key:
        transaction.on_commit(lambda: default_storage.delete(old_key), robust=True)
    return file, created


def _refuse_superseded(sim: Sim, attempt: int | None) -> None:
    if sim.is_superseded(attempt):
        raise Conflict(f"Attempt {attempt} was superseded by attempt {sim.attempt}.")


def prune_files(sim: Sim) -> int:
    """Remove an ended sim's output files to free their space; how many. Rows go first, then their objects."""
    with transaction.atomic():
        sim = sim.lock()
        if not sim.has_ended:
            return 0
        keys = list(sim.files.values_list("key", flat=True))
        sim.files.all().delete()
    for key in keys:
        default_storage.delete(key)
    return len(keys)
