"""
Which arm was held when
=======================

The exact best plan in hindsight beside what a policy did that saw only the losses of the arm it held.
"""

import matplotlib.pyplot as plt
import numpy as np

import holdfast as hf

rng = np.random.default_rng(7)
means = np.tile([0.3, 0.5, 0.6], (6_000, 1))
means[2_500:] = [0.8, 0.4, 0.6]
losses = np.clip(means + 0.1 * rng.standard_normal(means.shape), 0, 1)
found = hf.replay(losses, arms=["east", "west", "south"], switching_cost=2.0, replications=20)

held = {"best plan": found.plans[2.0].arms, **{name: held.each_round() for (_, name), held in found.held.items()}}
figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
image = np.stack(list(held.values()))
axes.imshow(image, aspect="auto", interpolation="nearest", cmap=plt.get_cmap("viridis", 3), vmin=-0.5, vmax=2.5)
axes.set(yticks=range(len(held)), yticklabels=held, xlabel="round")
colours = figure.colorbar(axes.images[0], ticks=range(3))
colours.ax.set_yticklabels(found.arms)
