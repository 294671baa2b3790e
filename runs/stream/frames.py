"""The ``text/event-stream`` format: journal rows as frames."""

from collections.abc import Iterable

KEEP_ALIVE = b": keep-alive\n\n"
"""A comment: clients ignore it, proxies see traffic."""


def frame(event_id: int, kind: str, data: str) -> str:
    """One event. ``data`` is JSON as :func:`runs.events.encode` writes it: a single line.

    >>> frame(7, "log", '{"offset":0}')
    'id: 7\\nevent: log\\ndata: {"offset":0}\\n\\n'
    """
    return f"id: {event_id}\nevent: {kind}\ndata: {data}\n\n"


def encode_frames(rows: Iterable[tuple[int, str, str]]) -> bytes:
    """``(id, type, data)`` rows as the bytes of their frames."""
    return "".join(frame(*row) for row in rows).encode()
