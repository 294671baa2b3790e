"""Where compiled code is kept, and how a bad cache heals itself.

Numba's own cache looks at one source file at a time: after a change in one module, callers in others keep the old
inlined code. So the folder's name holds a hash of all sources of compiled code, and a stale folder is never looked at
again. A folder that cannot be written is replaced by a temporary one; damaged files in it are deleted
(:func:`discard`) and compiled again.
"""

import hashlib
import os
import re
import shutil
import tempfile
from pathlib import Path

import numba

ENGINE = Path(__file__).resolve().parent


def source_hash() -> str:
    """A hash over the sources of compiled code and Numba's version: equal hashes mean equal compiled code."""
    digest = hashlib.sha256(numba.__version__.encode())
    for path in sorted(compiled_sources()):
        digest.update(path.relative_to(ENGINE).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def compiled_sources() -> set[Path]:
    """The modules with compiled functions and all of the engine that they import, constants included."""
    texts = {path: path.read_text(encoding="utf-8") for path in ENGINE.rglob("*.py")}
    found: set[Path] = set()
    pending = [path for path, text in texts.items() if "\n@compiled\n" in text or "import intrinsic" in text]
    while pending:
        path = pending.pop()
        if path in found:
            continue
        found.add(path)
        for package, names in re.findall(
            r"^from sims\.engine([\w.]*) import (\([^)]*\)|.*)", texts[path], re.MULTILINE
        ):
            folder = ENGINE.joinpath(*package.split(".")[1:])
            candidates = [folder.with_suffix(".py"), *(folder / f"{name}.py" for name in re.findall(r"\w+", names))]
            pending += [candidate for candidate in candidates if candidate in texts]
    return found


def _base_folder() -> Path:
    if numba_folder := os.environ.get("NUMBA_CACHE_DIR"):
        return Path(numba_folder)
    data = os.environ.get("CASCADE_DATA")
    return Path(data) / "code-cache" if data else Path.home() / ".cache" / "cascade" / "code"


def _is_writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def prepare() -> Path:
    """Point Numba at this version's folder; must run before the first compiled function is defined."""
    folder = _base_folder() / source_hash()
    if not _is_writable(folder):
        folder = Path(tempfile.gettempdir()) / f"cascade-code-{os.getuid()}" / source_hash()
        if not _is_writable(folder):
            folder = Path(tempfile.mkdtemp(prefix="cascade-code-"))
    numba.config.CACHE_DIR = str(folder)
    return folder


def discard() -> None:
    """Delete this version's folder (after an error that a damaged file explains); the next call compiles again."""
    folder = Path(str(numba.config.CACHE_DIR))
    if folder.is_dir() and folder.name == source_hash():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True, exist_ok=True)
