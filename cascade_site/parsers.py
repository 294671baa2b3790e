"""Request bodies: JSON objects, and raw bytes."""

from typing import Any

from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser, JSONParser

from cascade_site.jsonvalues import TOO_DEEP, problem_of


class JsonObjectParser(JSONParser):
    """JSON whose top is an object; anything else is a 400, also what Python's reader gives up on (depth, digits)."""

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> dict[str, Any]:
        try:
            # JSON is UTF-8 here whatever charset the request claims: some of Python's codecs are no text at all.
            data = super().parse(stream, media_type, {**(parser_context or {}), "encoding": "utf-8"})
        except RecursionError:
            raise ParseError(f"The JSON {TOO_DEEP}.") from None
        if not isinstance(data, dict):
            raise ParseError("The body must be a JSON object.")
        if problem := problem_of(data):
            raise ParseError(f"The JSON {problem}.")
        return data


class RawBodyParser(BaseParser):
    """Leaves the body unread: the view streams it."""

    media_type = "*/*"

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> Any:
        return stream
