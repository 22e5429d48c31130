"""
What is proved, and what is measured
====================================

The bounds hold for any losses, against the best *fixed* arm. In a benign world the policies stay far below them.
"""

import matplotlib.pyplot as plt

import holdfast as hf

T, K, cost = 100_000, 8, 1.0
result = hf.simulate(
    [hf.AdaptiveTsallisSwitch(K, switching_cost=cost), hf.TsallisSwitch(K, switching_cost=cost)],
    hf.Bernoulli.with_gap(K, 0.05),
    horizon=T,
    switching_cost=cost,
    replications=32,
    checkpoints="log",
)
figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
for (name,), rows in result.summary().group_by("policy", maintain_order=True):
    axes.loglog(rows["round"], rows["regret_with_switching_mean"], label=f"{name}, measured")
rounds = [10**n for n in range(1, 6)]
for name, bound in (("Theorem 1", hf.bounds.theorem_1), ("adaptive, any losses", hf.bounds.adaptive)):
    values = [bound(n_arms=K, switching_cost=cost, horizon=t) for t in rounds]
    axes.loglog(rounds, [float(getattr(value, "value", value)) for value in values], "--", label=f"{name}, bound")
axes.set(xlabel="rounds", ylabel="regret with switching")
axes.legend(frameon=False)
