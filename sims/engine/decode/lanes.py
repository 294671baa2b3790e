"""Compiled readers of what a line says of its active lanes."""

from typing import Any

import numpy as np

from sims.engine.decode import layout as lay
from sims.engine.decode.fields import read_decimal, read_hex
from sims.engine.decode.layout import Number
from sims.engine.jit import compiled


@compiled
def read_addresses(buffer: Any, p: Number, lanes: Number, mode: Number, scratch: Any) -> Number:
    """Lane addresses of a line into ``scratch.address``; the position after them, or a negated error status."""
    if mode == 1:
        base, p = read_hex(buffer, p)
        if p < 0:
            return -lay.ERROR_ADDRESS
        stride, p = read_decimal(buffer, p)
        if p < 0:
            return -lay.ERROR_ADDRESS
        for i in range(lanes):
            scratch.address[i] = base + np.uint64(stride * i)
        return p
    if mode != 0 and mode != 2:
        return -lay.ERROR_MODE
    address = np.uint64(0)
    for i in range(lanes):
        if i == 0 or mode == 0:
            address, p = read_hex(buffer, p)
        else:
            delta, p = read_decimal(buffer, p)
            address += np.uint64(delta)
        if p < 0:
            return -lay.ERROR_ADDRESS
        scratch.address[i] = address
    return p


@compiled
def name_lanes(mask: Number, scratch: Any) -> None:
    """Lane number of each active lane, in order."""
    i = 0
    for lane in range(32):
        if (mask >> np.uint64(lane)) & np.uint64(1):
            scratch.lane[i] = lane
            i += 1
