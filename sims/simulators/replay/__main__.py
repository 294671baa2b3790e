"""``python -m sims.simulators.replay LOG SECONDS`` prints a log (plain, .xz, .gz or .zst), spread over that time."""

import sys
import time
from pathlib import Path
from typing import BinaryIO

from traces.accelsim import TraceError, open_file

BLOCK_BYTES = 256 * 1024
STEPS_PER_SECOND = 20


def main(log: str, seconds: str) -> None:
    path, duration_s = Path(log), float(seconds)
    try:
        if duration_s:
            play_paced(path, sys.stdout.buffer, duration_s)
        else:
            play(path, sys.stdout.buffer)
    except TraceError as error:
        sys.exit(f"The recorded log cannot be replayed: {error}")


def play(path: Path, out: BinaryIO) -> None:
    """The whole log at once."""
    with open_file(path) as file:
        while block := file.read(BLOCK_BYTES):
            out.write(block)
    out.flush()


def play_paced(path: Path, out: BinaryIO, duration_s: float) -> None:
    """The log in equal pieces, at equal times."""
    steps = max(1, round(duration_s * STEPS_PER_SECOND))
    piece_bytes = -(-_size_bytes(path) // steps) or 1
    started = time.monotonic()
    with open_file(path) as file:
        for step in range(1, steps + 1):
            time.sleep(max(0.0, started + duration_s * step / steps - time.monotonic()))
            out.write(file.read(piece_bytes))
            out.flush()


def _size_bytes(path: Path) -> int:
    with open_file(path) as file:
        return sum(len(block) for block in iter(lambda: file.read(BLOCK_BYTES), b""))


if __name__ == "__main__":
    main(*sys.argv[1:])
