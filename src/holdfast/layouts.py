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
from itertools import count
from typing import Annotated, Any, NamedTuple, get_type_hints

import numpy as np
from numpy.typing import NDArray

from holdfast._numba.compile import COMPILED, kernel

Array = NDArray[np.float64]


class Kind(NamedTuple):
    """What a name stands for."""

    per_arm: bool
    saved: bool


Scalar = Annotated[Array, Kind(per_arm=False, saved=True)]
"""One number per game."""
PerArm = Annotated[Array, Kind(per_arm=True, saved=True)]
"""One number per arm and game."""
Scratch = Annotated[Array, Kind(per_arm=False, saved=False)]
"""One number per game that means nothing between two calls."""
ScratchPerArm = Annotated[Array, Kind(per_arm=True, saved=False)]
"""One number per arm and game that means nothing between two calls."""


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
        return sum(not kind.per_arm for kind in self.kinds.values())

    @cached_property
    def n_vectors(self) -> int:
        """Rows of `vectors` for each arm."""
        return sum(kind.per_arm for kind in self.kinds.values())

    @cached_property
    def saved_kinds(self) -> Mapping[str, Kind]:
        """The names that are saved."""
        return {name: kind for name, kind in self.kinds.items() if kind.saved}

    @cached_property
    def _saved(self) -> list[tuple[str, bool, int]]:
        """Each name that is saved, whether it is per arm, and its place among those that are, or are not."""
        rows = {per_arm: count() for per_arm in (False, True)}
        places = [(name, kind, next(rows[kind.per_arm])) for name, kind in self.kinds.items()]
        return [(name, kind.per_arm, i) for name, kind, i in places if kind.saved]

    @cached_property
    def view(self) -> Any:
        """A kernel: the record over `numbers`, `vectors` and K, all arrays with one column per game."""
        parts, row, vector = [], 0, 0
        for kind in self.kinds.values():
            if kind.per_arm:
                parts.append(f"vectors[{vector} * K:{vector + 1} * K]")
                vector += 1
            else:
                parts.append(f"numbers[{row}]")
                row += 1
        scope = {"Record": self.record, "__name__": __name__}
        exec(f"def view(numbers, vectors, K):\n    return Record({', '.join(parts)})\n", scope)
        return kernel(scope["view"]) if COMPILED else scope["view"]

    def saved(self, numbers: Array, vectors: Array) -> dict[str, Any]:
        """The numbers of one game by name, without its scratch space."""
        scalars = numbers.ravel().tolist()
        rows = vectors.reshape(self.n_vectors, -1).tolist() if self.n_vectors else []
        return {name: (rows if per_arm else scalars)[i] for name, per_arm, i in self._saved}

    def restore(self, values: Mapping[str, Any], numbers: Array, vectors: Array) -> None:
        """Put numbers by name where they lie; scratch space becomes zeros."""
        numbers[:], vectors[:] = 0.0, 0.0
        rows = vectors.reshape(self.n_vectors, -1) if self.n_vectors else vectors
        for name, per_arm, i in self._saved:
            (rows if per_arm else numbers)[i] = values[name]

    def named(self, numbers: Array, vectors: Array) -> Any:
        """The record of one game, as plain arrays that share its memory."""
        return self.record(*self._places(numbers, vectors))

    def _places(self, numbers: Array, vectors: Array) -> list[Array]:
        rows = iter(numbers.reshape(self.n_numbers, 1))
        columns = iter(vectors.reshape(self.n_vectors, -1)) if self.n_vectors else iter(())
        return [next(columns) if kind.per_arm else next(rows) for kind in self.kinds.values()]


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
