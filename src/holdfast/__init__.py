"""Holdfast: decide which of K options to use when changing one's mind costs something.

>>> import holdfast as hf
>>> player = hf.AdaptiveTsallisSwitch(n_arms=6, switching_cost=0.35).player(seed=7)
>>> arm = player.ask()
>>> player.tell(0.42)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

_WHERE = {
    "AdaptiveTsallisSwitch": "policies",
    "BadSavedState": "errors",
    "BackendLost": "errors",
    "BaSE": "policies",
    "AmirTsallis": "policies",
    "AnytimeAmirTsallis": "policies",
    "BatchedElimination": "policies",
    "BatchedThompson": "policies",
    "LazyExp3": "policies",
    "StabilityPenaltyMatching": "policies",
    "ThompsonSampling": "policies",
    "Ucb2": "policies",
    "Bernoulli": "environments",
    "Interrupted": "simulation",
    "BlockExp3": "policies",
    "ConstrainedBernoulli": "environments",
    "ChangingBest": "environments",
    "Corrupted": "environments",
    "Drifting": "environments",
    "Found": "environments",
    "JumpingLevels": "environments",
    "MultiScaleWalk": "environments",
    "PiecewiseConstant": "environments",
    "Seasonal": "environments",
    "UnseenTurn": "environments",
    "Environment": "environments",
    "Exp3": "policies",
    "FollowTheLeader": "policies",
    "HoldForever": "policies",
    "HoldfastError": "errors",
    "InvalidParameter": "errors",
    "LoggedData": "replays",
    "LossTable": "environments",
    "MissingExtra": "errors",
    "OutOfTurn": "errors",
    "Plan": "replays",
    "Player": "players",
    "Policy": "policies",
    "Power": "simulation",
    "Result": "results",
    "Threads": "simulation",
    "Reversal": "environments",
    "Stream": "rng",
    "TsallisInf": "policies",
    "TsallisSwitch": "policies",
    "Ucb1": "policies",
    "VaryingTsallisSwitch": "policies",
    "best_plan": "replays",
    "bounds": "",
    "regret": "",
    "simulate": "simulation",
    "tsallis_weights": "simplex",
}
"""The module of each public name; ``""`` for a module that is one itself."""

if TYPE_CHECKING:
    from holdfast import bounds, regret
    from holdfast.environments import (
        Bernoulli,
        ChangingBest,
        ConstrainedBernoulli,
        Corrupted,
        Drifting,
        Environment,
        Found,
        JumpingLevels,
        LossTable,
        MultiScaleWalk,
        PiecewiseConstant,
        Reversal,
        Seasonal,
        UnseenTurn,
    )
    from holdfast.errors import BackendLost, BadSavedState, HoldfastError, InvalidParameter, MissingExtra, OutOfTurn
    from holdfast.players import Player
    from holdfast.policies import (
        AdaptiveTsallisSwitch,
        AmirTsallis,
        AnytimeAmirTsallis,
        BaSE,
        BatchedElimination,
        BatchedThompson,
        BlockExp3,
        Exp3,
        FollowTheLeader,
        HoldForever,
        LazyExp3,
        Policy,
        StabilityPenaltyMatching,
        ThompsonSampling,
        TsallisInf,
        TsallisSwitch,
        Ucb1,
        Ucb2,
        VaryingTsallisSwitch,
    )
    from holdfast.replays import LoggedData, Plan, best_plan
    from holdfast.results import Result
    from holdfast.rng import Stream
    from holdfast.simplex import tsallis_weights
    from holdfast.simulation import Interrupted, Power, Threads, simulate

__all__ = [
    "AdaptiveTsallisSwitch",
    "AmirTsallis",
    "AnytimeAmirTsallis",
    "BaSE",
    "BackendLost",
    "BadSavedState",
    "BatchedElimination",
    "BatchedThompson",
    "Bernoulli",
    "BlockExp3",
    "ChangingBest",
    "ConstrainedBernoulli",
    "Corrupted",
    "Drifting",
    "Environment",
    "Exp3",
    "FollowTheLeader",
    "Found",
    "HoldForever",
    "HoldfastError",
    "Interrupted",
    "InvalidParameter",
    "JumpingLevels",
    "LazyExp3",
    "LoggedData",
    "LossTable",
    "MissingExtra",
    "MultiScaleWalk",
    "OutOfTurn",
    "PiecewiseConstant",
    "Plan",
    "Player",
    "Policy",
    "Power",
    "Result",
    "Reversal",
    "Seasonal",
    "StabilityPenaltyMatching",
    "Stream",
    "ThompsonSampling",
    "Threads",
    "TsallisInf",
    "TsallisSwitch",
    "Ucb1",
    "Ucb2",
    "UnseenTurn",
    "VaryingTsallisSwitch",
    "best_plan",
    "bounds",
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
