"""Machine operations that Numba does not expose: eight bytes at a time, and counting bits."""

from typing import Any

import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from sims.engine.decode.layout import Number
from sims.engine.jit import compiled


def _load_word(typing_context: Any, array: Any, index: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = context.cast(builder, arguments[1], signature.args[1], types.intp)
        pointer = cgutils.gep_inbounds(builder, arguments[0], place)
        word = builder.load(builder.bitcast(pointer, context.get_value_type(types.uint64).as_pointer()))
        # Texts start anywhere; without this the compiler assumes an 8-byte boundary.
        word.align = 1
        return word

    return types.uint64(array, index), generate


def _count_ones(typing_context: Any, mask: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(types.uint64), generate


load_word: Any = intrinsic(_load_word)
"""``load_word(rows, index)``: eight bytes from any index on, little-endian; they must exist."""
count_ones: Any = intrinsic(_count_ones)
"""``count_ones(word)``: bits set in a uint64."""


@compiled
def same_bytes(first: Any, i: Number, second: Any, j: Number, length: Number) -> Number:
    """Whether ``length`` bytes agree; both arrays must be readable 7 bytes beyond them."""
    whole = length & ~7
    for k in range(0, whole, 8):
        if load_word(first, i + k) != load_word(second, j + k):
            return False
    rest = length & 7
    if rest == 0:
        return True
    difference: Number = load_word(first, i + whole) ^ load_word(second, j + whole)
    return (difference << np.uint64(64 - 8 * rest)) == np.uint64(0)
