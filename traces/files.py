"""The files of an ingested trace, wherever they lie: in storage, or in a folder that is read in place."""

import tempfile
from pathlib import Path
from typing import BinaryIO, cast

from cascade_site.storage import open_stream
from traces.models import Trace

COPY_BYTES = 1 << 20


def open_trace_file(trace: Trace, name: str) -> BinaryIO:
    """A file by its name relative to the trace's prefix, as a forward-only stream. The caller closes it."""
    if trace.folder:
        return (Path(trace.folder) / name).open("rb")
    return cast(BinaryIO, open_stream(f"{trace.prefix}/{name}"))


def seekable_copy(trace: Trace, name: str) -> BinaryIO:
    """The same for readers that seek: a copy that is gone when it is closed."""
    copy = cast(BinaryIO, tempfile.SpooledTemporaryFile(max_size=8 * COPY_BYTES))  # noqa: SIM115 - returned open
    with open_trace_file(trace, name) as stream:
        while data := stream.read(COPY_BYTES):
            copy.write(data)
    copy.seek(0)
    return copy
