"""The log parser's speed and memory: ``python -m tests.benchmarks.statlog [GIGABYTES]``.

Logs of three kinds, in chunks of 64 KiB: a real log's stats blocks over and over, one line per thread block (most of a
long run's log), and both mixed as in a run of large kernels. CPU time of one core; memory is the process's peak.
"""

import itertools
import lzma
import resource
import sys
import time
from collections.abc import Iterator

from sims.statlog import StatLog
from tests.conftest import FIXTURES

CHUNK_BYTES = 64 * 1024
THREAD_BLOCKS = b"".join(b"thread block = %d,0,0\n" % number for number in range(50_000))


def main() -> None:
    total_bytes = int(float(sys.argv[1] if len(sys.argv) > 1 else 0.1) * 1e9)
    blocks = lzma.decompress((FIXTURES / "statlog" / "babelstream_SM86_RTX3070.log.xz").read_bytes())
    kinds = {
        "stats blocks only": [blocks],
        "thread block lines only": [THREAD_BLOCKS],
        "large kernels": [blocks, *[THREAD_BLOCKS] * 10],
    }
    print(f"{'log':<26}{'MB':>8}{'MB/s':>8}{'kernels':>9}{'state kB':>10}{'peak MB':>9}")
    for name, pieces in kinds.items():
        measure(name, pieces, total_bytes)


def measure(name: str, pieces: list[bytes], total_bytes: int) -> None:
    """One row of the table."""
    log, fed = StatLog(), 0
    started = time.process_time()
    for chunk in chunks(pieces):
        log.feed(chunk)
        fed += len(chunk)
        if fed >= total_bytes:
            break
    seconds = time.process_time() - started
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    state_kb = len(log.to_state()) / 1e3
    print(
        f"{name:<26}{fed / 1e6:>8.0f}{fed / 1e6 / seconds:>8.1f}{log.facts.kernels:>9}{state_kb:>10.1f}{peak_mb:>9.0f}"
    )


def chunks(pieces: list[bytes]) -> Iterator[bytes]:
    """The pieces for ever, cut into chunks."""
    for piece in itertools.cycle(pieces):
        for start in range(0, len(piece), CHUNK_BYTES):
            yield piece[start : start + CHUNK_BYTES]


if __name__ == "__main__":
    main()
