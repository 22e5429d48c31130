"""The environments: total and expected loss of an arm over any run of rounds, in closed form."""

from holdfast.environments.environment import Environment
from holdfast.environments.loss_table import LossTable
from holdfast.environments.phases import Bernoulli, ConstrainedBernoulli, Reversal

__all__ = ["Bernoulli", "ConstrainedBernoulli", "Environment", "LossTable", "Reversal"]
