"""Named state and named parameters: a NamedTuple says which numbers there are, and kernels read them by name.

    class Kept(NamedTuple):
        n: Annotated[Scalar, Whole]   # one number per game; a saved one must be whole
        C: PerArm                     # one number per arm and game
        target: Scratch               # not used after the kernel has returned: not saved
        w: ScratchPerArm

    class Params(NamedTuple):
        lam: float                    # one number
        lengths: Array                # a table of any length

In a kernel ``state.n`` is a row with one column per game, ``state.C`` has a row per arm, ``params.lam`` is a number and
``params.lengths`` an array of one dimension. Only this module knows where they lie. State: in two arrays, `numbers` (a
row for each `Scalar` and `Scratch`) and `vectors` (K rows for each `PerArm` and `ScratchPerArm`). Parameters: in one
array. A name costs nothing: the compiler sees constant offsets.
"""

from __future__ import annotations

import math
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


class Range(NamedTuple):
    """What a saved number may be, once a game has begun: ``Annotated[Scalar, Range(0.0, 1.0)]``."""

    least: float = -math.inf
    most: float = math.inf
    above: float = -math.inf
    """It must be more than this."""
    whole: bool = False
    arms: int | None = None
    """If given, it may be at most the number of arms less this."""

    def broken_by(self, values: Any, n_arms: int) -> str | None:
        """The rule that these numbers break, if any. With `n_arms` 0 the number of arms is not known."""
        numbers = np.array(values) if isinstance(values, list) else values
        most = self.most if self.arms is None or not n_arms else n_arms - self.arms
        fits = (numbers >= self.least) & (numbers <= most) & (numbers > self.above)
        fits &= (not self.whole) | (numbers % 1.0 == 0.0)
        if fits.all() if isinstance(fits, np.ndarray) else fits:
            return None
        rules = ["be whole"] * self.whole + [f"be more than {self.above:g}"] * (self.above > -math.inf)
        rules += [f"be at least {self.least:g}"] * (self.least > -math.inf)
        return "must " + ", ".join(rules + [f"be at most {most:g}"] * (most < math.inf))


NonNegative = Range(least=0.0)
Positive = Range(above=0.0)
Probability = Range(0.0, 1.0)
Whole = Range(0.0, 2.0**53, whole=True)
"""A count: beyond 2⁵³ not every whole number is a float."""
Flag = Range(0.0, 1.0, whole=True)
ArmIndex = Range(0.0, whole=True, arms=1)
"""The number of an arm, from 0."""


@dataclass(frozen=True)
class Layout:
    """Where the names of a NamedTuple lie."""

    record: Any
    """The NamedTuple class."""
    kinds: Mapping[str, Kind]
    ranges: Mapping[str, Range]
    """What saved numbers may be, for the names that say it."""

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

    def broken_rule(self, values: Mapping[str, Any], n_arms: int) -> str | None:
        """The rule of a range that numbers of games in progress break, if any: one game's, or arrays of many games'."""
        for name, allowed in self.ranges.items():
            if (rule := allowed.broken_by(values[name], n_arms)) is not None:
                return f"{name} {rule}"
        return None

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
    hints = _hints(record, "state and block")
    kinds: dict[str, Kind] = {}
    ranges: dict[str, Range] = {}
    for name, hint in hints.items():
        marks = getattr(hint, "__metadata__", ())
        of_kind = [mark for mark in marks if isinstance(mark, Kind)]
        of_range = [mark for mark in marks if isinstance(mark, Range)]
        if len(of_kind) != 1 or len(of_range) > 1:
            known = "Scalar, PerArm, Scratch or ScratchPerArm"
            raise TypeError(f"{record.__name__}.{name} must be annotated as {known}; got {hint!r}")
        kinds[name] = of_kind[0]
        if of_range:
            ranges[name] = of_range[0]
    return Layout(record, kinds, ranges)


def _hints(record: Any, what: str) -> dict[str, Any]:
    """The annotations of a NamedTuple's fields, in order."""
    if not (isinstance(record, type) and issubclass(record, tuple) and hasattr(record, "_fields")):
        raise TypeError(f"{what} must be declared as a NamedTuple; got {record!r}")
    hints = get_type_hints(record, include_extras=True)
    return {name: hints.get(name) for name in record._fields}


@dataclass(frozen=True)
class ParamsLayout:
    """Where the parameters of a policy lie in one array: the numbers, the length of each table, the tables."""

    record: Any
    """The NamedTuple class; None where kernels take the array as it is."""
    is_table: Mapping[str, bool]

    def packed(self, values: Any) -> Array:
        """The array of these parameters."""
        if self.record is None:
            return np.asarray(values, dtype=np.float64)
        tables = [np.asarray(getattr(values, name)) for name, table in self.is_table.items() if table]
        numbers = [float(getattr(values, name)) for name, table in self.is_table.items() if not table]
        return np.concatenate([[*numbers, *map(len, tables)], *tables]).astype(np.float64)

    @cached_property
    def view(self) -> Any:
        """A kernel: the NamedTuple over such an array."""
        if self.record is None:
            return _as_it_is
        number, table = count(), count(sum(not table for table in self.is_table.values()))
        lines, parts, begin = [], [], str(len(self.is_table))
        for name, is_table in self.is_table.items():
            if not is_table:
                parts.append(f"packed[{next(number)}]")
                continue
            lines.append(f"    end_{name} = {begin} + int(packed[{next(table)}])")
            parts.append(f"packed[{begin}:end_{name}]")
            begin = f"end_{name}"
        scope = {"Record": self.record, "__name__": __name__}
        body = "\n".join(["def view(packed):", *lines, f"    return Record({', '.join(parts)})"])
        exec(body, scope)
        return kernel(scope["view"])


@kernel
def _as_it_is(packed: Any) -> Any:
    return packed


@cache
def params_layout_of(record: Any) -> ParamsLayout:
    """The layout of parameters whose fields are annotated as `float` or `Array`; None for an array without names."""
    if record is None:
        return ParamsLayout(None, {})
    hints = _hints(record, "params")
    for name, hint in hints.items():
        if hint not in (float, Array):
            raise TypeError(f"{record.__name__}.{name} must be annotated as float or Array; got {hint!r}")
    return ParamsLayout(record, {name: hint is not float for name, hint in hints.items()})


def extended(record: Any, name: str, module: str, **fields: Any) -> Any:
    """The NamedTuple class `name` of `module`: the fields of `record`, then these."""
    hints = get_type_hints(record, include_extras=True) | fields
    made: Any = namedtuple(name, hints)  # type: ignore[misc]  # its fields are known when it is made
    made.__annotations__, made.__module__ = hints, module
    return made
