"""Which files of the work folder are uploaded when a simulation has ended."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

FILE_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}", re.ASCII)
"""What the app takes as a file's name."""

_CONTENT_TYPES = {
    ".txt": "text/plain",
    ".log": "text/plain",
    ".config": "text/plain",
    ".csv": "text/csv",
    ".json": "application/json",
    ".gz": "application/gzip",
    ".xz": "application/x-xz",
    ".zst": "application/zstd",
}


@dataclass(frozen=True, slots=True)
class Output:
    path: Path
    content_type: str


def content_type_of(name: str) -> str:
    return _CONTENT_TYPES.get(Path(name).suffix.lower(), "application/octet-stream")


def find_outputs(folder: Path, patterns: Iterable[str], max_bytes: int) -> tuple[list[Output], list[str]]:
    """The files to upload, by name, and a sentence for each one that cannot be.

    A link is followed only inside the folder: a simulator must not have another's files read for it.
    """
    outputs, problems = [], []
    root = folder.resolve()
    for path in sorted({path for pattern in patterns for path in folder.glob(pattern)}):
        if not path.is_file() or not path.resolve().is_relative_to(root) or not path.stat().st_size:
            continue
        if problem := _problem(path, max_bytes):
            problems.append(problem)
        else:
            outputs.append(Output(path, content_type_of(path.name)))
    return outputs, problems


def _problem(path: Path, max_bytes: int) -> str | None:
    if not FILE_NAME.fullmatch(path.name):
        return f"The output file {path.name!r} was not kept: its name has characters that the app does not take."
    size_bytes = path.stat().st_size
    if size_bytes > max_bytes:
        return (
            f"The output file {path.name} was not kept: it has {size_bytes} bytes, more than the {max_bytes} allowed."
        )
    return None
