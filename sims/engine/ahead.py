"""Decoding ahead: the next part of a trace is decoded by a thread of its own while this one is simulated."""

from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
_END = object()


def one_ahead(items: Iterator[T]) -> Generator[T, None, None]:
    """The same items; each is made while the caller works on the one before it.

    At most one waits, so memory stays bounded. What ``items`` raises is raised where its item would have come. Closing
    the iterator waits for the item under way, so that what ``items`` reads from can be closed after it.
    """
    with ThreadPoolExecutor(1, "decode") as pool:
        upcoming = pool.submit(next, items, _END)
        while (item := upcoming.result()) is not _END:
            upcoming = pool.submit(next, items, _END)
            yield item  # type: ignore[misc]
