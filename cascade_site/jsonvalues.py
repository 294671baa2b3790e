"""JSON that came from outside: legal, and yet not fit to be kept."""

import json
from typing import Any

MOST_LEVELS = 100
"""Python's own limit depends on how deep the caller is: what was read could then not be written."""
TOO_DEEP = f"is nested more than {MOST_LEVELS} deep"


def problem_of(data: Any) -> str | None:
    """Why a parsed JSON value could be neither stored nor sent on, though it was legal JSON; None if it can.

    >>> problem_of({"a": float("inf")})
    'holds a number that is too large'
    """
    if _is_deeper(data, MOST_LEVELS):
        return TOO_DEEP
    try:
        json.dumps(data, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeError:  # half of a surrogate pair
        return "holds text that is not valid Unicode"
    except ValueError:  # 1e400 is read as infinity
        return "holds a number that is too large"
    return None


def _is_deeper(value: Any, most_levels: int) -> bool:
    level = [value]
    for _ in range(most_levels):
        level = [
            item
            for container in level
            if isinstance(container, dict | list)
            for item in (container.values() if isinstance(container, dict) else container)
            if isinstance(item, dict | list)
        ]
        if not level:
            return False
    return True
