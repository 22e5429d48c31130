"""
Cost against λ
==============

The same world with switches from nearly free to very expensive. A policy that is not told λ pays in proportion to it.
"""

import matplotlib.pyplot as plt

import holdfast as hf

costs = [0.03, 0.1, 0.3, 1.0, 3.0]
names = ("adaptive", "tsallis-switch", "exp3")
means = {name: [] for name in names}
for cost in costs:
    final = hf.simulate(
        [hf.AdaptiveTsallisSwitch(4, switching_cost=cost), hf.TsallisSwitch(4, switching_cost=cost), hf.Exp3(4)],
        hf.Bernoulli.with_gap(4, 0.1),
        horizon=20_000,
        switching_cost=cost,
        replications=32,
    ).final()
    for name, value in zip(final["policy"], final["regret_with_switching_mean"], strict=True):
        means[name].append(value)

figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
for name, marker in zip(names, "os^", strict=True):
    axes.loglog(costs, means[name], marker=marker, label=name)
axes.set(xlabel="λ, the cost of one switch", ylabel="regret with switching, T = 20,000")
axes.legend(frameon=False)
