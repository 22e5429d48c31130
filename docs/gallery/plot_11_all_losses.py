"""
Seeing all losses
=================

Prices of all regions are public. A policy that uses them needs no exploration: the same world, seen in two ways.
"""

import holdfast as hf

result = hf.simulate(
    {
        "sees its own arm": hf.AdaptiveTsallisSwitch(6, switching_cost=1.0),
        "sees all arms": hf.AdaptiveHedgeSwitch(6, switching_cost=1.0),
    },
    hf.Bernoulli.with_gap(6, 0.1),
    horizon=10_000,
    switching_cost=1.0,
    replications=8,
    seed=11,
)
figure = result.plot()
