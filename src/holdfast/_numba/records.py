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

Kinds = tuple[tuple[str, bool, int | None, int], ...]
"""Of each name: whether it is per arm, how many of it there are, None for one, and how many more of no arm."""


class RecordType(types.Type):  # type: ignore[misc]  # Numba has no types
    """Numba's type of a record: of each name, whether it is per arm and how many there are; its arrays' types."""

    def __init__(self, kinds: Kinds, numbers: Any, vectors: Any) -> None:
        self.places: dict[str, tuple[bool, int | None, int, int, int]] = {}
        counts, before = [0, 0], 0
        for name, per_arm, several, more in kinds:
            self.places[name] = (per_arm, several, more, counts[per_arm], before)
            counts[per_arm] += 1 if several is None else several
            before += more
        self.numbers, self.vectors = numbers, vectors
        sizes = (
            f"{several or ''}{'K' if per_arm else ''}{f'+{more}' if more else ''}"
            for _, per_arm, several, more in kinds
        )
        names = ", ".join(f"{kind[0]}[{size}]" if size else kind[0] for kind, size in zip(kinds, sizes, strict=True))
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
        per_arm, several, *_ = record.places[name]
        one_row = not per_arm and several is None
        return Rows(record.numbers.dtype, 1) if one_row else Rows(record.vectors.dtype, 2)


@lower_getattr_generic(RecordType)  # type: ignore[untyped-decorator]  # Numba has no types
def _place(context: Any, builder: Any, record: RecordType, value: Any, name: str) -> Any:
    """The array that a name stands for."""
    model = context.data_model_manager[record]
    per_arm, several, more, before, more_before = record.places[name]
    kind = record.vectors if per_arm else record.numbers
    whole = model.get(builder, value, "vectors" if per_arm else "numbers")
    width = builder.extract_value(part_of(context, builder, kind, whole, "shape"), 1)
    first, shape = context.get_constant(types.intp, before), [width]
    if per_arm:
        K = model.get(builder, value, "K")
        rows = K if several is None else builder.mul(context.get_constant(types.intp, several), K)
        first = builder.add(builder.mul(first, K), context.get_constant(types.intp, more_before))
        shape = [builder.add(rows, context.get_constant(types.intp, more)), width]
    elif several is not None:
        shape = [context.get_constant(types.intp, several), width]
    data = builder.gep(part_of(context, builder, kind, whole, "data"), [builder.mul(first, width)])
    return rows_at(context, builder, Rows(kind.dtype, len(shape)), data, shape)


def _maker(kinds: Kinds) -> Any:
    @intrinsic  # type: ignore[untyped-decorator]  # Numba has no types
    def make(typing_context: Any, numbers: Any, vectors: Any, K: Any) -> Any:
        record = RecordType(kinds, numbers, vectors)

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

    def __init__(self, function: Callable[..., Any], kinds: Kinds) -> None:
        super().__init__(function)
        make = _maker(kinds)

        def record(numbers: Any, vectors: Any, K: int) -> Any:
            return make(numbers, vectors, K)

        self._part = InlinedPart(record)

    @property
    def part(self) -> InlinedPart:
        """What makes the record."""
        return self._part
