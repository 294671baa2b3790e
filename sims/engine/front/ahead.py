"""Decoding ahead: the next part of a trace, then the next kernel's first, is decoded while this one is simulated."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from types import TracebackType
from typing import Self

from sims.engine.decode import open_program
from sims.engine.decode.text import CHUNK_INSTRUCTIONS
from sims.engine.front.plan import Launch
from sims.engine.program import CtaChunk, Program, ProgramView


class Begun:
    """A kernel's file, open, and its first chunk. Raises ``TraceError``."""

    def __init__(self, launch: Launch, chunk_instructions: int) -> None:
        with ExitStack() as stack:
            self.program = stack.enter_context(open_program(launch.file, chunk_instructions=chunk_instructions))
            self.chunks = self.program.chunks()
            self.first = next(self.chunks, None)
            self.file = stack.pop_all()


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
            chunk = self._upcoming.result()

    def close(self) -> None:
        """Wait for what is under way, so that the trace can be closed."""
        if self._upcoming is not None and not self._upcoming.cancel():
            self._upcoming.exception()
        self._begun.file.close()

    def _decode(self) -> CtaChunk | None:
        chunk = next(self._begun.chunks, None)
        if chunk is None:
            self._when_decoded()
        return chunk


class Opener:
    """Opens kernels. With a ``pool`` they are decoded ahead there, beyond the kernel's end if they are opened ``in_a_row``."""

    def __init__(self, in_a_row: list[Launch], pool: ThreadPoolExecutor | None) -> None:
        self._following = {launch.uid: after for launch, after in pairwise(in_a_row)}
        self._pool = pool
        self._begun: dict[int, Future[Begun]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for begun in self._begun.values():
            if not begun.cancel() and begun.exception() is None:
                begun.result().file.close()

    @contextmanager
    def open(self, launch: Launch, chunk_instructions: int = CHUNK_INSTRUCTIONS) -> Iterator[Program]:
        """The launch's program. Raises ``TraceError``."""
        if self._pool is None:
            with open_program(launch.file, chunk_instructions=chunk_instructions) as program:
                yield program
            return
        begun = self._begun.pop(launch.uid, None) or self._pool.submit(Begun, launch, chunk_instructions)
        ahead = AheadProgram(begun.result(), self._pool, lambda: self._begin_next(launch, chunk_instructions))
        try:
            yield ahead
        finally:
            ahead.close()

    def _begin_next(self, launch: Launch, chunk_instructions: int) -> None:
        following = self._following.get(launch.uid)
        if following is not None and self._pool is not None:
            self._begun[following.uid] = self._pool.submit(Begun, following, chunk_instructions)
