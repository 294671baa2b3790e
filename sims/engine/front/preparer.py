"""Decodes kernels in the order of the list, from the cache where it can, and with a pool of threads one ahead."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Self

from sims.engine.decode.statics import TableShelf
from sims.engine.front.decodedcache import DecodedCache
from sims.engine.front.options import Options
from sims.engine.front.plan import Launch
from sims.engine.front.prepared import KEEP_BYTES, Prepared, prepare


class Preparer:
    """Kernels decoded one at a time; with a ``pool`` the next one there while the current one is simulated."""

    def __init__(
        self,
        options: Options,
        launches: list[Launch],
        stop_if_asked: Callable[[], None],
        pool: ThreadPoolExecutor | None = None,
    ) -> None:
        self._cache = DecodedCache() if options.decoded_cache else None
        self._share = options.shared_streams
        self._stop_if_asked = stop_if_asked
        self._shelf = TableShelf()
        self._waiting = list(launches)
        self._pool = pool
        self._coming: dict[int, Future[Prepared]] = {}

    def __enter__(self) -> Self:
        self._begin_next()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for coming in self._coming.values():
            if not coming.cancel():
                coming.exception()

    def take(self, launch: Launch) -> Prepared:
        """The launch, decoded; launches must be taken in order. Raises ``TraceError``."""
        self._waiting.remove(launch)
        if self._pool is None:
            return self._prepare(launch)
        prepared = self._coming.pop(launch.uid).result()
        self._begin_next()
        return prepared

    def _begin_next(self) -> None:
        if self._pool is not None and self._waiting:
            following = self._waiting[0]
            self._coming[following.uid] = self._pool.submit(self._prepare, following)

    def _prepare(self, launch: Launch) -> Prepared:
        path = self._cache.path_for(launch.file) if self._cache else None
        if self._cache and path and (kept := self._cache.load(path)):
            return kept
        prepared = prepare(launch.file, self._shelf, self._stop_if_asked, share=self._share, keep_bytes=KEEP_BYTES)
        if self._cache and path:
            self._cache.store(path, prepared)
        return prepared
