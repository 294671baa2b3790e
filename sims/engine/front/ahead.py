"""Decoding ahead: the next part of a trace, then the first one of the next kernels, is decoded while this one is simulated."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from types import TracebackType
from typing import Self

from sims.engine.decode import open_program
from sims.engine.decode.text import CHUNK_INSTRUCTIONS
from sims.engine.front.plan import Launch
from sims.engine.front.readahead import ReadAhead, result_of
from sims.engine.program import CtaChunk, Program, ProgramView

KERNELS_AHEAD = 3
"""Kernels of which the first chunk is decoded before their turn: after a short one there would be none with one alone."""


class Begun:
    """A kernel's file, which ``pool`` opens, and its first chunk, which it decodes. There to be waited for."""

    def __init__(self, launch: Launch, chunk_instructions: int, pool: ThreadPoolExecutor) -> None:
        self.reading = ReadAhead()
        self.file = ExitStack()
        self._begun = pool.submit(self._begin, launch, chunk_instructions)

    def _begin(self, launch: Launch, chunk_instructions: int) -> None:
        opened = open_program(launch.file, chunk_instructions=chunk_instructions, read_by=self.reading.of)
        self.program = self.file.enter_context(opened)
        self.chunks = self.program.chunks()
        self.first = next(self.chunks, None)

    def wait(self) -> None:
        """Until all is there. Raises ``TraceError``."""
        result_of(self._begun, self.reading)

    def close(self) -> None:
        """Close the file, once nobody opens it any more."""
        if not self._begun.cancel():
            self._begun.exception()
        self.file.close()


class AheadProgram(ProgramView):
    """A program of which the next chunk is under way on ``pool``; ``when_decoded`` is called there after the last.

    At most one waits, so memory stays bounded. What the program raises is raised where the chunk would have come.
    """

    def __init__(self, begun: Begun, pool: ThreadPoolExecutor, when_decoded: Callable[[], None]) -> None:
        super().__init__(begun.program)
        self._begun, self._pool, self._when_decoded = begun, pool, when_decoded
        self._upcoming: Future[CtaChunk | None] | None = None

    def chunks(self) -> Iterator[CtaChunk]:
        """The same chunks."""
        chunk = self._begun.first
        while chunk is not None:
            self._upcoming = self._pool.submit(self._decode)
            yield chunk
            chunk = result_of(self._upcoming, self._begun.reading)

    def close(self) -> None:
        """Wait for what is under way, so that the trace can be closed."""
        if self._upcoming is not None and not self._upcoming.cancel():
            self._upcoming.exception()

    def _decode(self) -> CtaChunk | None:
        chunk = next(self._begun.chunks, None)
        if chunk is None:
            self._when_decoded()
        return chunk


class Opener:
    """Opens kernels. With a ``pool`` they are decoded ahead there, and those that are opened ``in_a_row`` before their turn."""

    def __init__(
        self,
        in_a_row: list[Launch],
        pool: ThreadPoolExecutor | None,
        chunk_instructions: int = CHUNK_INSTRUCTIONS,
    ) -> None:
        self._in_a_row = in_a_row
        self._place = {launch.uid: place for place, launch in enumerate(in_a_row)}
        self._pool = pool
        self._chunk_instructions = chunk_instructions
        self._begun: dict[int, Begun] = {}

    def __enter__(self) -> Self:
        if self._pool is not None and self._in_a_row:
            self._begin(self._in_a_row[:1], self._pool)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for begun in self._begun.values():
            begun.close()

    @contextmanager
    def open(self, launch: Launch) -> Iterator[Program]:
        """The launch's program. Raises ``TraceError``."""
        if self._pool is None:
            with open_program(launch.file, chunk_instructions=self._chunk_instructions) as program:
                yield program
            return
        pool = self._pool
        begun = self._begun.pop(launch.uid, None) or Begun(launch, self._chunk_instructions, pool)
        try:
            begun.wait()
            ahead = AheadProgram(begun, pool, lambda: self._begin_next(launch, pool))
            with closing(ahead):
                yield ahead
        finally:
            begun.close()

    def _begin_next(self, launch: Launch, pool: ThreadPoolExecutor) -> None:
        after = self._place.get(launch.uid, len(self._in_a_row)) + 1
        self._begin(self._in_a_row[after : after + KERNELS_AHEAD], pool)

    def _begin(self, launches: list[Launch], pool: ThreadPoolExecutor) -> None:
        for launch in launches:
            if launch.uid not in self._begun:
                self._begun[launch.uid] = Begun(launch, self._chunk_instructions, pool)
