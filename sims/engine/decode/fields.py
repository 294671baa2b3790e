"""Compiled readers of one blank-separated field. They return (value, position of the next field), or position -1.

A field ends at a blank or at the end of its line, and blanks after it are skipped; the newline itself never is, so a
reader called at the end of a line fails and cannot run on into the next one. ``next_decimal`` and ``next_hex`` take -1 for a
position and hand it on, so that one look at the end tells whether a whole row of fields was there.
"""

from typing import Any

import numpy as np

from sims.engine.decode.layout import Number
from sims.engine.jit import compiled

MAX_HEX_DIGITS = 16
MAX_DECIMAL_DIGITS = 20
NEWLINE, RETURN, TAB, BLANK, MINUS = (ord(character) for character in "\n\r\t -")
ZERO, NINE, LOWER_A, LOWER_F, UPPER_A, UPPER_F, LOWER_X, UPPER_V = (ord(character) for character in "09afAFxV")


@compiled
def refused(status: Number) -> Number:
    """An error status where an operand is expected; the other way round too."""
    return -2 - status


@compiled
def skip_blanks(buffer: Any, p: Number) -> Number:
    """Position of the first character that is none."""
    while buffer[p] == BLANK or buffer[p] == RETURN or buffer[p] == TAB:
        p += 1
    return p


@compiled
def skip_line(buffer: Any, p: Number) -> Number:
    """Position after the next newline."""
    while buffer[p] != NEWLINE:
        p += 1
    return p + 1


@compiled
def _field_end(buffer: Any, p: Number) -> Number:
    """Skip the blanks after a field; -1 when the field goes on with something else."""
    if buffer[p] == BLANK:
        p += 1
        while buffer[p] == BLANK:
            p += 1
        return p
    if buffer[p] == NEWLINE or buffer[p] == RETURN or buffer[p] == TAB:
        return p
    return -1


@compiled
def read_hex(buffer: Any, p: Number) -> tuple[Number, Number]:
    """Unsigned hexadecimal with or without ``0x``, at most 64 bits."""
    value = np.uint64(0)
    if buffer[p] == ZERO and buffer[p + 1] == LOWER_X:
        p += 2
    begin = p
    while True:
        c = buffer[p]
        if ZERO <= c <= NINE:
            value = (value << np.uint64(4)) | np.uint64(c - ZERO)
        elif LOWER_A <= c <= LOWER_F:
            value = (value << np.uint64(4)) | np.uint64(c - LOWER_A + 10)
        elif UPPER_A <= c <= UPPER_F:
            value = (value << np.uint64(4)) | np.uint64(c - UPPER_A + 10)
        else:
            break
        p += 1
    if p == begin or p - begin > MAX_HEX_DIGITS:
        return value, -1
    return value, _field_end(buffer, p)


@compiled
def read_decimal(buffer: Any, p: Number) -> tuple[Number, Number]:
    """Signed decimal; 64-bit wrap-around is what the tracer's own printing does (18446744073709551600 is -16)."""
    negative = buffer[p] == MINUS
    if negative:
        p += 1
    begin = p
    value = np.uint64(0)
    while ZERO <= buffer[p] <= NINE:
        value = value * np.uint64(10) + np.uint64(buffer[p] - ZERO)
        p += 1
    if p == begin or p - begin > MAX_DECIMAL_DIGITS:
        return np.int64(0), -1
    signed = np.int64(value)
    return (-signed if negative else signed), _field_end(buffer, p)


@compiled
def next_decimal(buffer: Any, p: Number) -> tuple[Number, Number]:
    """:func:`read_decimal` unless a field before failed."""
    if p < 0:
        return np.int64(0), p
    return read_decimal(buffer, p)


@compiled
def next_hex(buffer: Any, p: Number) -> tuple[Number, Number]:
    """:func:`read_hex` unless a field before failed."""
    if p < 0:
        return np.uint64(0), p
    return read_hex(buffer, p)


@compiled
def skip_field(buffer: Any, p: Number) -> Number:
    """Position of the field after the one at ``p``; at the end of the line it stays there."""
    while buffer[p] != BLANK and buffer[p] != NEWLINE:
        p += 1
    while buffer[p] == BLANK:
        p += 1
    return p


@compiled
def count_fields(buffer: Any, p: Number) -> Number:
    """Fields from ``p`` to the end of the line."""
    fields = 0
    while buffer[p] != NEWLINE and buffer[p] != RETURN:
        fields += 1
        p = skip_field(buffer, p)
    return fields


@compiled
def has_values(buffer: Any, p: Number) -> Number:
    """Whether register values follow: the mark ``Val`` (and not ``NoVal``) stands at ``p``."""
    return buffer[p] == UPPER_V and buffer[p + 1] == LOWER_A
