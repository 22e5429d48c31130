"""The environments: total and expected loss of an arm over any run of rounds, in closed form."""

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
    Found,
    JumpingLevels,
    PiecewiseConstant,
    Reversal,
    Seasonal,
    UnseenTurn,
    found_worlds,
)
from holdfast.environments.ranges import VaryingRanges
from holdfast.environments.registry import ENVIRONMENTS, make_environment
from holdfast.environments.tables import ForecastTable, LossTable
from holdfast.environments.walk import MultiScaleWalk

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
    "Found",
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
    "found_worlds",
    "make_environment",
]
