"""How far a simulation is: what its log says, and what the simulator writes beside it."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sims.gpus import GpuSpec
from sims.statlog import KernelBlock, LogFacts, StatLog

TAIL_BYTES = 16 * 1024
MOST_TEXT = 200


class LogReading:
    """The log as far as it was printed, parsed for progress, verdict and timeline.

    The app parses its own copy for the results.
    """

    def __init__(self, spec: GpuSpec, kernel_indices: Sequence[int]) -> None:
        self._parser = StatLog()
        self._spec = spec
        self._kernel_indices = kernel_indices
        self.kernels_done = 0
        self.simulated_ns: dict[int, float] = {}
        """By the kernel's index in the trace, launch latency left out."""

    def feed(self, text: bytes) -> bool:
        """Take the log's next bytes; whether a kernel was finished in them."""
        return self._take(self._parser.feed(text)) if text else False

    def finish(self) -> None:
        self._take(self._parser.finish())

    def _take(self, blocks: list[KernelBlock]) -> bool:
        kernels = [block for block in blocks if block.is_kernel]
        for block in kernels:
            self.kernels_done += 1
            if block.cycles is not None:
                launch_cycles = (
                    block.launch_cycles if block.launch_cycles is not None else self._spec.launch_latency_cycles
                )
                cycles = block.cycles - min(launch_cycles, block.cycles)
                self.simulated_ns[self._index(block)] = cycles * 1e3 / self._spec.core_clock_mhz
        return bool(kernels)

    def _index(self, block: KernelBlock) -> int:
        launch = block.launch_uid or self.kernels_done
        chosen = self._kernel_indices
        return chosen[launch - 1] if 0 < launch <= len(chosen) else launch

    @property
    def software(self) -> dict[str, str]:
        """The builds that the log names as its writer's."""
        facts = self.facts
        gpgpusim = " ".join(text for text in (facts.gpgpusim_version, facts.gpgpusim_build) if text)
        told = {"accel-sim": facts.accelsim_build, "gpgpu-sim": gpgpusim}
        return {name: text[:MOST_TEXT] for name, text in told.items() if text}

    @property
    def facts(self) -> LogFacts:
        return self._parser.facts


class ProgressFile:
    """The last complete line of a file that a simulator appends JSON objects to."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._seen: tuple[int, int] | None = None
        self.latest: dict[str, Any] = {}

    def look(self) -> bool:
        """Read what is new; whether anything was."""
        if self._path is None:
            return False
        try:
            status = self._path.stat()
            if self._seen == (status.st_size, status.st_mtime_ns):
                return False
            self._seen = (status.st_size, status.st_mtime_ns)
            self.latest = self._last_object(status.st_size) or self.latest
        except OSError:
            return False
        return True

    def _last_object(self, size_bytes: int) -> dict[str, Any] | None:
        assert self._path is not None
        with self._path.open("rb") as file:
            file.seek(max(0, size_bytes - TAIL_BYTES), os.SEEK_SET)
            complete, _, _ = file.read(TAIL_BYTES).rpartition(b"\n")
        try:
            value = json.loads(complete.rpartition(b"\n")[2])
        except ValueError:
            return None
        return value if isinstance(value, dict) else None
