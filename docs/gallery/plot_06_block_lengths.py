"""
How long blocks are
===================

Tsallis-Switch holds its arms longer as the game goes on, and longer where a switch costs more. Its lengths are known
beforehand; the adaptive policy's depend on the losses.
"""

import matplotlib.pyplot as plt

import holdfast as hf


def lengths(policy, blocks):
    player, found = policy.player(seed=0), []
    while len(found) < blocks:
        player.ask()
        found.append(player.hold)
        player.tell(0.5 * found[-1], rounds=found[-1])
    return found


figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
for cost, style in ((0.1, ":"), (1.0, "--"), (10.0, "-")):
    axes.step(range(1, 301), lengths(hf.TsallisSwitch(8, switching_cost=cost), 300), style, label=f"λ = {cost:g}")
axes.set(xlabel="block", ylabel="rounds", yscale="log", title="Tsallis-Switch, eight arms")
axes.legend(frameon=False, loc="lower right", bbox_to_anchor=(1, 0.1))
