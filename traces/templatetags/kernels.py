"""Kernel names as people read them: demangled, and cut where they stop being names."""

from typing import Any

from django import template

from traces.times.names import demangled

register = template.Library()

SHOWN_CHARACTERS = 2000


@register.filter
def shown_name(name: Any) -> str:
    """The C++ spelling. Hostile names have a megabyte: what is behind the first 2,000 characters is left out."""
    text = demangled(str(name))
    return text if len(text) <= SHOWN_CHARACTERS else text[:SHOWN_CHARACTERS] + " …"


@register.filter
def raw_name(name: Any) -> str:
    """The name as the trace has it, for tooltips."""
    return str(name)[:SHOWN_CHARACTERS]
