"""
A thousand devices
==================

A fleet is many games in arrays: every device learns for itself, and all are asked in one call.
"""

import matplotlib.pyplot as plt
import numpy as np

import holdfast as hf

fleet = hf.Fleet(hf.TsallisSwitch(4, switching_cost=1.0), 1_000, seed=15)
rng = np.random.default_rng(15)
best = rng.integers(4, size=len(fleet))
right = []
for _ in range(600):
    arms, _ = fleet.ask()
    right.append(np.mean(arms == best))
    fleet.tell(np.where(arms == best, 0.2, 0.6))

figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
axes.plot(right)
axes.set(xlabel="round", ylabel="devices on their best arm", ylim=(0, 1))
