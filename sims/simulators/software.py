"""What a result was computed with: versions of what has one, digests of what has none."""

import hashlib
import platform
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

DIGEST_DIGITS = 16
PROJECT = Path(__file__).resolve().parents[2]
ENGINE_FOLDERS = (PROJECT / "sims" / "engine", PROJECT / "traces" / "accelsim")
"""What decides the built-in simulator's cycles: the timing model, and what reads its traces."""


def file_digest(path: Path) -> str:
    """The first digits of a file's SHA-256; empty where it cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()[:DIGEST_DIGITS]
    except OSError:
        return ""


def engine_digest(folders: Iterable[Path] = ENGINE_FOLDERS) -> str:
    """One digest over the engine's sources: equal digests mean the same model, whatever else has changed since."""
    digest = hashlib.sha256()
    for folder in folders:
        for path in sorted(folder.rglob("*.py")):
            digest.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:DIGEST_DIGITS]


def libraries(*names: str) -> dict[str, str]:
    """The versions of Python and of these packages, as far as they are installed."""
    found = {"python": platform.python_version()}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
