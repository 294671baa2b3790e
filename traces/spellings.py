"""Kernel names as people read them, for the scripts of pages: these are sent names as the trace or a log has them."""

from collections.abc import Iterable

from traces.times.names import demangled, kernel_name

MOST_NAMES = 1000
LONGEST_NAME = 2000
"""A name that no C++ compiler gives: a script shows its beginning as it is."""
MOST_CHARACTERS = 300
"""Of a spelling: what a tooltip has room for."""

Spelling = tuple[str, str]


def spelling(name: str) -> Spelling:
    """The bare function, for a label, and the whole C++ spelling, for a tooltip."""
    return kernel_name(name).short[:MOST_CHARACTERS], demangled(name)[:MOST_CHARACTERS]


def spellings(names: Iterable[str]) -> dict[str, Spelling]:
    """The first distinct names -> their spellings, as many as a page may carry; ``static/js/names.js`` reads them."""
    known: dict[str, Spelling] = {}
    for name in names:
        if len(known) == MOST_NAMES:
            break
        if name not in known and len(name) <= LONGEST_NAME:
            known[name] = spelling(name)
    return known
