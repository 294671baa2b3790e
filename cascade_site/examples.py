"""Captured answers of the API: trimmed to what a page can show, and kept in ``docs/examples/``."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from django.conf import settings

MOST_ITEMS = 2
MOST_KEYS = 30
MOST_STATS = 6
MOST_TEXT = 600

_MARK = "\u2026trimmed "
"""Begins the placeholder that stands for what was cut until the JSON is written; no answer has it."""


@dataclass(frozen=True, slots=True)
class Example:
    """One answer."""

    status: int
    content_type: str
    body: str


def folder() -> Path:
    return Path(settings.BASE_DIR) / "docs" / "examples"


def save(operation_id: str, example: Example) -> None:
    folder().mkdir(parents=True, exist_ok=True)
    text = json.dumps(asdict(example), indent=2, ensure_ascii=False)
    (folder() / f"{operation_id}.json").write_text(text + "\n", encoding="utf-8")


def load(operation_id: str) -> Example | None:
    """The captured answer of an operation; None where none was captured."""
    path = folder() / f"{operation_id}.json"
    return Example(**json.loads(path.read_text(encoding="utf-8"))) if path.exists() else None


def shown(content_type: str, body: bytes) -> str:
    """A body as the page shows it: JSON laid out and trimmed, each cut marked with a comment; other text cut short."""
    text = body.decode("utf-8", "replace")
    if content_type.startswith("application/json"):
        lines = json.dumps(trimmed(json.loads(text)), indent=2, ensure_ascii=False).splitlines()
        return "\n".join(_comment(line) if _MARK in line else line for line in lines)
    rest = len(text) - MOST_TEXT
    return text if rest <= 0 else f"{text[:MOST_TEXT]}\n/* {rest} more characters, trimmed */"


def trimmed(value: Any, is_stats: bool = False) -> Any:
    """A JSON value with long lists, long maps and long texts cut."""
    if isinstance(value, list):
        if all(not isinstance(item, dict | list) for item in value) and len(value) <= 8:
            return value
        kept = [trimmed(item) for item in value[:MOST_ITEMS]]
        return kept + _rest(len(value) - MOST_ITEMS)
    if isinstance(value, dict):
        most = MOST_STATS if is_stats else MOST_KEYS
        kept_map = {
            name: trimmed(item, is_stats=name in ("stats", "config")) for name, item in list(value.items())[:most]
        }
        return kept_map | dict.fromkeys(_rest(len(value) - most))
    return value


def _rest(count: int) -> list[str]:
    return [f"{_MARK}{count}"] if count > 0 else []


def _comment(line: str) -> str:
    indent = line[: len(line) - len(line.lstrip())]
    count = line.partition(_MARK)[2].partition('"')[0]
    return f"{indent}/* {count} more, trimmed */"
