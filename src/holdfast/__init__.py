"""Holdfast: decide which of K options to use when changing one's mind costs something.

>>> import holdfast as hf
>>> player = hf.AdaptiveTsallisSwitch(n_arms=6, switching_cost=0.35).player(seed=7)
>>> arm = player.ask()
>>> player.tell(0.42)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.3.0"

_WHERE = {
    "AdaptiveHedgeSwitch": "policies",
    "AdaptiveTsallisSwitch": "policies",
    "AllLossesPlayer": "players",
    "AlreadyTold": "errors",
    "AmirTsallis": "policies",
    "AnytimeAmirTsallis": "policies",
    "BackendLost": "errors",
    "BadSavedState": "errors",
    "BadStore": "errors",
    "BaSE": "policies",
    "BatchedElimination": "policies",
    "BatchedThompson": "policies",
    "Bernoulli": "environments",
    "best_plan": "replays.plans",
    "BlockExp3": "policies",
    "bounds": "",
    "ChangingBest": "environments",
    "ConstrainedBernoulli": "environments",
    "Corrupted": "environments",
    "Decision": "decisions",
    "DecisionError": "errors",
    "Drifting": "environments",
    "Environment": "environments",
    "Exp3": "policies",
    "Fleet": "decisions",
    "FollowTheLeader": "policies",
    "Forgotten": "errors",
    "Found": "environments",
    "HoldfastError": "errors",
    "HoldForever": "policies",
    "Interrupted": "simulation",
    "InvalidParameter": "errors",
    "JumpingLevels": "environments",
    "LazyExp3": "policies",
    "LoggedData": "replays.logged",
    "LossTable": "environments",
    "MissingExtra": "errors",
    "MultiScaleWalk": "environments",
    "open": "decisions",
    "OtherSettings": "errors",
    "OutOfTurn": "errors",
    "paths": "",
    "PiecewiseConstant": "environments",
    "Plan": "replays.plans",
    "Player": "players",
    "Policy": "policies",
    "Power": "simulation",
    "Receipt": "decisions",
    "regret": "",
    "Replay": "replays.outcome",
    "replay": "replays.run",
    "Result": "results",
    "Reversal": "environments",
    "Router": "decisions",
    "Seasonal": "environments",
    "simulate": "simulation",
    "SomeRefused": "errors",
    "StabilityPenaltyMatching": "policies",
    "StoreError": "errors",
    "Stream": "rng",
    "ThompsonSampling": "policies",
    "Threads": "simulation",
    "TooLate": "errors",
    "tsallis_weights": "simplex",
    "TsallisInf": "policies",
    "TsallisSwitch": "policies",
    "Ucb1": "policies",
    "Ucb2": "policies",
    "UnknownDecision": "errors",
    "UnknownPlayer": "errors",
    "UnseenTurn": "environments",
    "VaryingTsallisSwitch": "policies",
}
"""The module of each public name; ``""`` for a module that is one itself."""

if TYPE_CHECKING:
    from holdfast import bounds, paths, regret
    from holdfast.decisions import Decision, Fleet, Receipt, Router, open
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
    from holdfast.errors import (
        AlreadyTold,
        BackendLost,
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
    from holdfast.players import AllLossesPlayer, Player
    from holdfast.policies import (
        AdaptiveHedgeSwitch,
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
    from holdfast.replays.logged import LoggedData
    from holdfast.replays.outcome import Replay
    from holdfast.replays.plans import Plan, best_plan
    from holdfast.replays.run import replay
    from holdfast.results import Result
    from holdfast.rng import Stream
    from holdfast.simplex import tsallis_weights
    from holdfast.simulation import Interrupted, Power, Threads, simulate

__all__ = [
    "AdaptiveHedgeSwitch",
    "AdaptiveTsallisSwitch",
    "AllLossesPlayer",
    "AlreadyTold",
    "AmirTsallis",
    "AnytimeAmirTsallis",
    "BaSE",
    "BackendLost",
    "BadSavedState",
    "BadStore",
    "BatchedElimination",
    "BatchedThompson",
    "Bernoulli",
    "BlockExp3",
    "ChangingBest",
    "ConstrainedBernoulli",
    "Corrupted",
    "Decision",
    "DecisionError",
    "Drifting",
    "Environment",
    "Exp3",
    "Fleet",
    "FollowTheLeader",
    "Forgotten",
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
    "OtherSettings",
    "OutOfTurn",
    "PiecewiseConstant",
    "Plan",
    "Player",
    "Policy",
    "Power",
    "Receipt",
    "Replay",
    "Result",
    "Reversal",
    "Router",
    "Seasonal",
    "SomeRefused",
    "StabilityPenaltyMatching",
    "StoreError",
    "Stream",
    "ThompsonSampling",
    "Threads",
    "TooLate",
    "TsallisInf",
    "TsallisSwitch",
    "Ucb1",
    "Ucb2",
    "UnknownDecision",
    "UnknownPlayer",
    "UnseenTurn",
    "VaryingTsallisSwitch",
    "best_plan",
    "bounds",
    "open",
    "paths",
    "regret",
    "replay",
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
