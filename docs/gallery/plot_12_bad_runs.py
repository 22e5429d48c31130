"""
Means and bad runs
==================

A mean hides what an unlucky game costs. Each box has the middle half of 200 games; whiskers end at the 1st and 99th
percentile.
"""

import matplotlib.pyplot as plt

import holdfast as hf

result = hf.simulate(
    [
        hf.AdaptiveTsallisSwitch(8, switching_cost=0.3),
        hf.TsallisSwitch(8, switching_cost=0.3),
        hf.Ucb1(8),
        hf.ThompsonSampling(8),
    ],
    hf.Bernoulli.with_gap(8, 0.1),
    horizon=10_000,
    switching_cost=0.3,
    replications=200,
    seed=12,
)
last = result.frame.filter(result.frame["round"] == 10_000)
games = [last.filter(last["policy"] == name)["regret_with_switching"].to_list() for name in result.policies]
figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
axes.boxplot(games, whis=(1, 99), tick_labels=result.policies, showfliers=False)
axes.set(ylabel="regret with switching", yscale="log")
