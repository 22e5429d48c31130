"""Holdfast repeatedly picks one of K options when switching has a cost: bandits with switching costs.

>>> import holdfast as hf
>>> player = hf.AdaptiveTsallisSwitch(n_arms=6, switching_cost=0.35).player(seed=7)
>>> arm = player.ask()
>>> player.tell(0.42)
"""

from __future__ import annotations

import ast as _ast
import importlib as _importlib
import pkgutil as _pkgutil
import sys as _sys

__version__ = "0.5.0"


def _modules() -> dict[str, str]:
    """Return the module of each public name, as `__init__.pyi` imports it."""
    stub = _ast.parse(_pkgutil.get_data(__name__, "__init__.pyi") or b"")
    imports = (node for node in stub.body if isinstance(node, _ast.ImportFrom))
    return {alias.name: str(node.module) for node in imports for alias in node.names}


_MODULES = _modules()

__all__ = sorted(_MODULES.keys() - {"open"})  # a star import must not hide the builtin `open`


def __getattr__(name: str) -> object:
    """Load a public name at its first use: importing the package costs nothing that is not used."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name, obj=_sys.modules[__name__])
    module = _importlib.import_module(_MODULES[name])
    if module.__name__ != __name__ and hasattr(module, name):
        value: object = getattr(module, name)
    else:  # a module itself
        value = _importlib.import_module(f"{module.__name__}.{name}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*_MODULES, "__version__"])
