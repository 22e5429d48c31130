"""Holdfast: decide which of K options to use when changing one's mind costs something.

>>> import holdfast as hf
>>> player = hf.TsallisSwitch(n_arms=6, switching_cost=0.35).player(seed=7)
>>> arm = player.ask()
>>> player.tell(0.42)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_WHERE = {
    "BadSavedState": "errors",
    "BaSE": "policies",
    "Bernoulli": "environments",
    "BlockExp3": "policies",
    "ConstrainedBernoulli": "environments",
    "Environment": "environments",
    "Exp3": "policies",
    "HoldfastError": "errors",
    "InvalidParameter": "errors",
    "LossTable": "environments",
    "MissingExtra": "errors",
    "OutOfTurn": "errors",
    "Player": "players",
    "Policy": "policies",
    "Reversal": "environments",
    "Stream": "rng",
    "TsallisInf": "policies",
    "TsallisSwitch": "policies",
    "VaryingTsallisSwitch": "policies",
}

if TYPE_CHECKING:
    from holdfast.environments import Bernoulli, ConstrainedBernoulli, Environment, LossTable, Reversal
    from holdfast.errors import BadSavedState, HoldfastError, InvalidParameter, MissingExtra, OutOfTurn
    from holdfast.players import Player
    from holdfast.policies import (
        BaSE,
        BlockExp3,
        Exp3,
        Policy,
        TsallisInf,
        TsallisSwitch,
        VaryingTsallisSwitch,
    )
    from holdfast.rng import Stream

__all__ = [
    "BaSE",
    "BadSavedState",
    "Bernoulli",
    "BlockExp3",
    "ConstrainedBernoulli",
    "Environment",
    "Exp3",
    "HoldfastError",
    "InvalidParameter",
    "LossTable",
    "MissingExtra",
    "OutOfTurn",
    "Player",
    "Policy",
    "Reversal",
    "Stream",
    "TsallisInf",
    "TsallisSwitch",
    "VaryingTsallisSwitch",
]


def __getattr__(name: str) -> Any:
    """Load a public name at its first use: importing the package costs nothing that is not used."""
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_WHERE[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
