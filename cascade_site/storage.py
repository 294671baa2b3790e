"""Reading and writing stored objects in pieces, whichever storage is set.

django-storages' ``open()`` fetches a whole S3 object before the first byte can be read; a range request does not.
"""

import io
import shutil
from typing import IO, Any

from django.core.files import File
from django.core.files.storage import default_storage


def _s3_client_and_key(name: str) -> tuple[Any, str, str] | None:
    """The S3 client, bucket and full key of a name, or None where storage is a folder."""
    bucket = getattr(default_storage, "bucket", None)
    if bucket is None:
        return None
    key = default_storage._normalize_name(name)  # type: ignore[attr-defined]
    return bucket.meta.client, bucket.name, key


def read_range(name: str, start: int, end: int) -> bytes:
    """Bytes [start, end) of a stored object; fewer where it is shorter."""
    s3 = _s3_client_and_key(name)
    if s3 is None:
        with default_storage.open(name, "rb") as file:
            file.seek(start)
            return bytes(file.read(end - start))
    client, bucket, key = s3
    if end <= start:
        return b""
    return bytes(client.get_object(Bucket=bucket, Key=key, Range=f"bytes={start}-{end - 1}")["Body"].read())


def open_stream(name: str, start: int = 0, end: int | None = None) -> IO[bytes]:
    """A stored object as a forward-only stream, without fetching it first. The caller closes it.

    :param start: the first byte to read
    :param end: a hint where reading will stop; the stream may go on behind it
    """
    s3 = _s3_client_and_key(name)
    if s3 is None:
        file = default_storage.open(name, "rb")
        file.seek(start)
        return file
    client, bucket, key = s3
    if start == 0 and end is None:
        body: IO[bytes] = client.get_object(Bucket=bucket, Key=key)["Body"]
        return body
    if end is not None and end <= start:
        return io.BytesIO()
    last = "" if end is None else str(end - 1)
    ranged: IO[bytes] = client.get_object(Bucket=bucket, Key=key, Range=f"bytes={start}-{last}")["Body"]
    return ranged


def save_stream(name: str, stream: IO[bytes]) -> str:
    """Store a stream under a name, replacing what was there, in flat memory; the name it got."""
    s3 = _s3_client_and_key(name)
    if s3 is None:
        default_storage.delete(name)  # a folder's storage would choose another name in place of one that is taken
        return default_storage.save(name, File(stream, name))
    client, bucket, key = s3
    client.upload_fileobj(stream, bucket, key)
    return name


def delete_tree(prefix: str) -> None:
    """Remove every object under a prefix (without a slash at its end); nothing there is no error."""
    s3 = _s3_client_and_key(f"{prefix}/")
    if s3 is None:
        shutil.rmtree(default_storage.path(prefix), ignore_errors=True)
        return
    bucket = default_storage.bucket  # type: ignore[attr-defined]
    bucket.objects.filter(Prefix=f"{s3[2].rstrip('/')}/").delete()
