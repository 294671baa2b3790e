"""Where compiled code is kept, and how a bad cache heals itself.

Numba's own cache looks at one source file at a time: after a change in one module, callers in others keep the old
inlined code. So the folder's name holds a hash of all sources of compiled code, and a stale folder is never looked at
again. A folder that cannot be written is replaced by a temporary one; one with a damaged file is emptied
(:func:`heal`) and filled again.
"""

import fcntl
import hashlib
import json
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import numba

from sims.engine.beside import compiling_sm

ENGINE = Path(__file__).resolve().parent
SEAL = "sealed.json"
INDEX_SUFFIX, CODE_SUFFIX = ".nbi", ".nbc"
"""Numba's files: what a function has been compiled for, and the code for one of these."""
WAIT_S = 0.2
_COMPILED = re.compile(r"^@(compiled|inlined|merged)$|import intrinsic", re.MULTILINE)
"""What a module with compiled functions has."""

_run_through: set[Path] = set()
"""Folders whose code this process has loaded: looking at hundreds of files again before each kernel would cost more than a small
kernel takes."""


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
    pending = [path for path, text in texts.items() if _COMPILED.search(text)]
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
    heal(folder)
    numba.config.CACHE_DIR = str(folder)
    return folder


def heal(folder: Path) -> bool:
    """Empty a folder that holds a damaged file; whether it did.

    Every file of Numba's is a pickle, whose last byte is a full stop: a cut one has lost it. What was sealed is held
    against its seal, which finds a flipped bit too. Only an index may have become another since: Numba writes it again, as a
    whole, when a function is compiled for further types.
    """
    seal = _read_seal(folder)
    for path in _files(folder):
        data = path.read_bytes()
        is_sealed_as_it_is = seal.get(_name(folder, path), _digest(data)) == _digest(data)
        if not data.endswith(b".") or not (is_sealed_as_it_is or _is_index(path, data)):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True, exist_ok=True)
            return True
    return False


def _is_index(path: Path, data: bytes) -> bool:
    """Whether the file names a code file for each overload (which may be yet to come), none of them twice."""
    if path.suffix != INDEX_SUFFIX:
        return False
    names = re.findall(re.escape(f"{path.stem}.").encode() + rb"\d+" + re.escape(CODE_SUFFIX).encode(), data)
    return 0 < len(names) == len(set(names))


def is_sealed(folder: Path) -> bool:
    """Whether everything was compiled here once: then nobody has to wait for anybody."""
    return bool(_read_seal(folder))


def seal(folder: Path) -> None:
    """Note what lies in the folder, after a kernel has run through: what is compiled now is all there is to compile."""
    digests = {_name(folder, path): _digest(path.read_bytes()) for path in _files(folder)}
    draft = folder / f".{SEAL}.{os.getpid()}"
    draft.write_text(json.dumps(digests))
    draft.replace(folder / SEAL)


@contextmanager
def compiling(should_stop: Callable[[], bool]) -> Iterator[None]:
    """Around the first kernel: where nothing is compiled yet, one process compiles and the others wait for its result.

    Two that start together would else both spend a minute on the same. The lock goes with its holder, however that ends.
    Where there is a core for it, part of the code is compiled by another process meanwhile.
    """
    folder = Path(str(numba.config.CACHE_DIR))
    if folder in _run_through:
        yield
        return
    if is_sealed(folder):
        before = _times(folder)
        yield
        # Other options, such as a second thread, need functions that the first kernel here did not.
        if _times(folder) != before:
            seal(folder)
        _run_through.add(folder)
        return
    # Somebody may have thrown the folder away since this process looked at it.
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        while not _taken(lock) and not should_stop():
            time.sleep(WAIT_S)
        with compiling_sm(folder, should_stop):
            yield
        seal(folder)
    _run_through.add(folder)


def _taken(lock: TextIO) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.suffix in (INDEX_SUFFIX, CODE_SUFFIX)]


def _times(folder: Path) -> dict[Path, int]:
    """When each file was written, in nanoseconds."""
    return {path: path.stat().st_mtime_ns for path in _files(folder)}


def _name(folder: Path, path: Path) -> str:
    return path.relative_to(folder).as_posix()


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _read_seal(folder: Path) -> dict[str, str]:
    try:
        return dict(json.loads((folder / SEAL).read_text()))
    except (OSError, ValueError):
        return {}
