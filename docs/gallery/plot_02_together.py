"""
Losses that rise and fall together
==================================

A "constrained adversary" moves the losses of all arms up and down, and keeps the gaps. Policies that compare means of
different times are misled, here UCB1. Those that estimate differences are not.
"""

import holdfast as hf

result = hf.simulate(
    [hf.AdaptiveTsallisSwitch(8, switching_cost=0.1), hf.TsallisSwitch(8, switching_cost=0.1), hf.Ucb1(8)],
    hf.ConstrainedBernoulli(8, 0.2, shuffled=True),
    horizon=30_000,
    switching_cost=0.1,
    replications=32,
    seed=2,
)
figure = result.plot(measures=["pseudo_regret", "switches", "regret_with_switching"])
