"""Serializer building blocks of the API: strictness on the way in, one shape on the way out."""

import json
import re
from typing import Any

from django.core.validators import ProhibitNullCharactersValidator
from rest_framework import serializers
from rest_framework.renderers import JSONRenderer

LARGEST_INT32 = 2**31 - 1
LARGEST_INT64 = 2**63 - 1


class StrictSerializer(serializers.Serializer[Any]):
    """A request body: unknown fields are errors, not noise."""

    def to_internal_value(self, data: Any) -> Any:
        unknown = sorted(set(data) - set(self.fields)) if isinstance(data, dict) else []
        if unknown:
            raise serializers.ValidationError({clean_key(name): "This field is not known here." for name in unknown})
        return super().to_internal_value(data)


def clean_key(name: str) -> str:
    """A client's field name, short enough to be repeated in an answer."""
    return name if len(name) <= 80 else f"{name[:77]}..."


class Text(serializers.CharField):
    """A JSON string; DRF's own field would also take numbers."""

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            raise serializers.ValidationError("Must be a string.")
        return super().to_internal_value(data)


class RawText(Text):
    """A JSON string taken as it is: blanks, line ends and NUL characters are part of a simulator's output."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(allow_blank=True, trim_whitespace=False, **kwargs)
        self.validators = [v for v in self.validators if not isinstance(v, ProhibitNullCharactersValidator)]


class Whole(serializers.IntegerField):
    """A JSON whole number; DRF's own field would also take ``"5"``."""

    def to_internal_value(self, data: Any) -> int:
        if isinstance(data, bool) or not isinstance(data, int):
            raise serializers.ValidationError("Must be a whole number.")
        return super().to_internal_value(data)


class Flag(serializers.BooleanField):
    """``true`` or ``false``; DRF's own field would also take ``"yes"``."""

    def to_internal_value(self, data: Any) -> bool:
        if not isinstance(data, bool):
            raise serializers.ValidationError("Must be true or false.")
        return data


class Map(serializers.DictField):
    """A JSON object with anything in it that the database can store."""

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        if not isinstance(data, dict):
            raise serializers.ValidationError("Must be an object.")
        if has_null_character(data):
            raise serializers.ValidationError("Null characters are not allowed.")
        return data


class TextMap(Map):
    """A JSON object of short texts, few of them."""

    MOST_TEXTS = 50
    MOST_CHARACTERS = 200

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        texts = super().to_internal_value(data)
        if len(texts) > self.MOST_TEXTS:
            raise serializers.ValidationError(f"May have at most {self.MOST_TEXTS} names.")
        for part in (part for pair in texts.items() for part in pair):
            if not isinstance(part, str) or len(part) > self.MOST_CHARACTERS:
                raise serializers.ValidationError(f"Must hold texts of at most {self.MOST_CHARACTERS} characters.")
        return texts


def has_null_character(value: Any) -> bool:
    """Whether a JSON value has a NUL in any of its texts: PostgreSQL stores none."""
    if isinstance(value, str):
        return "\0" in value
    if isinstance(value, dict):
        return any(has_null_character(part) for pair in value.items() for part in pair)
    return isinstance(value, list) and any(has_null_character(part) for part in value)


class IntegerArray(serializers.ListField):
    """``[x, y, z]``."""

    child = serializers.IntegerField()


TRACE_ID = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}", re.ASCII)
FILE_NAME = TRACE_ID
"""One segment, not hidden, in letters that mean nothing to a shell, a URL or a file system."""


def dumped(data: Any) -> bytes:
    """Plain values as JSON; a NaN is a defect and raises."""
    return json.dumps(data, allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode()


def to_json(data: Any) -> bytes:
    """An answer's JSON as DRF writes it."""
    return bytes(JSONRenderer().render(data))
