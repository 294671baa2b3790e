"""The decoder's speed and memory: ``python -m tests.benchmarks.decode [REPEATS]``.

The sample trace's kernels, and kinds of instructions alone, each in a text long enough to measure; compilation left out. CPU
time of one core; memory is the process's peak. Over the reference material, when it is there, all its sm86 traces as well.
"""

import io
import lzma
import os
import resource
import sys
import time
from pathlib import Path

from sims.engine.decode import open_program
from tests.engine.kernel_texts import EXIT, cta, decode, header

PROJECT = Path(__file__).resolve().parents[2]
SAMPLES = PROJECT / "traces" / "samples"
LINES = {
    "arithmetic": "0010 ffffffff 1 R4 FFMA 3 R5 R6 R4 0 0 ",
    "coalesced loads": "0010 ffffffff 1 R4 LDG.E 1 R2 4 1 {address:#x} 4 0 ",
    "scattered loads": "0010 ffffffff 1 R4 LDG.E 1 R2 4 0 {scattered} 0 ",
    "shared memory": "0010 ffffffff 1 R4 LDS 1 R2 4 1 {offset:#x} 8 0 ",
}


def kind_text(line: str, count: int) -> str:
    """A kernel of ``count`` CTAs that run one kind of instruction 256 times."""
    blocks = []
    for i in range(count):
        fields = {
            "address": 0x7F4B00000000 + 128 * i,
            "offset": 128 * (i % 32),
            "scattered": " ".join(
                f"0x{0x7F4B00000000 + (lane * 7919 + i * 104729) % (1 << 24) * 4:016x}" for lane in range(32)
            ),
        }
        blocks.append(cta([line.format(**fields)] * 256 + [EXIT]))
    return header(ctas=count) + "".join(blocks)


def measure(name: str, texts: list[bytes]) -> None:
    """One row of the table."""
    instructions = 0
    started = time.process_time()
    for text in texts:
        with open_program(io.BytesIO(text), "kernel-1.traceg") as program:
            instructions += sum(len(chunk.static_ids) for chunk in program.chunks())
    seconds = time.process_time() - started
    size = sum(len(text) for text in texts)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{name:<34}{instructions:>12,}{instructions / seconds / 1e6:>9.1f}{size / seconds / 1e6:>8.0f}{peak:>9.0f}")


def trace_texts(folder: Path, repeats: int) -> list[bytes]:
    """The kernels of a trace, decompressed."""
    files = sorted(folder.glob("kernel-*.traceg.xz"))
    return [lzma.decompress(file.read_bytes()) for file in files] * repeats


def main() -> None:
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    decode(kind_text(LINES["arithmetic"], 1))
    print(f"{'text':<34}{'instructions':>12}{'M/s':>9}{'MB/s':>8}{'peak MB':>9}")
    for name, line in LINES.items():
        measure(name, [kind_text(line, 200 * repeats).encode()])
    for folder in sorted({path.parent for path in SAMPLES.rglob("kernelslist.g")}):
        measure(f"sample {folder.relative_to(SAMPLES).parts[0]}", trace_texts(folder, repeats))
    reference = Path(os.environ.get("CASCADE_SHARED", PROJECT.parent / "shared")) / "reference" / "accelsim" / "traces"
    for folder in sorted(reference.glob("*/sm86")):
        measure(folder.parent.name, trace_texts(folder, 1))


if __name__ == "__main__":
    main()
