"""Compiled readers of one blank-separated field. They return (value, position of the next field), or position -1.

A field ends at a blank or at the end of its line, and blanks after it are skipped; the newline itself never is, so a
reader called at the end of a line fails and cannot run on into the next one.
"""

from typing import Any

import numpy as np

from sims.engine.decode.layout import Number
from sims.engine.jit import compiled

MAX_HEX_DIGITS = 16
MAX_DECIMAL_DIGITS = 20


@compiled
def skip_line(buffer: Any, p: Number) -> Number:
    """Position after the next newline."""
    while buffer[p] != 10:
        p += 1
    return p + 1


@compiled
def _field_end(buffer: Any, p: Number) -> Number:
    """Skip the blanks after a field; -1 when the field goes on with something else."""
    if buffer[p] == 32:
        p += 1
        while buffer[p] == 32:
            p += 1
        return p
    if buffer[p] == 10 or buffer[p] == 13 or buffer[p] == 9:
        return p
    return -1


@compiled
def read_hex(buffer: Any, p: Number) -> tuple[Number, Number]:
    """Unsigned hexadecimal with or without ``0x``, at most 64 bits."""
    value = np.uint64(0)
    if buffer[p] == 48 and buffer[p + 1] == 120:
        p += 2
    begin = p
    while True:
        c = buffer[p]
        if 48 <= c <= 57:
            value = (value << np.uint64(4)) | np.uint64(c - 48)
        elif 97 <= c <= 102:
            value = (value << np.uint64(4)) | np.uint64(c - 87)
        elif 65 <= c <= 70:
            value = (value << np.uint64(4)) | np.uint64(c - 55)
        else:
            break
        p += 1
    if p == begin or p - begin > MAX_HEX_DIGITS:
        return value, -1
    return value, _field_end(buffer, p)


@compiled
def read_decimal(buffer: Any, p: Number) -> tuple[Number, Number]:
    """Signed decimal; 64-bit wrap-around is what the tracer's own printing does (18446744073709551600 is -16)."""
    negative = buffer[p] == 45
    if negative:
        p += 1
    begin = p
    value = np.uint64(0)
    while 48 <= buffer[p] <= 57:
        value = value * np.uint64(10) + np.uint64(buffer[p] - 48)
        p += 1
    if p == begin or p - begin > MAX_DECIMAL_DIGITS:
        return np.int64(0), -1
    signed = np.int64(value)
    return (-signed if negative else signed), _field_end(buffer, p)


@compiled
def skip_field(buffer: Any, p: Number) -> Number:
    """Position of the field after the one at ``p``; at the end of the line it stays there."""
    while buffer[p] != 32 and buffer[p] != 10:
        p += 1
    while buffer[p] == 32:
        p += 1
    return p


@compiled
def count_fields(buffer: Any, p: Number) -> Number:
    """Fields from ``p`` to the end of the line."""
    fields = 0
    while buffer[p] != 10 and buffer[p] != 13:
        fields += 1
        p = skip_field(buffer, p)
    return fields
