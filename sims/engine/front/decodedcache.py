"""Decoded kernels kept on disk, so that the second simulation of a trace decompresses and decodes nothing.

A file is named after what it was made from: the stored bytes of the kernel file and the decoder's own sources. So it
is never stale; what is damaged is deleted and made again; the folder is kept below its limit, the files used longest
ago going first.
"""

import hashlib
import json
import os
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import zstandard

from sims.engine.front.gridfacts import GridFacts
from sims.engine.front.prepared import CHUNK_ARRAYS, KEEP_BYTES, KeptProgram, Prepared
from sims.engine.program import STATIC_DTYPE, CtaChunk, KernelShape

LIMIT_BYTES = 4 << 30
MAX_SOURCE_BYTES = 1 << 30
"""Larger kernel files are not looked at twice to name them."""
SUFFIX = ".kernel"
_ENGINE = Path(__file__).resolve().parent.parent
_DIGEST_BYTES = 16
_DTYPES: dict[str, Any] = {
    "statics": STATIC_DTYPE,
    "counts": np.int64,
    "warp_start": np.int64,
    "warp_length": np.int32,
    "static_ids": np.uint16,
    "operands": np.int32,
    "sector_addresses": np.int64,
    "sector_masks": np.uint32,
    "cluster_ids": np.int64,
    "cluster_ranks": np.int64,
}
_COLUMNS = {"counts": 2}
_LEVEL = 1
"""Of compression: the arrays repeat so much that the fastest level makes them small."""


@cache
def decoder_identity() -> bytes:
    """A hash over the sources that decide what a kernel file is decoded to."""
    digest = hashlib.blake2b(np.__version__.encode(), digest_size=_DIGEST_BYTES)
    sources = [*(_ENGINE / "decode").glob("*.py"), *(_ENGINE / "isa").glob("*.py"), _ENGINE / "program.py"]
    for path in sorted(
        [*sources, *(Path(__file__).parent / name for name in ("digest.py", "prepared.py", "decodedcache.py"))]
    ):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.digest()


def default_folder() -> Path:
    """Under the service's data, or the user's cache."""
    data = os.environ.get("CASCADE_DATA")
    return Path(data) / "decoded" if data else Path.home() / ".cache" / "cascade" / "decoded"


class DecodedCache:
    """A folder of decoded kernels. A folder that cannot be used is no error: nothing is kept then."""

    def __init__(self, folder: Path | None = None, limit_bytes: int = LIMIT_BYTES) -> None:
        self.folder = folder or default_folder()
        self._limit_bytes = limit_bytes
        self._held_bytes: int | None = None
        """Of all files; None until they are counted."""

    def path_for(self, file: Path) -> Path | None:
        """Where the decoded form of a kernel file is kept; None for a file that is too large, or not there."""
        try:
            if file.stat().st_size > MAX_SOURCE_BYTES:
                return None
            with file.open("rb") as stream:
                content = hashlib.file_digest(stream, lambda: hashlib.blake2b(digest_size=_DIGEST_BYTES))
        except OSError:
            return None
        content.update(decoder_identity() + file.suffixes[-1].encode())
        return self.folder / f"{content.hexdigest()}{SUFFIX}"

    def load(self, path: Path) -> Prepared | None:
        """The kept kernel, if there is a sound one."""
        try:
            data = path.read_bytes()
        except OSError:
            return None
        try:
            prepared = _unpacked(data)
            os.utime(path)
        except (ValueError, KeyError, TypeError, EOFError, OSError, zstandard.ZstdError):
            path.unlink(missing_ok=True)
            return None
        return prepared

    def store(self, path: Path, prepared: Prepared) -> None:
        """Keep a kernel, whole or not at all; make room for it first."""
        if prepared.program is None:
            return
        data = _packed(prepared, prepared.program)
        if len(data) > self._limit_bytes // 4:
            return
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._make_room(len(data))
            with tempfile.NamedTemporaryFile(dir=self.folder, delete=False) as file:
                file.write(data)
            Path(file.name).replace(path)
        except OSError:
            return

    def _make_room(self, size: int) -> None:
        if self._held_bytes is None or self._held_bytes + size > self._limit_bytes:
            kept = sorted(
                (entry.stat().st_mtime, entry.stat().st_size, entry) for entry in self.folder.glob(f"*{SUFFIX}")
            )
            self._held_bytes = sum(entry_size for _, entry_size, _ in kept)
            for _, entry_size, entry in kept:
                if self._held_bytes + size <= self._limit_bytes:
                    break
                entry.unlink(missing_ok=True)
                self._held_bytes -= entry_size
        self._held_bytes += size


def _packed(prepared: Prepared, program: KeptProgram) -> bytes:
    """Checksum, then one zstd frame: a line of JSON, then the arrays one after the other."""
    arrays = {"statics": prepared.statics, "counts": prepared.counts}
    arrays |= {name: np.concatenate([getattr(chunk, name) for chunk in program.kept]) for name in CHUNK_ARRAYS}
    facts = {
        "signature": prepared.signature,
        "shape": {name: getattr(prepared.shape, name) for name in KernelShape.__dataclass_fields__},
        "opcodes": program.opcodes,
        "unknown_opcodes": program.unknown_opcodes,
        "arrays": {name: len(array) for name, array in arrays.items()},
        "chunks": [[chunk.first_cta, chunk.ctas] for chunk in program.kept],
        "lengths": {name: [len(getattr(chunk, name)) for chunk in program.kept] for name in CHUNK_ARRAYS},
    }
    plain = b"".join([json.dumps(facts).encode(), b"\n", *(array.tobytes() for array in arrays.values())])
    frame = zstandard.ZstdCompressor(level=_LEVEL).compress(plain)
    return hashlib.blake2b(frame, digest_size=_DIGEST_BYTES).digest() + frame


def _unpacked(data: bytes) -> Prepared:
    """The kernel of :func:`_packed`. Raises ``ValueError`` and the like for anything else."""
    checksum, frame = data[:_DIGEST_BYTES], data[_DIGEST_BYTES:]
    if hashlib.blake2b(frame, digest_size=_DIGEST_BYTES).digest() != checksum:
        raise ValueError("damaged")
    plain = zstandard.ZstdDecompressor().decompress(frame, max_output_size=2 * KEEP_BYTES)
    line, _, _ = plain.partition(b"\n")
    facts: dict[str, Any] = json.loads(line)
    arrays, position = {}, len(line) + 1
    for name, length in facts["arrays"].items():
        arrays[name] = np.frombuffer(plain, _DTYPES[name], length * _COLUMNS.get(name, 1), position)
        position += arrays[name].nbytes
    return _prepared(facts, arrays)


def _prepared(facts: dict[str, Any], arrays: dict[str, Any]) -> Prepared:
    parts = {name: np.split(arrays[name], np.cumsum(facts["lengths"][name])[:-1]) for name in CHUNK_ARRAYS}
    chunks = [
        CtaChunk(first_cta, ctas, **{name: parts[name][i] for name in CHUNK_ARRAYS})
        for i, (first_cta, ctas) in enumerate(facts["chunks"])
    ]
    launch: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in facts["shape"].items()}
    shape = KernelShape(**launch)
    statics, counts = arrays["statics"], arrays["counts"].reshape(-1, 2)
    program = KeptProgram(shape, statics, facts["opcodes"], counts, facts["unknown_opcodes"], chunks)
    grid = GridFacts.of(chunks, shape.warps_per_cta)
    return Prepared(facts["signature"], shape, statics, counts, grid, program)
