"""Archives of the sample run directory, whole and spoiled."""

import io
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from traces.sample import SAMPLE_RUN_DIRECTORY


def sample_files() -> dict[str, bytes]:
    """The sample's files by their names relative to its folder."""
    files = sorted(path for path in SAMPLE_RUN_DIRECTORY.rglob("*") if path.is_file())
    return {path.relative_to(SAMPLE_RUN_DIRECTORY).as_posix(): path.read_bytes() for path in files}


def tar_of(files: Mapping[str, bytes], mode: Any = "w:gz") -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


def zip_of(files: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def write_files(folder: Path, files: Mapping[str, bytes]) -> Path:
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder
