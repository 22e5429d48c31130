"""A policy that is one kernel, `choose`. Tests import this file, or begin a script of their own with its text."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

import holdfast as hf
from holdfast.kernels import Kernels, kernel

EXP3 = hf.Exp3(2).kernels


@kernel
def learn_nothing(params, state, block, totals, rounds):
    pass


def policy_of(choose):
    @dataclass(frozen=True)
    class Own(hf.Policy):
        id: ClassVar[str] = "own"
        kernels: ClassVar[Kernels] = Kernels(choose, learn_nothing, EXP3.state, EXP3.block)

        def probabilities(self, params, state, block):
            p = np.zeros(self.n_arms)
            p[int(block.arm[0])] = 1.0
            return p

    return Own(4)


def arms(policy):
    """The arm in online play, and the one a simulation plays all the time: it loses 0, 1, 2 or 3 tenths."""
    world = hf.LossTable(np.tile([0.0, 0.1, 0.2, 0.3], (10, 1)))  # the world that is compiled soonest
    result = hf.simulate(policy, world, horizon=10, switching_cost=0.0, replications=1, workers=1)
    return policy.player(seed=1).ask(), round(result.frame["pseudo_regret"].to_list()[-1])
