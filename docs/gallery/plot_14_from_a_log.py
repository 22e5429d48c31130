"""
What a log can say
==================

Only the loss of the arm that was played is known, and the probability it was drawn with. That is enough to estimate
what holding each arm would have cost, with an interval. The crosses are the truth, which the log does not contain.
"""

import matplotlib.pyplot as plt
import numpy as np

import holdfast as hf

means = np.array([0.35, 0.4, 0.5])
rng = np.random.default_rng(14)
player = hf.TsallisInf(3).player(seed=14)
arms, losses, probabilities = [], [], []
for _ in range(4_000):
    arms.append(player.ask())
    probabilities.append(player.probability)
    losses.append(float(rng.random() < means[arms[-1]]))
    player.tell(losses[-1])

log = hf.LoggedData(arms, losses, probabilities, blocks="rounds", n_arms=3)
figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
for arm in range(3):
    estimate = log.of_arm(arm).doubly_robust
    axes.errorbar(arm, estimate.losses, [[estimate.losses - estimate.low], [estimate.high - estimate.losses]], fmt="o")
axes.plot(range(3), 4_000 * means, "kx", markersize=10)
axes.set(xticks=range(3), xlabel="arm", ylabel="loss of 4,000 rounds")
