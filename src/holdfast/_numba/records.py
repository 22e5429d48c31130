"""A record of named rows as one compiled value: where its two arrays lie, and K.

As a NamedTuple of arrays, a state of seventeen names is handed from kernel to kernel as 119 numbers, all of which Numba
writes down for each call. Here a record is two arrays and K, and a name becomes a place in them only where it is read.
Names and what they mean are those of `holdfast.layouts`; without the compiler, and on a GPU, a record is the NamedTuple
itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import types
from numba.core.datamodel import models
from numba.core.imputils import lower_getattr_generic
from numba.core.typing.templates import AttributeTemplate, infer_getattr
from numba.extending import intrinsic, register_model

from holdfast._numba.compile import InlinedPart, KernelDispatcher
from holdfast._numba.rows import Rows, part_of, rows_at


class RecordType(types.Type):  # type: ignore[misc]  # Numba has no types
    """Numba's type of a record: for each name, whether it has a row per arm; and the types of its arrays."""

    def __init__(self, per_arm: tuple[tuple[str, bool], ...], numbers: Any, vectors: Any) -> None:
        self.places: dict[str, tuple[bool, int]] = {}
        counts = [0, 0]
        for name, many in per_arm:
            self.places[name] = (many, counts[many])
            counts[many] += 1
        self.numbers, self.vectors = numbers, vectors
        names = ", ".join(f"{name}[K]" if many else name for name, many in per_arm)
        super().__init__(f"record({names})")  # as Numba's errors call it

    @property
    def key(self) -> Any:
        """What tells one such type from another."""
        return self.name, self.numbers, self.vectors


@register_model(RecordType)
class RecordModel(models.StructModel):  # type: ignore[misc]  # Numba has no types
    """What is handed from kernel to kernel."""

    def __init__(self, manager: Any, record: RecordType) -> None:
        members = [("numbers", record.numbers), ("vectors", record.vectors), ("K", types.intp)]
        super().__init__(manager, record, members)


@infer_getattr
class RecordAttributes(AttributeTemplate):  # type: ignore[misc]  # Numba has no types
    """The type of a name: a row, or K rows."""

    key = RecordType

    def generic_resolve(self, record: RecordType, name: str) -> Any:
        """None for a name that there is not."""
        if name not in record.places:
            return None
        return Rows(record.vectors.dtype, 2) if record.places[name][0] else Rows(record.numbers.dtype, 1)


@lower_getattr_generic(RecordType)  # type: ignore[untyped-decorator]  # Numba has no types
def _place(context: Any, builder: Any, record: RecordType, value: Any, name: str) -> Any:
    """The array that a name stands for."""
    model = context.data_model_manager[record]
    per_arm, before = record.places[name]
    kind = record.vectors if per_arm else record.numbers
    whole = model.get(builder, value, "vectors" if per_arm else "numbers")
    width = builder.extract_value(part_of(context, builder, kind, whole, "shape"), 1)
    first, shape = context.get_constant(types.intp, before), [width]
    if per_arm:
        K = model.get(builder, value, "K")
        first, shape = builder.mul(first, K), [K, width]
    data = builder.gep(part_of(context, builder, kind, whole, "data"), [builder.mul(first, width)])
    return rows_at(context, builder, Rows(kind.dtype, len(shape)), data, shape)


def _maker(per_arm: tuple[tuple[str, bool], ...]) -> Any:
    @intrinsic  # type: ignore[untyped-decorator]  # Numba has no types
    def make(typing_context: Any, numbers: Any, vectors: Any, K: Any) -> Any:
        record = RecordType(per_arm, numbers, vectors)

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            model = context.data_model_manager[record]
            made = model.get_value_type()(None)
            for name, part in zip(("numbers", "vectors", "K"), arguments, strict=True):
                made = model.set(builder, made, part, name)
            return made

        return record(numbers, vectors, types.intp), generate

    return make


class RecordView(KernelDispatcher):
    """A kernel that makes a NamedTuple of rows; compiled callers on a CPU get a record instead."""

    def __init__(self, function: Callable[..., Any], per_arm: tuple[tuple[str, bool], ...]) -> None:
        super().__init__(function)
        make = _maker(per_arm)

        def record(numbers: Any, vectors: Any, K: int) -> Any:
            return make(numbers, vectors, K)

        self._part = InlinedPart(record)

    @property
    def part(self) -> InlinedPart:
        """What makes the record."""
        return self._part
