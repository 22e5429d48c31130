"""Optional dependencies: loaded at first use; if one is missing, one line says what to install.

``from holdfast.extras import pl`` instead of ``import polars as pl``; ``need("matplotlib")`` before work that would be
lost without it.
"""

from __future__ import annotations

import importlib
import importlib.util
from typing import TYPE_CHECKING, Any

from holdfast.errors import MissingExtra

__all__ = ["installed", "need", "pl"]

EXTRAS = {
    "matplotlib": ("drawing needs matplotlib", "report"),
    "polars": ("tables of losses and results need polars", "simulate"),
}
"""For each module, its purpose and the extra of Holdfast that brings it."""


def installed(module: str) -> bool:
    """Return True if a module can be imported."""
    return importlib.util.find_spec(module) is not None


def need(module: str) -> Any:
    """Return a module of an extra, or raise `MissingExtra`.

    >>> need("polars").__name__
    'polars'
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:  # it is there, and lacks something of its own
            raise
        what, extra = EXTRAS[module]
        raise MissingExtra(f"{what}: pip install 'holdfast[{extra}]'") from None


class _AtFirstUse:
    """A module that is imported at its first use."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        value = getattr(need(self._name), attribute)
        setattr(self, attribute, value)
        return value


if TYPE_CHECKING:
    import polars as pl
else:
    pl = _AtFirstUse("polars")
