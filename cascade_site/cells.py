"""A table's cells as HTML. In Python and not in a template: a page has a thousand of them, and a template takes a
quarter of a second for that."""

from collections.abc import Callable
from typing import Any

from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString

from cascade_site.formats import MISSING
from cascade_site.templatetags import cascade as tags
from traces.templatetags.kernels import raw_name, shown_name

Row = dict[str, Any]

NOTHING = format_html('<span class="quiet">{}</span>', MISSING)


def _name(value: Any, row: Row) -> SafeString:
    clipped = format_html('<span class="clip" title="{}">{}</span>', raw_name(value), shown_name(value))
    return format_html('<a href="{}">{}</a>', row["href"], clipped) if row.get("href") else clipped


def _link(value: Any, row: Row) -> SafeString:
    return format_html('<a href="{}">{}</a>', row["href"], value)


def _plain(function: Callable[[Any], SafeString | str]) -> Callable[[Any, Row], SafeString | str]:
    return lambda value, row: function(value)


_SHOWN: dict[str, Callable[[Any, Row], SafeString | str]] = {
    "name": _name,
    "link": _link,
    "state": _plain(tags.state),
    "when": _plain(tags.when),
    "duration": _plain(tags.duration),
    "size": _plain(tags.size),
    "percent": _plain(tags.percent),
    "error": _plain(tags.error),
    "delta": _plain(tags.delta),
    "change": _plain(tags.change),
    "ratio": _plain(tags.ratio),
    "si": _plain(tags.si),
    "dim3": _plain(tags.dim3),
    "number": _plain(tags.exact),
    "wall": _plain(tags.wall),
}


def cell(kind: str, value: Any, row: Row) -> SafeString:
    """One value as its column's kind shows it; any other kind as text."""
    if value is None or value == "":
        return NOTHING
    shown = _SHOWN.get(kind)
    return conditional_escape(shown(value, row) if shown else value)
