"""Named state: a NamedTuple says which numbers a game keeps, and kernels read them by name.

    class Kept(NamedTuple):
        n: Scalar                  # one number per game
        C: PerArm                  # one number per arm and game
        target: Scratch            # means nothing once the kernel has returned: not saved
        w: ScratchPerArm

In a kernel ``state.n`` is a row with one column per game and ``state.C`` has a row per arm. Where they lie is nobody's
business but this module's: in two arrays, `numbers` (a row for each `Scalar` and `Scratch`) and `vectors` (K rows for
each `PerArm` and `ScratchPerArm`). A name costs nothing: the compiler sees constant offsets.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Annotated, Any, NamedTuple, get_args, get_type_hints

import numpy as np
from numpy.typing import NDArray

from holdfast._numba.compile import COMPILED
from holdfast._numba.records import RecordView

Array = NDArray[np.float64]


class Kind(NamedTuple):
    """What a name stands for."""

    per_arm: bool
    saved: bool
    several: int | None = None
    """So many numbers, or so many for each arm; None for one."""
    more: int = 0
    """And so many more that belong to no arm."""

    @property
    def rows(self) -> int:
        """How many rows it takes, or how many for each arm."""
        return 1 if self.several is None else self.several


Scalar = Annotated[Array, Kind(per_arm=False, saved=True)]
"""One number per game."""
PerArm = Annotated[Array, Kind(per_arm=True, saved=True)]
"""One number per arm and game."""
Scratch = Annotated[Array, Kind(per_arm=False, saved=False)]
"""One number per game that means nothing between two calls."""
ScratchPerArm = Annotated[Array, Kind(per_arm=True, saved=False)]
"""One number per arm and game that means nothing between two calls."""


def several(kind: Any, count: int, more: int = 0) -> Any:
    """So many of a kind under one name: ``several(Scalar, n)[j, g]``, ``several(PerArm, n)[j * K + i, g]``.

    With `more`, ``several(PerArm, 1, more=m)`` has K + m rows.
    """
    hint, mark = get_args(kind)
    return Annotated[hint, mark._replace(several=count, more=more)]


@dataclass(frozen=True)
class Layout:
    """Where the names of a NamedTuple lie."""

    record: Any
    """The NamedTuple class."""
    kinds: Mapping[str, Kind]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """All names, in order."""
        return tuple(self.kinds)

    @cached_property
    def n_numbers(self) -> int:
        """Rows of `numbers`."""
        return sum(kind.rows for kind in self.kinds.values() if not kind.per_arm)

    @cached_property
    def n_vectors(self) -> int:
        """Rows of `vectors` for each arm."""
        return sum(kind.rows for kind in self.kinds.values() if kind.per_arm)

    @cached_property
    def saved_kinds(self) -> Mapping[str, Kind]:
        """The names that are saved."""
        return {name: kind for name, kind in self.kinds.items() if kind.saved}

    @cached_property
    def n_more(self) -> int:
        """Rows of `vectors` that belong to no arm."""
        return sum(kind.more for kind in self.kinds.values())

    def vector_rows(self, n_arms: int) -> int:
        """Rows of `vectors`."""
        return self.n_vectors * n_arms + self.n_more

    @cached_property
    def places(self) -> Mapping[str, tuple[int, int]]:
        """Before each name: so many rows of `numbers`, or so many for each arm of `vectors`; and those of no arm."""
        places: dict[str, tuple[int, int]] = {}
        for per_arm in (False, True):
            before, more = 0, 0
            for name, kind in self.kinds.items():
                if kind.per_arm == per_arm:
                    places[name] = before, more
                    before, more = before + kind.rows, more + kind.more
        return places

    @cached_property
    def view(self) -> Any:
        """A kernel: the record over `numbers`, `vectors` and K, all arrays with one column per game."""
        parts = []
        for name, kind in self.kinds.items():
            first, more = self.places[name]
            last = first + kind.rows
            if kind.per_arm:
                parts.append(f"vectors[{first} * K + {more}:{last} * K + {more + kind.more}]")
            else:
                parts.append(f"numbers[{first}]" if kind.several is None else f"numbers[{first}:{last}]")
        scope = {"Record": self.record, "__name__": __name__}
        exec(f"def view(numbers, vectors, K):\n    return Record({', '.join(parts)})\n", scope)
        if not COMPILED:
            return scope["view"]
        kinds = tuple((name, kind.per_arm, kind.several, kind.more) for name, kind in self.kinds.items())
        return RecordView(scope["view"], kinds)

    def saved(self, numbers: Array, vectors: Array) -> dict[str, Any]:
        """The numbers of one game by name, without its scratch space."""
        K = self._arms(vectors)
        single, per_arm = numbers.ravel().tolist(), vectors.ravel().tolist()
        found: dict[str, Any] = {}
        for name, kind in self.saved_kinds.items():
            first, more = self.places[name]
            last = first + kind.rows
            if kind.per_arm:
                found[name] = per_arm[first * K + more : last * K + more + kind.more]
            else:
                found[name] = single[first] if kind.several is None else single[first:last]
        return found

    def restore(self, values: Mapping[str, Any], numbers: Array, vectors: Array) -> None:
        """Put numbers by name where they lie; scratch space becomes zeros."""
        numbers[:], vectors[:] = 0.0, 0.0
        for (name, kind), rows in zip(self.kinds.items(), self._arrays(numbers, vectors), strict=True):
            if kind.saved:
                rows[:] = values[name]

    def named(self, numbers: Array, vectors: Array) -> Any:
        """The record of one game, as plain arrays that share its memory."""
        return self.record(*self._arrays(numbers, vectors))

    def _arrays(self, numbers: Array, vectors: Array) -> list[Array]:
        """The part of each name."""
        K = self._arms(vectors)
        parts = []
        for name, kind in self.kinds.items():
            size = K if kind.per_arm else 1
            flat = vectors.reshape(-1) if kind.per_arm else numbers.reshape(-1)
            first, more = self.places[name]
            parts.append(flat[first * size + more : (first + kind.rows) * size + more + kind.more])
        return parts

    def _arms(self, vectors: Array) -> int:
        """The number of arms that `vectors` are of."""
        return (vectors.size - self.n_more) // self.n_vectors if self.n_vectors else 0


@cache
def layout_of(record: Any) -> Layout:
    """The layout of a NamedTuple whose fields are annotated as above."""
    if not (isinstance(record, type) and issubclass(record, tuple) and hasattr(record, "_fields")):
        raise TypeError(f"state and block must be declared as a NamedTuple; got {record!r}")
    hints = get_type_hints(record, include_extras=True)
    kinds = {}
    for name in record._fields:
        marks = [mark for mark in getattr(hints.get(name), "__metadata__", ()) if isinstance(mark, Kind)]
        if len(marks) != 1:
            known = "Scalar, PerArm, Scratch or ScratchPerArm"
            raise TypeError(f"{record.__name__}.{name} must be annotated as {known}; got {hints.get(name)!r}")
        kinds[name] = marks[0]
    return Layout(record, kinds)


def extended(record: Any, name: str, module: str, **fields: Any) -> Any:
    """The NamedTuple class `name` of `module`: the fields of `record`, then these."""
    hints = get_type_hints(record, include_extras=True) | fields
    made: Any = namedtuple(name, hints)  # type: ignore[misc]  # its fields are known when it is made
    made.__annotations__, made.__module__ = hints, module
    return made
