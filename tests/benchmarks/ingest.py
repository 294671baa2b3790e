"""How fast traces come in: 2,000 kernels from their headers, archives, and bodies counted and hashed.

python -m tests.benchmarks.ingest
"""

import gzip
import io
import lzma
import resource
import tarfile
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import zstandard

from tests.traces.builders import kernel_bytes
from traces.accelsim.content import read_content
from traces.archives import read_archive
from traces.rundir import read_run_directory
from traces.sample import SAMPLE_RUN_DIRECTORY
from traces.sources import FolderSource

KERNELS = 2_000
SPARSE_BYTES = 50 << 20
"""Bodies that nobody reads: holes in the file after its header, 100 GB in all."""
COMPRESSORS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".xz": lzma.compress,
    ".gz": gzip.compress,
    ".zst": zstandard.compress,
}


def write_trace(folder: Path, suffix: str, sparse_bytes: int = 0) -> None:
    names = [f"kernel-{n}.traceg{suffix}" for n in range(1, KERNELS + 1)]
    (folder / "kernelslist.g").write_text("\n".join(names))
    data = COMPRESSORS[suffix](kernel_bytes(ctas=200))
    for name in names:
        with (folder / name).open("wb") as file:
            file.write(data)
            if sparse_bytes:
                file.truncate(sparse_bytes)


def report(what: str, seconds: float, detail: str = "") -> None:
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{what:<46} {seconds:8.2f} s  {detail:<22} peak {peak_mb:.0f} MB")


def ingest(suffix: str, sparse_bytes: int = 0) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_trace(folder, suffix, sparse_bytes)
        started = time.perf_counter()
        found = read_run_directory(FolderSource(folder))
        size = f"{found.size_bytes / 1e9:.2f} GB"
        report(f"headers of {KERNELS} kernels {suffix or 'plain'}", time.perf_counter() - started, size)


def archive() -> None:
    out = io.BytesIO()
    with tempfile.TemporaryDirectory() as name, tarfile.open(fileobj=out, mode="w:gz", compresslevel=1) as tar:
        write_trace(Path(name), ".xz")
        tar.add(name, arcname="trace")
    out.seek(0)
    started = time.perf_counter()
    found = read_run_directory(read_archive(out, "trace.tar.gz"))
    report(f"a .tar.gz of {len(found.kernels)} kernels", time.perf_counter() - started)


def content() -> None:
    folder = SAMPLE_RUN_DIRECTORY / "traced/traces"
    started = time.perf_counter()
    text_bytes = sum(read_content(path).text_bytes for path in sorted(folder.glob("kernel-*")))
    seconds = time.perf_counter() - started
    report("counting and hashing the sample's bodies", seconds, f"{text_bytes / seconds / 1e6:.0f} MB/s of text")


if __name__ == "__main__":
    ingest("", SPARSE_BYTES)
    for kind in COMPRESSORS:
        ingest(kind)
    archive()
    content()
