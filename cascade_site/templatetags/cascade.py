"""The pages' template tags: formatted values with their exact ones in the tooltip, state chips, config colours."""

import json
from datetime import datetime
from typing import Any

from django import template
from django.template.context import Context
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timesince import timesince

from cascade_site import formats
from cascade_site.colours import colour_of

register = template.Library()

# A template hands a filter "" for what is not there at all.
MISSING_VALUES = (None, "")


def _titled(text: str, title: str) -> SafeString:
    return format_html('<span title="{}">{}</span>', title, text)


@register.filter
def duration(value_ns: Any) -> SafeString | str:
    return formats.MISSING if value_ns in MISSING_VALUES else _titled(formats.duration(value_ns), f"{value_ns:,} ns")


@register.filter
def si(value: Any) -> SafeString | str:
    return formats.MISSING if value in MISSING_VALUES else _titled(formats.si(value), formats.exact(value))


@register.filter
def size(value_bytes: Any) -> SafeString | str:
    return (
        formats.MISSING
        if value_bytes in MISSING_VALUES
        else _titled(formats.size(value_bytes), f"{value_bytes:,} bytes")
    )


@register.filter
def exact(value: Any) -> str:
    return formats.MISSING if value in MISSING_VALUES else formats.exact(value)


@register.filter
def percent(fraction: Any) -> SafeString | str:
    return formats.MISSING if fraction in MISSING_VALUES else _titled(formats.percent(fraction), f"{fraction}")


@register.filter
def ratio(value: Any) -> SafeString | str:
    return formats.MISSING if value in MISSING_VALUES else _titled(formats.ratio(value), f"{value}")


@register.filter
def wall(value_s: Any) -> str:
    return formats.MISSING if value_s in MISSING_VALUES else formats.seconds(value_s)


@register.filter
def error(fraction: Any) -> SafeString | str:
    """A signed error; an arrow says the side, so that colour is not alone: up is too slow, down too fast."""
    if fraction in MISSING_VALUES:
        return formats.MISSING
    side, word = ("↑", "slower than real") if fraction > 0 else ("↓", "faster than real")
    if fraction == 0:
        side, word = "=", "as real"
    return _titled(f"{formats.signed_percent(fraction)} {side}", f"{fraction}: {word}")


@register.filter
def delta(fraction: Any) -> SafeString | str:
    """A signed difference of times from a baseline's; the word says the side, so that colour is not alone."""
    if fraction in MISSING_VALUES:
        return formats.MISSING
    word = "same" if fraction == 0 else "slower" if fraction > 0 else "faster"
    return format_html(
        '<span class="{}" title="{}">{} {}</span>', word, fraction, formats.signed_percent(fraction), word
    )


@register.filter
def change(fraction: Any) -> SafeString | str:
    """A signed difference of which nobody can say whether it is good."""
    return formats.MISSING if fraction in MISSING_VALUES else _titled(formats.signed_percent(fraction), f"{fraction}")


@register.filter
def when(moment: datetime | None) -> SafeString | str:
    if moment in MISSING_VALUES:
        return formats.MISSING
    assert isinstance(moment, datetime)
    return format_html(
        '<time class="nowrap" datetime="{}" title="{} ago">{}</time>',
        moment.isoformat(),
        timesince(moment),
        formats.when(moment),
    )


@register.filter
def dim3(value: list[int] | None) -> str:
    """``(128, 1, 1)``."""
    return formats.MISSING if not value else "({})".format(", ".join(str(number) for number in value))


@register.filter
def item(mapping: Any, key: str) -> Any:
    """``mapping[key]``, or nothing."""
    return mapping.get(key) if mapping else None


@register.filter
def as_json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False, default=str)


@register.filter
def make_list_of_words(text: str) -> list[str]:
    return text.split()


@register.simple_tag
def state(status: str) -> SafeString:
    return format_html('<span class="chip {}">{}</span>', status, status)


@register.simple_tag(takes_context=True)
def swatch(context: Context, gpu_config: str) -> SafeString:
    """The config's colour: the one it has among the configs of the page's run, where the page is of one."""
    colours = context.get("colours") or {}
    return dot(colours.get(gpu_config, colour_of(gpu_config)))


@register.simple_tag
def dot(colour: int) -> SafeString:
    return format_html('<span class="swatch c{}" aria-hidden="true"></span>', colour)


@register.simple_tag(takes_context=True)
def url_with(context: Context, **changes: Any) -> str:
    """The page's own address with some query parameters changed; None removes one."""
    query = context["request"].GET.copy()
    for name, value in changes.items():
        query.pop(name, None)
        if value is not None:
            query[name] = str(value)
    return "?" + query.urlencode()


@register.inclusion_tag("parts/as_api.html", takes_context=True)
def as_api(context: Context, path: str, method: str = "GET", body: str = "") -> dict[str, Any]:
    """The request a client would make for what this page shows."""
    return {"path": path, "method": method, "body": body}
