"""
Costly switches, a small gap
============================

The paper's hard setting: eight arms, one better than the others by 0.05, and a switch that costs as much as a round can
lose. Regret alone favours policies that switch all the time. Regret *with* switching does not.
"""

import holdfast as hf

result = hf.simulate(
    [
        hf.AdaptiveTsallisSwitch(8, switching_cost=1.0),
        hf.TsallisSwitch(8, switching_cost=1.0),
        hf.TsallisInf(8),
    ],
    hf.Bernoulli.with_gap(n_arms=8, gap=0.05),
    horizon=30_000,
    switching_cost=1.0,
    replications=32,
    seed=1,
)
figure = result.plot()
