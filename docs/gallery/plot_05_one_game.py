"""
One game, block by block
========================

What a user sees: which arm is held when, and how sure the policy is. Blocks are short while little is known.
"""

import matplotlib.pyplot as plt
import numpy as np

import holdfast as hf

means = np.array([0.3, 0.45, 0.5])
rng = np.random.default_rng(4)
player = hf.AdaptiveTsallisSwitch(3, switching_cost=0.5).player(seed=4)
arms, sure = [], []
for _ in range(2_000):
    arm = player.ask()
    arms.append(arm)
    sure.append(player.probabilities[0])
    player.tell(float(rng.random() < means[arm]))

figure, (above, below) = plt.subplots(2, sharex=True, figsize=(7, 4), layout="constrained")
above.step(range(2_000), arms, where="post", linewidth=0.8)
above.set(yticks=range(3), ylabel="arm held", title=f"{player.switches} switches in {player.rounds} rounds")
below.plot(sure)
below.set(xlabel="round", ylabel="probability of arm 0", ylim=(0, 1.02))
