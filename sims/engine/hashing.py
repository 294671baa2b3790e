"""Accel-Sim's IPOLY hash (Rau, "Pseudo-randomly interleaved memory", ISCA 1991) as lookup tables.

The hash of an address is linear over GF(2): output bit i is the parity of some address bits, XOR bit i of the plain index.
So the hash of a word is the XOR of the hashes of its bytes, and eight tables of 256 entries replace 60 bit operations.
"""

import numpy as np
from numpy.typing import NDArray

from sims.engine.jit import Table, compiled

# Which bits of the high part each index bit is the parity of: Accel-Sim's tables, checked on 1,024 random sectors by the
# microbenchmark `map_check` (section 7).
IPOLY_TAPS: dict[int, tuple[tuple[int, ...], ...]] = {
    16: ((11, 10, 9, 8, 6, 4, 3, 0), (12, 8, 7, 6, 5, 3, 1, 0), (9, 8, 7, 6, 4, 2, 1), (10, 9, 8, 7, 5, 3, 2)),
    32: (
        (13, 12, 11, 10, 9, 6, 5, 3, 0),
        (14, 13, 12, 11, 10, 7, 6, 4, 1),
        (14, 10, 9, 8, 7, 6, 3, 2, 0),
        (11, 10, 9, 8, 7, 4, 3, 1),
        (12, 11, 10, 9, 8, 5, 4, 2),
    ),
    64: (
        (18, 17, 16, 15, 12, 10, 6, 5, 0),
        (15, 13, 12, 11, 10, 7, 5, 1, 0),
        (16, 14, 13, 12, 11, 8, 6, 2, 1),
        (17, 15, 14, 13, 12, 9, 7, 3, 2),
        (18, 16, 15, 14, 13, 10, 8, 4, 3),
        (17, 16, 15, 14, 11, 9, 5, 4),
    ),
}


def taps_of(size: int) -> tuple[tuple[int, ...], ...]:
    """Taps for an index of ``size`` values; sizes without a table XOR the next higher groups of bits (bitwise XOR hash)."""
    if size in IPOLY_TAPS:
        return IPOLY_TAPS[size]
    width = (size - 1).bit_length()
    return tuple(tuple(range(i, 24, width)) for i in range(width))


def hash_tables(size: int) -> NDArray[np.int32]:
    """``(8, 256)``: the hash of each value of each byte of a 64-bit word."""
    tables = np.zeros((8, 256), np.int32)
    for output, taps in enumerate(taps_of(size)):
        for tap in taps:
            has_bit = (np.arange(256) >> (tap & 7)) & 1
            tables[tap >> 3] ^= (has_bit << output).astype(np.int32)
    return tables


@compiled
def hashed(tables: Table, word: int) -> int:
    """The hash of ``word``; no table reaches beyond bit 23."""
    return tables[0, word & 255] ^ tables[1, (word >> 8) & 255] ^ tables[2, (word >> 16) & 255]
