"""
A year of carbon
================

A job that can move between four regions, hour by hour for a year. The records are made up, as shares of 500 g/kWh: a
daily and a yearly rhythm, and noise that lasts for days. What would each policy have cost, for three values of λ?
"""

import matplotlib.pyplot as plt
import numpy as np

import holdfast as hf


def a_year(seed=5):
    rng, hours = np.random.default_rng(seed), np.arange(8_760)
    columns = []
    for level, daily, yearly, phase in (
        (0.45, 0.1, 0.1, 0),
        (0.5, 0.2, 0.0, 4),
        (0.42, 0.02, 0.15, 0),
        (0.6, 0.1, 0.2, 8),
    ):
        noise = np.zeros(len(hours))
        for t in range(1, len(hours)):
            noise[t] = 0.98 * noise[t - 1] + 0.015 * rng.standard_normal()
        rhythm = daily * np.cos(2 * np.pi * (hours - phase) / 24) + yearly * np.cos(2 * np.pi * hours / 8_760)
        columns.append(np.clip(level + rhythm + noise, 0, 1))
    return np.column_stack(columns)


costs = [0.1, 0.35, 1.0]
regions = ["hydro", "solar", "nuclear", "coal"]
found = hf.replay(a_year(), switching_cost=costs, arms=regions, replications=20, seed=5)

figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
whole = found.frame.filter(found.frame["stretch"] == "whole")
for (name,), rows in whole.group_by("policy", maintain_order=True):
    axes.plot(rows["switching_cost"], rows["cost"], marker="o", label=name)
axes.plot(costs, [found.plans[cost].cost for cost in costs], "k--", label="best plan in hindsight")
axes.set(xlabel="λ, the cost of a migration", ylabel="cost of the year", xscale="log")
axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
