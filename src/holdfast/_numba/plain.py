"""Kernels in plain Python: slow, and exact about where they go wrong."""

from __future__ import annotations

from types import CellType, FunctionType
from typing import Any

from holdfast._numba import lanes

SUBSTITUTES = (
    (lanes.as_lanes, lanes._plain_as_lanes),
    (lanes.local_lanes, lanes._plain_local_lanes),
    (lanes.local_words, lanes._plain_local_words),
)
"""Names that only the compiler understands, and NumPy's own."""


def plain(kernel: Any) -> Any:
    """Return a copy of a kernel, and of those that it calls, which Python runs. Unsigned integers warn as they wrap."""
    return _plain(kernel, {})


def _plain(value: Any, made: dict[Any, Any]) -> Any:
    for compiled, substitute in SUBSTITUTES:
        if value is compiled:
            return substitute
    function = getattr(value, "py_func", None)
    if not isinstance(function, FunctionType):
        return value
    if function not in made:
        names, scope, cells = set(function.__code__.co_names), dict(function.__globals__), function.__closure__ or ()
        closure = tuple(CellType() for _ in cells)
        made[function] = FunctionType(
            function.__code__, scope, function.__name__, function.__defaults__, closure or None
        )
        scope.update({name: _plain(scope[name], made) for name in names & scope.keys()})
        for cell, own in zip(cells, closure, strict=True):
            own.cell_contents = _plain(cell.cell_contents, made)
    return made[function]
