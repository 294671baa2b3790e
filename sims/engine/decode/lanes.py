"""Compiled readers of what a line says of its active lanes: whether it has addresses, in which format, and which."""

from typing import Any

import numpy as np

from sims.engine.decode import layout as lay
from sims.engine.decode.fields import read_decimal, read_hex
from sims.engine.decode.layout import Number
from sims.engine.jit import Record, compiled

MODE_LIST, MODE_STRIDE, MODE_DELTAS = range(3)
MODE_NONE = -1
"""The line has no addresses."""


@compiled
def read_mode(buffer: Any, p: Number) -> tuple[Number, Number]:
    """(address format, position after it) from the width field at ``p`` on; the position is a negated status on an error."""
    width, p = read_decimal(buffer, p)
    if p < 0:
        return MODE_NONE, -lay.ERROR_ADDRESS
    if width == 0:
        return MODE_NONE, p
    mode, p = read_decimal(buffer, p)
    if p < 0 or mode < MODE_LIST or mode > MODE_DELTAS:
        return MODE_NONE, -lay.ERROR_MODE
    return mode, p


@compiled
def read_addresses(buffer: Any, p: Number, lanes: Number, mode: Number, scratch: Record) -> Number:
    """Lane addresses of a line into ``scratch.address``; the position after them, or a negated error status."""
    if mode == MODE_STRIDE:
        base, p = read_hex(buffer, p)
        if p < 0:
            return -lay.ERROR_ADDRESS
        stride, p = read_decimal(buffer, p)
        if p < 0:
            return -lay.ERROR_ADDRESS
        for i in range(lanes):
            scratch.address[i] = base + np.uint64(stride * i)
        return p
    address = np.uint64(0)
    for i in range(lanes):
        if i == 0 or mode == MODE_LIST:
            address, p = read_hex(buffer, p)
        else:
            delta, p = read_decimal(buffer, p)
            address += np.uint64(delta)
        if p < 0:
            return -lay.ERROR_ADDRESS
        scratch.address[i] = address
    return p


@compiled
def name_lanes(mask: Number, scratch: Record) -> None:
    """Lane number of each active lane, in order."""
    i = 0
    for lane in range(32):
        if (mask >> np.uint64(lane)) & np.uint64(1):
            scratch.lane[i] = lane
            i += 1
