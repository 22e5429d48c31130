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
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import count
from typing import Annotated, Any, NamedTuple, get_args, get_type_hints

import numpy as np
from numpy.typing import NDArray

from holdfast._numba.compile import COMPILED, kernel

Array = NDArray[np.float64]


class Kind(NamedTuple):
    """Shape and lifetime of a named array."""

    per_arm: bool
    saved: bool
    several: int | str | None = None
    """Length of the array: an int, or the name of a size set at run time. None means a single number."""

    @property
    def rows(self) -> int:
        """Number of rows, or of rows per arm, unless set at run time."""
        return 1 if self.several is None else int(self.several)

    @property
    def in_vectors(self) -> bool:
        """True if it is stored in `vectors`: all arrays whose size depends on the game are."""
        return self.per_arm or isinstance(self.several, str)


Scalar = Annotated[Array, Kind(per_arm=False, saved=True)]
"""One number per game."""
PerArm = Annotated[Array, Kind(per_arm=True, saved=True)]
"""One number per arm and game."""
Scratch = Annotated[Array, Kind(per_arm=False, saved=False)]
"""One number per game, undefined between two calls."""
ScratchPerArm = Annotated[Array, Kind(per_arm=True, saved=False)]
"""One number per arm and game, undefined between two calls."""


def several(kind: Any, count: int | str) -> Any:
    """Return a kind of `count` entries: ``several(Scalar, n)[j, g]``, ``several(PerArm, n)[j * K + i, g]``.

    ``several(Scalar, "experts")`` leaves the number open, so that the same machine code plays games of any size. It is
    given by name in Python (`Layout.of_size`), and to kernels in ``params.sizes``, in the order of first appearance.
    """
    hint, mark = get_args(kind)
    return Annotated[hint, mark._replace(several=count)]


class Range(NamedTuple):
    """Valid range of a saved number, once a game has begun: ``Annotated[Scalar, Range(0.0, 1.0)]``."""

    least: float = -math.inf
    most: float = math.inf
    above: float = -math.inf
    """Exclusive lower limit."""
    whole: bool = False
    arms: int | None = None
    """Offset of the upper limit below the number of arms, if given."""

    def broken_by(self, values: Any, n_arms: int) -> str | None:
        """Return the rule that these numbers break, if any. With `n_arms` 0 the number of arms is unknown.

        >>> Range(least=0.0, whole=True).broken_by([-1.0], 0)
        'must be whole, be at least 0'
        """
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
"""Index of an arm, from 0."""


@dataclass(frozen=True)
class Layout:
    """Positions of the names of a NamedTuple."""

    record: Any
    """The NamedTuple class."""
    kinds: Mapping[str, Kind]
    ranges: Mapping[str, Range]
    """Valid ranges of saved numbers, for names that have one."""
    sizes: Mapping[str, int] = field(default_factory=dict)
    """Sizes by the names that `several` gave them."""

    @cached_property
    def size_names(self) -> tuple[str, ...]:
        """Names of sizes, in the order of ``params.sizes``."""
        return tuple(dict.fromkeys(kind.several for kind in self.kinds.values() if isinstance(kind.several, str)))

    def of_size(self, sizes: Mapping[str, int]) -> Layout:
        """Return the layout of a game with these sizes."""
        return replace(self, sizes=sizes)

    @cached_property
    def extents(self) -> list[tuple[bool, int, int]]:
        """Extent of each name: in `vectors` or not, rows per arm, and rows that belong to no arm."""
        found = []
        for kind in self.kinds.values():
            if not isinstance(kind.several, str):
                count = kind.rows
            elif kind.several in self.sizes:
                count = self.sizes[kind.several]
            else:
                raise TypeError(f"{self.record.__name__} leaves the size {kind.several!r} open: say it in state_layout")
            found.append((kind.in_vectors, count if kind.per_arm else 0, 0 if kind.per_arm else count))
        return found

    @cached_property
    def names(self) -> tuple[str, ...]:
        """All names, in order."""
        return tuple(self.kinds)

    @cached_property
    def n_numbers(self) -> int:
        """Rows of `numbers`."""
        return sum(kind.rows for kind in self.kinds.values() if not kind.in_vectors)

    @cached_property
    def n_vectors(self) -> int:
        """Rows of `vectors` for each arm."""
        return sum(per_arm for _, per_arm, _ in self.extents)

    @cached_property
    def saved_kinds(self) -> Mapping[str, Kind]:
        """Kinds of the saved names."""
        return {name: kind for name, kind in self.kinds.items() if kind.saved}

    @cached_property
    def n_more(self) -> int:
        """Rows of `vectors` that belong to no arm."""
        return sum(rows for in_vectors, _, rows in self.extents if in_vectors)

    def vector_rows(self, n_arms: int) -> int:
        """Return the rows of `vectors`."""
        return self.n_vectors * n_arms + self.n_more

    @cached_property
    def view(self) -> Any:
        """A kernel: the record over `numbers`, `vectors` and K, all arrays with one column per game."""
        parts, rows, more = [], [0, 0], ""
        for kind in self.kinds.values():
            if isinstance(kind.several, str):
                begin = f"{rows[1]} * K{more}"
                more += f" + int(params.sizes[{self.size_names.index(kind.several)}])" + " * K" * kind.per_arm
                parts.append(f"vectors[{begin}:{rows[1]} * K{more}]")
                continue
            first = rows[kind.per_arm]
            rows[kind.per_arm] = last = first + kind.rows
            if kind.per_arm:
                parts.append(f"vectors[{first} * K{more}:{last} * K{more}]")
            else:
                parts.append(f"numbers[{first}]" if kind.several is None else f"numbers[{first}:{last}]")
        scope = {"Record": self.record, "__name__": __name__}
        exec(f"def view(params, numbers, vectors, K):\n    return Record({', '.join(parts)})\n", scope)
        return kernel(scope["view"]) if COMPILED else scope["view"]

    def saved(self, numbers: Array, vectors: Array) -> dict[str, Any]:
        """Return the numbers of one game by name, without its scratch space."""
        parts = self._parts(numbers.ravel().tolist(), vectors.ravel().tolist())
        return {
            name: rows[0] if kind.several is None and not kind.per_arm else rows
            for (name, kind), rows in zip(self.kinds.items(), parts, strict=True)
            if kind.saved
        }

    def restore(self, values: Mapping[str, Any], numbers: Array, vectors: Array) -> None:
        """Store numbers by name; scratch space becomes zeros."""
        numbers[:], vectors[:] = 0.0, 0.0
        parts = self._parts(numbers.reshape(-1), vectors.reshape(-1))
        for (name, kind), rows in zip(self.kinds.items(), parts, strict=True):
            if kind.saved:
                rows[:] = values[name]

    def broken_rule(self, values: Mapping[str, Any], n_arms: int) -> str | None:
        """Return the rule that numbers of games in progress break, if any: one game's, or arrays of many games'."""
        for name, allowed in self.ranges.items():
            if (rule := allowed.broken_by(values[name], n_arms)) is not None:
                return f"{name} {rule}"
        return None

    def named(self, numbers: Array, vectors: Array) -> Any:
        """Return the record of one game, as plain arrays that share its memory."""
        return self.record(*self._parts(numbers.reshape(-1), vectors.reshape(-1)))

    def places(self, n_arms: int) -> list[slice]:
        """Return the rows of each name, in `vectors` or in `numbers`."""
        begin, found = [0, 0], []
        for in_vectors, per_arm, rows in self.extents:
            end = begin[in_vectors] + per_arm * n_arms + rows
            found.append(slice(begin[in_vectors], end))
            begin[in_vectors] = end
        return found

    def _parts(self, numbers: Any, vectors: Any) -> list[Any]:
        """Return the part of each name, from arrays or lists."""
        K = (len(vectors) - self.n_more) // self.n_vectors if self.n_vectors else 0
        extents = zip(self.extents, self.places(K), strict=True)
        return [vectors[rows] if in_vectors else numbers[rows] for (in_vectors, _, _), rows in extents]


@cache
def layout_of(record: Any) -> Layout:
    """Return the layout of a NamedTuple whose fields are annotated as above."""
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
    if not (isinstance(record, type) and issubclass(record, tuple) and hasattr(record, "_fields")):
        raise TypeError(f"{what} must be declared as a NamedTuple; got {record!r}")
    hints = get_type_hints(record, include_extras=True)
    return {name: hints.get(name) for name in record._fields}


@dataclass(frozen=True)
class ParamsLayout:
    """Positions of a policy's parameters in one array: the numbers, the length of each table, the tables."""

    record: Any
    """The NamedTuple class; None where kernels take the plain array."""
    is_table: Mapping[str, bool]

    def packed(self, values: Any) -> Array:
        """Pack these parameters into an array."""
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
    """Return the layout of parameters annotated as `float` or `Array`; None for an array without names."""
    if record is None:
        return ParamsLayout(None, {})
    hints = _hints(record, "params")
    for name, hint in hints.items():
        if hint not in (float, Array):
            raise TypeError(f"{record.__name__}.{name} must be annotated as float or Array; got {hint!r}")
    return ParamsLayout(record, {name: hint is not float for name, hint in hints.items()})


def extended(record: Any, name: str, module: str, **fields: Any) -> Any:
    """Return the NamedTuple class `name` of `module`: the fields of `record`, then these."""
    hints = get_type_hints(record, include_extras=True) | fields
    made: Any = namedtuple(name, hints)  # type: ignore[misc]  # its fields are known when it is made
    made.__annotations__, made.__module__ = hints, module
    return made


def joined(record: Any, **parts: Any) -> Any:
    """Return `record` with the fields of each of `parts`, a NamedTuple class, after its own: ``name_field``."""
    fields = {
        f"{name}_{field}": hint
        for name, part in parts.items()
        for field, hint in get_type_hints(part, include_extras=True).items()
    }
    return extended(record, "Joined", __name__, **fields)


def idle(record: Any) -> Any:
    """Return `record` with ranges that zeros keep: of a part that may not have begun."""

    def with_zero(hint: Any) -> Any:
        of = [
            mark._replace(least=min(max(mark.least, mark.above), 0.0), above=-math.inf)
            if isinstance(mark, Range)
            else mark
            for mark in hint.__metadata__
        ]
        return Annotated[(hint.__origin__, *of)]

    hints = {name: with_zero(hint) for name, hint in get_type_hints(record, include_extras=True).items()}
    made: Any = namedtuple("Idle", hints)  # type: ignore[misc]  # its fields are known when it is made
    made.__annotations__ = hints
    return made


@cache
def part_of(record: Any, name: str) -> Any:
    """Return a kernel: the part `name` of a `joined` value, as `record`; None means an array without names."""
    if record is None:
        return _as_it_is
    scope = {"Record": record, "__name__": __name__}
    of = ", ".join(f"whole.{name}_{field}" for field in record._fields)
    exec(f"def part(whole):\n    return Record({of})\n", scope)
    return kernel(scope["part"])
