"""Numbers and times as people read them: scaled, with a unit. The exact value is for the tooltip."""

import math
from datetime import datetime
from decimal import Decimal

MISSING = "–"

_DURATIONS = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns"))
_SCALES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_BYTES = ((1024**4, "TiB"), (1024**3, "GiB"), (1024**2, "MiB"), (1024, "KiB"))

Number = int | float | Decimal


def significant(value: float, digits: int = 3) -> str:
    """A number to some significant digits, never in scientific notation: 1843.2 is ``1,843`` and 0.01234 ``0.0123``."""
    if value == 0:
        return "0"
    places = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:,.{min(places, 9)}f}"


def exact(value: Number | None) -> str:
    """All digits, grouped by thousands."""
    if value is None:
        return MISSING
    return f"{value:,}" if not isinstance(value, float) or value.is_integer() is False else f"{int(value):,}"


def duration(value_ns: Number | None) -> str:
    """``1843200`` ns is ``1.84 ms``."""
    if value_ns is None:
        return MISSING
    value = float(value_ns)
    for scale, unit in _DURATIONS:
        if abs(value) >= scale:
            return f"{significant(value / scale)} {unit}"
    return f"{significant(value)} ns"


def seconds(value_s: Number | None) -> str:
    """Wall time: ``4.2 s``, ``3 min 20 s``, ``2 h 5 min``."""
    if value_s is None:
        return MISSING
    value = float(value_s)
    if value < 60:
        return f"{significant(value, 2)} s"
    minutes, rest = divmod(round(value), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def si(value: Number | None) -> str:
    """``12345678`` is ``12.3 M``."""
    if value is None:
        return MISSING
    for scale, prefix in _SCALES:
        if abs(float(value)) >= scale:
            return f"{significant(float(value) / scale)} {prefix}"
    return significant(float(value)) if isinstance(value, float) else str(value)


def size(value_bytes: Number | None) -> str:
    """``4194304`` is ``4 MiB``."""
    if value_bytes is None:
        return MISSING
    for scale, unit in _BYTES:
        if abs(float(value_bytes)) >= scale:
            scaled = float(value_bytes) / scale
            return f"{scaled:.3g} {unit}" if scaled < 999.5 else f"{scaled:,.0f} {unit}"
    return f"{value_bytes} B"


def percent(fraction: Number | None, digits: int = 1) -> str:
    """``0.0624`` is ``6.2 %``."""
    return MISSING if fraction is None else f"{100 * float(fraction):.{digits}f} %"


def signed_percent(fraction: Number | None) -> str:
    """``0.0624`` is ``+6.2 %``."""
    return MISSING if fraction is None else f"{100 * float(fraction):+.1f} %"


def ratio(value: Number | None) -> str:
    """``2.31`` is ``2.31×``, and ``12345`` is ``12,345×``."""
    return MISSING if value is None else f"{significant(float(value))}×"


def when(moment: datetime | None) -> str:
    """Absolute, in UTC, to the second."""
    return MISSING if moment is None else moment.strftime("%Y-%m-%d %H:%M:%S UTC")
