"""Model fields of our own."""

from typing import Any

from django.db import models


def storable_text(text: str) -> str:
    """The text as every database can keep it: PostgreSQL has no NUL in texts, and UTF-8 no half of a surrogate pair."""
    return text.encode("utf-8", "replace").decode().replace("\0", "\N{REPLACEMENT CHARACTER}")


class UnsignedField(models.CharField):
    """A whole number from 0 to 2**64 - 1, exact on every database; it has no order there.

    CUDA stream ids may be 64-bit pointers. No integer column is unsigned, and SQLite keeps a decimal that large as a
    float.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("max_length", 20)
        super().__init__(*args, **kwargs)

    def from_db_value(self, value: str | None, *_: Any) -> int | None:
        return None if value is None else int(value)

    def to_python(self, value: Any) -> int | None:
        return None if value in (None, "") else int(value)

    def get_prep_value(self, value: Any) -> str | None:
        return None if value is None else str(int(value))
