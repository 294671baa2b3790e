"""Bodies that are sent in pieces: files and logs, whole or by ``Range``, in flat memory.

Under ASGI Django collects a sync iterator before it sends the first byte. :class:`Blocks` hands out the same blocks
asynchronously, each read in the request's own thread, so that database connections stay with the request.
"""

import re
from collections.abc import AsyncIterator, Callable, Generator
from contextlib import closing
from pathlib import Path
from typing import IO

from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase

BLOCK_BYTES = 256 * 1024

BlockSource = Callable[[int, int], Generator[bytes, None, None]]
"""Blocks of the bytes [start, end)."""

_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})", re.ASCII)


class Blocks:
    """A sync generator of blocks as an async iterable that closes it."""

    def __init__(self, blocks: Generator[bytes, None, None]) -> None:
        self._blocks = blocks

    async def __aiter__(self) -> AsyncIterator[bytes]:
        pull = sync_to_async(self._next)
        while (block := await pull()) is not None:
            yield block

    def _next(self) -> bytes | None:
        return next(self._blocks, None)

    def close(self) -> None:
        self._blocks.close()


def file_blocks(stream: IO[bytes], size_bytes: int) -> Generator[bytes, None, None]:
    """Blocks of the next ``size_bytes`` of an open stream, closed after the last or when the reader goes away."""
    with closing(stream):
        while size_bytes and (block := stream.read(min(size_bytes, BLOCK_BYTES))):
            size_bytes -= len(block)
            yield block


class UnsatisfiableRangeError(ValueError):
    """The range lies behind the end of the body."""


def byte_range(header: str, size_bytes: int) -> tuple[int, int] | None:
    """The bytes [start, end) that a ``Range`` header asks for; None where it is to be ignored (RFC 9110, 14.2).

    >>> byte_range("bytes=0-9", 100), byte_range("bytes=-10", 100), byte_range("bytes=90-", 100)
    ((0, 10), (90, 100), (90, 100))

    Raises :class:`UnsatisfiableRangeError` for a range that begins behind the end.
    """
    match = _RANGE.fullmatch(header.strip())
    if match is None or match.group(1) == match.group(2) == "":
        return None
    first, last = match.groups()
    if not first:
        start, end = max(size_bytes - int(last), 0), size_bytes
        if int(last) == 0:
            raise UnsatisfiableRangeError
    else:
        start, end = int(first), min(int(last) + 1, size_bytes) if last else size_bytes
        if last and int(last) < start:
            return None
    if start >= size_bytes:
        raise UnsatisfiableRangeError
    return start, end


def ranged(request: HttpRequest, size_bytes: int, read: BlockSource, content_type: str) -> HttpResponseBase:
    """200 with the whole body, 206 with the range that was asked for, or 416; HEAD without a body."""
    try:
        wanted = byte_range(request.headers.get("Range", ""), size_bytes)
    except UnsatisfiableRangeError:
        detail = f"The range lies behind the end: there are {size_bytes} bytes."
        refusal = JsonResponse({"detail": detail}, status=416)
        refusal["Content-Range"] = f"bytes */{size_bytes}"
        return refusal
    start, end = wanted or (0, size_bytes)
    response: HttpResponseBase
    if request.method == "HEAD":
        response = HttpResponse(status=206 if wanted else 200)
    else:
        response = StreamingHttpResponse(Blocks(read(start, end)), status=206 if wanted else 200)
    response["Content-Type"] = content_type
    response["Content-Length"] = str(end - start)
    response["Accept-Ranges"] = "bytes"
    if wanted:
        response["Content-Range"] = f"bytes {start}-{end - 1}/{size_bytes}"
    return response


def ranged_file(request: HttpRequest, path: Path, content_type: str) -> HttpResponseBase:
    """A file on this machine. Raises ``FileNotFoundError``."""
    stream = path.open("rb")

    def read(start: int, end: int) -> Generator[bytes, None, None]:
        stream.seek(start)
        return file_blocks(stream, end - start)

    response = ranged(request, path.stat().st_size, read, content_type)
    if not response.streaming:
        stream.close()
    return response


def streamed(
    request: HttpRequest, blocks: Generator[bytes, None, None], content_type: str = "application/json"
) -> HttpResponseBase:
    """A body of unknown length in pieces; HEAD without it.

    Its first piece is made here, while a failure can still be answered with a status.
    """
    if request.method == "HEAD":
        blocks.close()
        # An empty stream, and not an empty body: that would announce a length of 0.
        return StreamingHttpResponse(Blocks(_after(b"", blocks)), content_type=content_type)
    first = next(blocks, b"")
    return StreamingHttpResponse(Blocks(_after(first, blocks)), content_type=content_type)


def _after(first: bytes, rest: Generator[bytes, None, None]) -> Generator[bytes, None, None]:
    with closing(rest):
        if first:
            yield first
        yield from rest
