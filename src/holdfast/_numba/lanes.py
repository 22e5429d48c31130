"""Arrays with one column per game, for several games played side by side.

Compiled, they are made so that the compiler knows their number of columns: only then does it play the columns in the
lanes of vector registers. Made on the stack, they are known to overlap nothing, and a single game's stay in registers.
Numba has no arrays like that on a CPU, hence these few lines of its code generation; without the compiler they are
NumPy's own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array, populate_array

from holdfast._numba.compile import COMPILED

LINE = 64
"""Bytes in a cache line. A vector register of eight numbers that spans two costs two reads."""


def _array_at(context: Any, builder: Any, kind: Any, data: Any, height: Any, width: Any) -> Any:
    """Return an array of `height` × `width` numbers at `data`, without reference counting."""
    size = context.get_constant(types.intp, context.get_abi_sizeof(context.get_data_type(kind.dtype)))
    made = make_array(kind)(context, builder)
    populate_array(made, data, [height, width], [builder.mul(width, size), size], size, None)
    return made._getvalue()


def _on_the_stack(dtype: Any) -> Callable[[int, int], Any]:
    """Return a function that makes an array of this type; both arguments must be constants of the calling kernel."""

    @intrinsic(prefer_literal=True)  # type: ignore[untyped-decorator]  # Numba has no types
    def make(typing_context: Any, n_rows: Any, width: Any) -> Any:
        kind, shape = types.Array(dtype, 2, "C"), (n_rows.literal_value, width.literal_value)

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            data = cgutils.alloca_once(builder, context.get_data_type(dtype), size=shape[0] * shape[1])
            data.align = LINE
            return _array_at(context, builder, kind, data, *(context.get_constant(types.intp, n) for n in shape))

        return kind(n_rows, width), generate

    return make  # type: ignore[no-any-return]  # nor has what it makes


@intrinsic(prefer_literal=True)  # type: ignore[untyped-decorator]  # Numba has no types
def _as_lanes(typing_context: Any, flat: Any, width: Any) -> Any:
    kind, columns = types.Array(flat.dtype, 2, "C"), width.literal_value

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        given, wide = make_array(flat)(context, builder, arguments[0]), context.get_constant(types.intp, columns)
        return _array_at(context, builder, kind, given.data, builder.udiv(given.nitems, wide), wide)

    return kind(flat, width), generate


def _plain_as_lanes(flat: Any, width: int) -> Any:
    return flat.reshape(-1, width)


def _plain_local_lanes(n_rows: int, width: int) -> Any:
    return np.zeros((n_rows, width))


def _plain_local_words(n_rows: int, width: int) -> Any:
    return np.zeros((n_rows, width), dtype=np.uint64)


as_lanes = _as_lanes if COMPILED else _plain_as_lanes
"""View a contiguous 1-d array with `width` lanes, one per column; `width` must be a constant."""

local_lanes = _on_the_stack(types.float64) if COMPILED else _plain_local_lanes
"""Return `n_rows` × `width` uninitialised numbers that live as long as the calling kernel; both must be constants."""

local_words = _on_the_stack(types.uint64) if COMPILED else _plain_local_words
"""Like `local_lanes`, for 64-bit words."""


def aligned_zeros(size: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return `size` zeros, starting at a cache line."""
    buffer = np.zeros(size + LINE // 8)
    begin = -buffer.ctypes.data % LINE // 8
    return buffer[begin : begin + size]
