"""``python -m sims.engine.front.smcode`` compiles the SM as every machine runs it, into the folder of compiled code."""

import numpy as np

from sims.engine.chunks import ChunkStore, Storage
from sims.engine.front.prepared import KeptProgram
from sims.engine.machine import Machine
from sims.engine.program import STATIC_DTYPE, KernelShape
from sims.gpus import load_shipped


def main() -> None:
    """Types of arguments are the same for every GPU and every kernel."""
    spec = next(iter(load_shipped().values()))
    shape = KernelShape("nothing", (1, 1, 1), (1, 1, 1), 0, 0)
    nothing = KeptProgram(shape, np.zeros(0, STATIC_DTYPE), [], np.zeros((0, 2), np.int64), {}, [])
    Machine(spec).compile_sm(ChunkStore(nothing, Storage(spec, register_banks=1)))


if __name__ == "__main__":
    main()
