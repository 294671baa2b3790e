"""A plain reader of ``text/event-stream``: what any client does, without reconnecting by itself."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx


@dataclass(frozen=True, slots=True)
class Event:
    """One event; ``data`` as parsed JSON."""

    id: str
    kind: str
    data: Any


class Stream:
    """One connection. Iterating it opens it, yields its events and ends when the server ends it."""

    def __init__(self, url: str, headers: dict[str, str], last_event_id: str | None = None) -> None:
        self.url = url
        self.headers = headers if last_event_id is None else {**headers, "Last-Event-ID": last_event_id}
        self.status: int | None = None
        self.comments = 0

    def __iter__(self) -> Iterator[Event]:
        with httpx.stream("GET", self.url, headers=self.headers, timeout=httpx.Timeout(10, read=60)) as response:
            self.status = response.status_code
            if response.status_code == 200:
                yield from self._parse(response.iter_lines())

    def _parse(self, lines: Iterator[str]) -> Iterator[Event]:
        fields: dict[str, str] = {}
        for line in lines:
            if line.startswith(":"):
                self.comments += 1
            elif line:
                name, _, value = line.partition(": ")
                fields[name] = value
            elif fields:
                yield Event(fields["id"], fields["event"], json.loads(fields["data"]))
                fields = {}
