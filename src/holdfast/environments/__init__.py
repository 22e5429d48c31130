"""The environments, and each by its name: the package's own by id, user-defined ones by ``"module:Class"``.

Total and expected loss of an arm over any run of rounds, in closed form.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.checks import class_at, is_own, one_of
from holdfast.environments.changing import (
    ChangingEnvironment,
    CommonJumps,
    MarkovChain,
    OrnsteinUhlenbeck,
    Outages,
    RandomChanges,
    Seasons,
    TiringArms,
)
from holdfast.environments.environment import Environment
from holdfast.environments.phased import (
    Bernoulli,
    ChangingBest,
    ConstrainedBernoulli,
    Corrupted,
    Drifting,
    JumpingLevels,
    PiecewiseConstant,
    Reversal,
    Seasonal,
    UnseenTurn,
)
from holdfast.environments.tables import ForecastTable, LossTable
from holdfast.environments.theorems import MultiScaleWalk, VaryingRanges
from holdfast.errors import InvalidParameter

__all__ = [
    "ENVIRONMENTS",
    "Bernoulli",
    "ChangingBest",
    "ChangingEnvironment",
    "CommonJumps",
    "ConstrainedBernoulli",
    "Corrupted",
    "Drifting",
    "Environment",
    "ForecastTable",
    "JumpingLevels",
    "LossTable",
    "MarkovChain",
    "MultiScaleWalk",
    "OrnsteinUhlenbeck",
    "Outages",
    "PiecewiseConstant",
    "RandomChanges",
    "Reversal",
    "Seasonal",
    "Seasons",
    "TiringArms",
    "UnseenTurn",
    "VaryingRanges",
    "find_environment",
    "make_environment",
]

ENVIRONMENTS: Mapping[str, type[Environment]] = {
    kind.id: kind
    for kind in (
        Bernoulli,
        ConstrainedBernoulli,
        Reversal,
        LossTable,
        PiecewiseConstant,
        Corrupted,
        Drifting,
        Seasonal,
        ChangingBest,
        UnseenTurn,
        JumpingLevels,
        MultiScaleWalk,
        RandomChanges,
        OrnsteinUhlenbeck,
        Outages,
        Seasons,
        CommonJumps,
        MarkovChain,
        TiringArms,
        VaryingRanges,
    )
}


def find_environment(name: object) -> type[Environment]:
    """Return the class with this id, or the one that ``"module:Class"`` names."""
    if is_own(name):
        return class_at("environment", name, Environment)  # type: ignore[type-abstract]  # only compared with
    return ENVIRONMENTS[one_of("environment", name, ENVIRONMENTS)]


def make_environment(settings: Mapping[str, Any]) -> Environment:
    """Build the environment that `settings` describes: its name under ``"environment"``, and its parameters by name.

    >>> make_environment({"environment": "bernoulli", "mean_losses": [0.2, 0.5]}).n_arms
    2
    >>> make_environment({"environment": "bernoulli", "n_arms": 3, "gap": 0.1}).mean_losses
    (0.4, 0.5, 0.5)
    """
    if not isinstance(settings, Mapping):
        raise InvalidParameter("settings", 'must be a mapping such as {"environment": "bernoulli", ...}', settings)
    values = dict(settings)
    return find_environment(values.pop("environment", None)).from_settings(values)
