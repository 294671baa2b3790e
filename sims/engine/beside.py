"""The largest piece of compiled code, compiled by a process of its own while this one compiles the rest.

Numba holds one lock while it compiles, so threads would not help. Nor may two processes fill one folder: each would count up the
same file names. So the other process has a folder to itself, from which the finished code is copied.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
PROGRAM = "sims.engine.front.smcode"
CODE = "sm.run-*"
"""Files of the function that :data:`PROGRAM` compiles."""
WAIT_S = 0.05

_under_way: "SmCompiler | None" = None


class SmCompiler:
    """The process, and the folder that it fills."""

    def __init__(self, folder: Path, should_stop: Callable[[], bool]) -> None:
        self._folder, self._should_stop = folder, should_stop
        # Only one process compiles for a folder: what lies here is of one that was killed.
        place = folder.with_name(f"{folder.name}-beside")
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True, exist_ok=True)
        # A new name each time: the killed one's process may still be writing.
        self._own = Path(tempfile.mkdtemp(dir=place))
        paths = os.pathsep.join([str(PROJECT), *filter(None, [os.environ.get("PYTHONPATH")])])
        self._process = subprocess.Popen(
            [sys.executable, "-m", PROGRAM],
            env=os.environ | {"NUMBA_CACHE_DIR": str(self._own), "PYTHONPATH": paths},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def collect(self) -> None:
        """Wait for the code and copy it to the folder. Without it, whoever asks for it compiles it again."""
        while self._process.poll() is None and not self._should_stop():
            time.sleep(WAIT_S)
        if self._process.poll() == 0:
            # An index names its code's file, so it comes last.
            for path in sorted(self._own.rglob(CODE), key=lambda path: path.suffix == ".nbi"):
                place = self._folder.joinpath(*path.relative_to(self._own).parts[1:])
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(path, place)

    def end(self) -> None:
        """End the process and remove its folder."""
        self._process.kill()
        self._process.wait()
        shutil.rmtree(self._own.parent, ignore_errors=True)


@contextmanager
def compiling_sm(folder: Path, should_stop: Callable[[], bool]) -> Iterator[None]:
    """Have the SM compiled meanwhile, if it is not in the folder and there is a core for it."""
    global _under_way
    if len(os.sched_getaffinity(0)) < 2 or any(folder.rglob(CODE)):
        yield
        return
    _under_way = compiler = SmCompiler(folder, should_stop)
    try:
        yield
    finally:
        _under_way = None
        compiler.end()


def collect_sm() -> None:
    """Have the SM's code in the folder, if it is being compiled."""
    if _under_way is not None:
        _under_way.collect()
