"""A run's output files as one zip, written while it is sent: nothing is collected first, in memory or on disk."""

import re
import zipfile
from collections.abc import Generator, Sequence
from contextlib import closing

from cascade_site.errors import Conflict
from cascade_site.formats import size
from cascade_site.storage import open_stream
from cascade_site.streaming import BLOCK_BYTES
from sims.models import SimFile

MAX_ZIP_BYTES = 4 * 1024**3
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


class _Sink:
    """What ``zipfile`` writes to: a place without ``seek``, emptied after every block."""

    def __init__(self) -> None:
        self._data = bytearray()

    def write(self, data: bytes) -> int:
        self._data += data
        return len(data)

    def flush(self) -> None:
        """Nothing is held back."""

    def take(self) -> bytes:
        data, self._data = bytes(self._data), bytearray()
        return data


def member_name(file: SimFile) -> str:
    """``1-SM80_A100/stats.txt``: the sim's place in the run, its config and the file's own name."""
    config = _UNSAFE.sub("-", file.sim.gpu_config)[:100].strip("-.")
    return f"{file.sim.position + 1}-{config}/{file.name}"


def zip_of(files: Sequence[SimFile]) -> Generator[bytes, None, None]:
    """The zip in pieces. Raises :class:`Conflict` here and now for files that are too much for one."""
    total_bytes = sum(file.size_bytes for file in files)
    if total_bytes > MAX_ZIP_BYTES:
        raise Conflict(
            f"The files have {size(total_bytes)} together, and a zip is made of at most {size(MAX_ZIP_BYTES)}: "
            "download them one by one."
        )
    return _pieces(files)


def _pieces(files: Sequence[SimFile]) -> Generator[bytes, None, None]:
    sink = _Sink()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:  # type: ignore[call-overload]
        for file in files:
            entry = zipfile.ZipInfo(member_name(file), file.uploaded_at.timetuple()[:6])
            entry.compress_type = zipfile.ZIP_DEFLATED
            with archive.open(entry, "w", force_zip64=True) as member, closing(open_stream(file.key)) as stream:
                while block := stream.read(BLOCK_BYTES):
                    member.write(block)
                    yield sink.take()
    yield sink.take()
