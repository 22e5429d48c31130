"""
An adversary that turns against the leader
==========================================

For a while one arm is the best; then the order is reversed. A rule that settles early pays for the rest of the game.
"""

import holdfast as hf

T = 30_000
result = hf.simulate(
    {
        "adaptive": hf.AdaptiveTsallisSwitch(8, switching_cost=1.0),
        "tsallis-switch": hf.TsallisSwitch(8, switching_cost=1.0),
        "leader with a cooldown": hf.FollowTheLeader(8, cooldown=10),
    },
    hf.Reversal(8, horizon=T),
    horizon=T,
    switching_cost=1.0,
    replications=16,
    seed=3,
)
figure = result.plot(measures=["regret_with_switching"])
