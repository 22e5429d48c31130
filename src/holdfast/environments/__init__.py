"""The environments: total and expected loss of an arm over any run of rounds, in closed form."""

from holdfast.environments.environment import Environment
from holdfast.environments.forecast_table import ForecastTable
from holdfast.environments.hard_cases import ChangingBest, Corrupted, Drifting, JumpingLevels, Seasonal, UnseenTurn
from holdfast.environments.loss_table import LossTable
from holdfast.environments.multi_scale_walk import MultiScaleWalk
from holdfast.environments.phases import Bernoulli, ConstrainedBernoulli, Reversal
from holdfast.environments.piecewise import PiecewiseConstant
from holdfast.environments.registry import ENVIRONMENTS, make_environment
from holdfast.environments.searched_worlds import Found, found_worlds

__all__ = [
    "ENVIRONMENTS",
    "Bernoulli",
    "ChangingBest",
    "ConstrainedBernoulli",
    "Corrupted",
    "Drifting",
    "Environment",
    "ForecastTable",
    "Found",
    "JumpingLevels",
    "LossTable",
    "MultiScaleWalk",
    "PiecewiseConstant",
    "Reversal",
    "Seasonal",
    "UnseenTurn",
    "found_worlds",
    "make_environment",
]
