"""
What switching is worth
=======================

With hindsight, how much less would a plan of at most n switches have lost than the best fixed arm? Where this curve is
flat, no policy can gain much by switching.
"""

import matplotlib.pyplot as plt
import numpy as np

import holdfast as hf

rng = np.random.default_rng(8)
hours = np.arange(2_000)
rhythm = np.cos(2 * np.pi * (hours[:, None] - [0, 700, 1_400]) / 2_000)
losses = np.clip(0.5 + 0.2 * rhythm + 0.1 * rng.standard_normal((2_000, 3)), 0, 1)

limits = range(1, 9)
plans = [hf.best_plan(losses, switching_cost=0.0, max_switches=n) for n in limits]
figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
axes.plot(limits, [plan.losses for plan in plans], marker="o")
axes.set(xlabel="switches at most (the first play is one)", ylabel="losses of the best plan")
