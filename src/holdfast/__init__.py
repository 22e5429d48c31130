"""Holdfast: decide which of K options to use when changing one's mind costs something.

>>> import holdfast as hf
>>> player = hf.TsallisSwitch(n_arms=6, switching_cost=0.35).player(seed=7)
>>> arm = player.ask()
>>> player.tell(0.42)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

_WHERE = {
    "AlreadyTold": "errors",
    "BadSavedState": "errors",
    "BadStore": "errors",
    "BaSE": "policies",
    "Bernoulli": "environments",
    "BlockExp3": "policies",
    "bounds": "",
    "ConstrainedBernoulli": "environments",
    "Decision": "decisions",
    "DecisionError": "errors",
    "Environment": "environments",
    "Exp3": "policies",
    "Fleet": "decisions",
    "Forgotten": "errors",
    "HoldfastError": "errors",
    "Interrupted": "simulation",
    "InvalidParameter": "errors",
    "LossTable": "environments",
    "MissingExtra": "errors",
    "open": "decisions",
    "OtherSettings": "errors",
    "OutOfTurn": "errors",
    "Player": "players",
    "Policy": "policies",
    "Power": "simulation",
    "Receipt": "decisions",
    "regret": "",
    "Result": "results",
    "Reversal": "environments",
    "Router": "decisions",
    "simulate": "simulation",
    "SomeRefused": "errors",
    "StoreError": "errors",
    "Stream": "rng",
    "Threads": "simulation",
    "TooLate": "errors",
    "tsallis_weights": "simplex",
    "TsallisInf": "policies",
    "TsallisSwitch": "policies",
    "UnknownDecision": "errors",
    "UnknownPlayer": "errors",
    "VaryingTsallisSwitch": "policies",
}
"""The module of each public name; ``""`` for a module that is one itself."""

if TYPE_CHECKING:
    from holdfast import bounds, regret
    from holdfast.decisions import Decision, Fleet, Receipt, Router, open
    from holdfast.environments import Bernoulli, ConstrainedBernoulli, Environment, LossTable, Reversal
    from holdfast.errors import (
        AlreadyTold,
        BadSavedState,
        BadStore,
        DecisionError,
        Forgotten,
        HoldfastError,
        InvalidParameter,
        MissingExtra,
        OtherSettings,
        OutOfTurn,
        SomeRefused,
        StoreError,
        TooLate,
        UnknownDecision,
        UnknownPlayer,
    )
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
    from holdfast.results import Result
    from holdfast.rng import Stream
    from holdfast.simplex import tsallis_weights
    from holdfast.simulation import Interrupted, Power, Threads, simulate

__all__ = [
    "AlreadyTold",
    "BaSE",
    "BadSavedState",
    "BadStore",
    "Bernoulli",
    "BlockExp3",
    "ConstrainedBernoulli",
    "Decision",
    "DecisionError",
    "Environment",
    "Exp3",
    "Fleet",
    "Forgotten",
    "HoldfastError",
    "Interrupted",
    "InvalidParameter",
    "LossTable",
    "MissingExtra",
    "OtherSettings",
    "OutOfTurn",
    "Player",
    "Policy",
    "Power",
    "Receipt",
    "Result",
    "Reversal",
    "Router",
    "SomeRefused",
    "StoreError",
    "Stream",
    "Threads",
    "TooLate",
    "TsallisInf",
    "TsallisSwitch",
    "UnknownDecision",
    "UnknownPlayer",
    "VaryingTsallisSwitch",
    "bounds",
    "open",
    "regret",
    "simulate",
    "tsallis_weights",
]


def __getattr__(name: str) -> Any:
    """Load a public name at its first use: importing the package costs nothing that is not used."""
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    where = _WHERE[name]
    module = importlib.import_module(f"{__name__}.{where or name}")
    value = getattr(module, name) if where else module
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
