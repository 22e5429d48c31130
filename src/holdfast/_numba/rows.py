"""Arrays with one column per game, for several games played side by side.

Compiled, they are made so that the compiler knows their number of columns: only then does it play the columns in the
lanes of vector registers. Made on the stack, they are known to overlap nothing, and a single game's stay in registers.
Numba has no arrays like that on a CPU, hence these few lines of its code generation; without the compiler they are
NumPy's own.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numba.core import cgutils
from numba.core.datamodel import models
from numba.core.imputils import lower_builtin, lower_cast, lower_getattr
from numba.extending import intrinsic, register_model
from numba.np.arrayobj import getitem_array_tuple, getitem_arraynd_intp, load_item, setitem_array, store_item

from holdfast._numba.compile import COMPILED

LINE = 64
"""Bytes in a line of a processor's cache. A vector register of eight numbers that lies across two costs two reads."""


class Rows(types.Array):  # type: ignore[misc]  # Numba has no types
    """Numba's array, C-contiguous and mutable. Its elements are reached in a few instructions.

    Numba puts a descriptor of the array into memory for each element, checks whether it is really an array, and leaves
    it to LLVM to take all that away again: a good part of the time of a first call. What else one can do with an array
    is Numba's own.
    """

    def __init__(self, dtype: Any, ndim: int) -> None:
        super().__init__(dtype, ndim, "C", name=f"rows({dtype}, {ndim}d)")


register_model(Rows)(models.ArrayModel)


def rows_at(context: Any, builder: Any, kind: Rows, data: Any, shape: list[Any]) -> Any:
    """The structure of an array at `data`, which nobody counts references to."""
    model = context.data_model_manager[kind]
    size = context.get_constant(types.intp, context.get_abi_sizeof(context.get_data_type(kind.dtype)))
    strides, nitems = [size], shape[-1]
    for length in reversed(shape[1:]):
        strides.insert(0, builder.mul(strides[0], length))
    for length in shape[:-1]:
        nitems = builder.mul(length, nitems)
    made = model.get_value_type()(None)
    parts = {"nitems": nitems, "itemsize": size, "data": data}
    parts |= {"shape": cgutils.pack_array(builder, shape), "strides": cgutils.pack_array(builder, strides)}
    for name, part in parts.items():
        made = model.set(builder, made, part, name)
    return made


def part_of(context: Any, builder: Any, kind: Any, value: Any, name: str) -> Any:
    """A part of an array's structure."""
    return context.data_model_manager[kind].get(builder, value, name)


@lower_getattr(Rows, "shape")  # type: ignore[untyped-decorator]  # Numba has no types
def _shape(context: Any, builder: Any, kind: Rows, value: Any) -> Any:
    return part_of(context, builder, kind, value, "shape")


@lower_cast(Rows, types.Array)  # type: ignore[untyped-decorator]  # Numba has no types
def _as_array(context: Any, builder: Any, kind: Rows, other: Any, value: Any) -> Any:
    """What a variable holds that is rows on one way and a part of them on the other."""
    return value


def _element(context: Any, builder: Any, kind: Rows, value: Any, index: Any, at: Any) -> Any:
    """Where an element lies; None where `index` does not name one."""
    one = isinstance(index, types.Integer)
    several = isinstance(index, types.UniTuple) and isinstance(index.dtype, types.Integer)
    if not (one and kind.ndim == 1) and not (several and index.count == kind.ndim):
        return None
    shape = cgutils.unpack_tuple(builder, part_of(context, builder, kind, value, "shape"), kind.ndim)
    places = [at] if one else cgutils.unpack_tuple(builder, at, kind.ndim)
    offset = context.get_constant(types.intp, 0)
    for place, length in zip(places, shape, strict=True):
        whole = context.cast(builder, place, index if one else index.dtype, types.intp)
        below = builder.icmp_signed("<", whole, context.get_constant(types.intp, 0))
        whole = builder.select(below, builder.add(whole, length), whole)  # the last is at −1, as everywhere
        offset = builder.add(builder.mul(offset, length), whole)
    return builder.gep(part_of(context, builder, kind, value, "data"), [offset])


@lower_builtin(operator.getitem, Rows, types.Integer)  # type: ignore[untyped-decorator]  # Numba has no types
@lower_builtin(operator.getitem, Rows, types.BaseTuple)  # type: ignore[untyped-decorator]  # as above
def _get(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    kind, index = signature.args
    pointer = _element(context, builder, kind, arguments[0], index, arguments[1])
    if pointer is not None:
        return load_item(context, builder, kind, pointer)
    numba_own = getitem_arraynd_intp if isinstance(index, types.Integer) else getitem_array_tuple
    return numba_own(context, builder, signature, arguments)


@lower_builtin(operator.setitem, Rows, types.Integer, types.Any)  # type: ignore[untyped-decorator]  # as above
@lower_builtin(operator.setitem, Rows, types.BaseTuple, types.Any)  # type: ignore[untyped-decorator]  # as above
def _set(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    kind, index, given = signature.args
    pointer = _element(context, builder, kind, arguments[0], index, arguments[1])
    if pointer is None:
        return setitem_array(context, builder, signature, arguments)
    store_item(context, builder, kind, context.cast(builder, arguments[2], given, kind.dtype), pointer)
    return context.get_dummy_value()


def _on_the_stack(dtype: Any) -> Callable[[int, int], Any]:
    """A function that makes an array of this type; both its arguments must be constants of the calling kernel."""

    @intrinsic(prefer_literal=True)  # type: ignore[untyped-decorator]  # Numba has no types
    def make(typing_context: Any, n_rows: Any, width: Any) -> Any:
        kind, height, columns = Rows(dtype, 2), n_rows.literal_value, width.literal_value

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            data = cgutils.alloca_once(builder, context.get_data_type(dtype), size=height * columns)
            data.align = LINE
            return rows_at(
                context, builder, kind, data, [context.get_constant(types.intp, n) for n in (height, columns)]
            )

        return kind(n_rows, width), generate

    return make  # type: ignore[no-any-return]  # nor has what it makes


@intrinsic(prefer_literal=True)  # type: ignore[untyped-decorator]  # Numba has no types
def _as_rows(typing_context: Any, flat: Any, width: Any) -> Any:
    kind, columns = Rows(flat.dtype, 2), width.literal_value

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data, nitems = (part_of(context, builder, flat, arguments[0], name) for name in ("data", "nitems"))
        wide = context.get_constant(types.intp, columns)
        return rows_at(context, builder, kind, data, [builder.udiv(nitems, wide), wide])

    return kind(flat, width), generate


def _plain_as_rows(flat: Any, width: int) -> Any:
    return flat.reshape(-1, width)


def _plain_local_rows(n_rows: int, width: int) -> Any:
    return np.zeros((n_rows, width))


def _plain_local_words(n_rows: int, width: int) -> Any:
    return np.zeros((n_rows, width), dtype=np.uint64)


as_rows = _as_rows if COMPILED else _plain_as_rows
"""A contiguous array of one dimension, seen as rows of `width` columns; `width` must be a constant."""

local_rows = _on_the_stack(types.float64) if COMPILED else _plain_local_rows
"""`n_rows` × `width` numbers that live as long as the calling kernel and begin as anything; both must be constants."""

local_words = _on_the_stack(types.uint64) if COMPILED else _plain_local_words
"""The same of 64-bit words."""


def aligned_zeros(size: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """`size` zeros, of which the first begins a line of the cache."""
    buffer = np.zeros(size + LINE // 8)
    begin = -buffer.ctypes.data % LINE // 8
    return buffer[begin : begin + size]
