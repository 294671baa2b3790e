"""Request bodies: JSON objects, and raw bytes."""

import json
from typing import Any

from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser, JSONParser


class JsonObjectParser(JSONParser):
    """JSON whose top is an object; anything else is a 400, also what Python's reader gives up on (depth, digits)."""

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> dict[str, Any]:
        try:
            # JSON is UTF-8 here whatever charset the request claims: some of Python's codecs are no text at all.
            data = super().parse(stream, media_type, {**(parser_context or {}), "encoding": "utf-8"})
            # A lone surrogate is legal JSON but no text: it could be neither stored nor sent on.
            json.dumps(data, ensure_ascii=False).encode()
        except RecursionError:
            raise ParseError("The JSON is nested too deeply.") from None
        except UnicodeError:
            raise ParseError("The JSON holds text that is not valid Unicode.") from None
        if not isinstance(data, dict):
            raise ParseError("The body must be a JSON object.")
        return data


class RawBodyParser(BaseParser):
    """Leaves the body unread: the view streams it."""

    media_type = "*/*"

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> Any:
        return stream
