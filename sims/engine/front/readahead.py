"""A trace's text, read and decompressed by two threads in turn: by who decodes it, and by who waits for that."""

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, wait
from threading import Lock
from typing import TypeVar

Result = TypeVar("Result")

ROOM_BLOCKS = 16
PAUSE_S = 0.0005
"""Between two looks while there is nothing to do but wait."""


class ReadAhead:
    """An iterator of the blocks :meth:`of` a body, some of which :meth:`read_one` has read before they were asked for.

    One thread asks for blocks, any may read ahead. What the body's reader raises is raised where its block would have come.
    """

    def __init__(self) -> None:
        self._blocks: Iterator[bytes] | None = None
        self._waiting: deque[bytes | Exception | None] = deque()
        """Blocks, then an error or None for the end."""
        self.has_all = False
        """Whether there is nothing more to read."""
        self._lock = Lock()

    def of(self, blocks: Iterator[bytes]) -> Iterator[bytes]:
        """These blocks; there is nothing to read before."""
        self._blocks = blocks
        return self

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        if not self._waiting:
            with self._lock:
                # Who had the lock has read one.
                if not self._waiting:
                    self._read()
        block = self._waiting.popleft()
        if block is None:
            raise StopIteration
        if isinstance(block, Exception):
            raise block
        return block

    def read_one(self) -> bool:
        """Read one more block ahead; False where enough wait or there is none."""
        with self._lock:
            if self._blocks is None or self.has_all or len(self._waiting) >= ROOM_BLOCKS:
                return False
            self._read()
            return True

    def _read(self) -> None:
        try:
            block: bytes | Exception | None = next(self._blocks or iter(()), None)
        except Exception as error:
            # Nothing comes from the body's reader after it.
            block = error
        self._waiting.append(block)
        self.has_all = not isinstance(block, bytes)


def result_of(future: Future[Result], reading: ReadAhead) -> Result:
    """What another thread makes of the blocks; until it is there this one reads ahead for it."""
    while not future.done() and not reading.has_all:
        if not reading.read_one():
            wait([future], PAUSE_S)
    return future.result()
