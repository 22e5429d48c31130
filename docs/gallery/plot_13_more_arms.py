"""
From 2 to 32 arms
=================

More arms cost every policy more: there is more to find out, and each look is a switch.
"""

import matplotlib.pyplot as plt

import holdfast as hf

counts = [2, 4, 8, 16, 32]
figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
for make, name, marker in ((hf.AdaptiveTsallisSwitch, "adaptive", "o"), (hf.TsallisSwitch, "tsallis-switch", "s")):
    costs = [
        hf.simulate(
            make(k, switching_cost=1.0),
            hf.Bernoulli.with_gap(k, 0.1),
            horizon=20_000,
            switching_cost=1.0,
            replications=32,
        ).final()["regret_with_switching_mean"][0]
        for k in counts
    ]
    axes.plot(counts, costs, marker=marker, label=name)
axes.set(xlabel="arms", ylabel="regret with switching", xscale="log", xticks=counts, xticklabels=counts)
axes.minorticks_off()
axes.legend(frameon=False)
