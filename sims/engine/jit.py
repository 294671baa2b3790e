"""How every compiled function of the engine is compiled, and the bit operations LLVM has that Numba does not expose.

* ``nogil``: phases run on real threads.
* ``_nrt=False``: no reference counting on array access (40 % of the time otherwise). Compiled code therefore never allocates.
* ``error_model="numpy"``: no test for a zero divisor before each division.
* ``cache``: the compiled code is kept on disk, see :mod:`sims.engine.codecache`.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import config, njit, types
from numba.extending import intrinsic

from sims.engine import codecache, pointers  # noqa: F401  (types of arguments: part of what is compiled)

codecache.prepare()
# Loops here run a few times over what lies apart: as vectors they are larger and slower, and take longer to compile.
config.LOOP_VECTORIZE = 0

INFINITY = np.int64(1 << 40)
"""A cycle that never comes."""

_OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "_nrt": False, "error_model": "numpy"}

compiled: Callable[..., Any] = njit(**_OPTIONS)
inlined: Callable[..., Any] = njit(**_OPTIONS, forceinline=True)
"""For what one place calls in every cycle: LLVM inlines it there, whatever its size."""
merged: Callable[..., Any] = njit(**_OPTIONS, inline="always")
"""For what one place calls and calls much itself: a part of its caller before anything is compiled, so that all it calls is not
compiled once more for it. Where most of the time is spent it is slower than ``inlined``."""

Record = Any
"""A record of a structured array: state of one part (to Numba a pointer)."""
Table = Any
"""An array that is passed along."""
Word = Any
"""64 flags, one per warp, SM or slice."""


@intrinsic  # type: ignore[misc]
def count_trailing_zeros(typing_context: Any, value: Any) -> Any:
    """Index of the lowest set bit of a 64-bit word (undefined for 0)."""
    signature = types.int64(types.uint64)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], context.get_constant(types.boolean, True))

    return signature, generate


@compiled
def bit(index: int) -> Word:
    """The 64-bit word with only bit ``index`` set."""
    return np.uint64(1) << np.uint64(index)


@compiled
def first_from(mask: Word, start: int) -> int:
    """Index of the first set bit of ``mask`` at or after ``start`` (0..63), circular; ``mask`` must not be 0."""
    upper = (mask >> np.uint64(start)) << np.uint64(start)
    return count_trailing_zeros(upper if upper != np.uint64(0) else mask)
