"""A replication of a simulation, played by the online player instead."""

from collections.abc import Callable

from holdfast import Environment, Player, Policy, Stream

Block = tuple[int, int, int, float]
"""The arm of a block, its first round, the round after its last, and its λ."""


def play_online(
    policy: Policy,
    environment: Environment,
    rounds: int,
    costs: Callable[[int], float],
    *,
    seed: int,
    replication: int = 0,
) -> tuple[Player, list[Block]]:
    """The player after the game of `replication`, and the blocks it played; `costs` gives λ_n of block n."""
    player = policy.player(seed=seed, replication=replication)
    stream = Stream(seed, "environment", replication)
    K = environment.n_arms
    shift = int(stream.uniform() * K) if environment.shuffled else 0
    blocks: list[Block] = []
    t = 0
    while t < rounds:
        lam = costs(len(blocks) + 1)
        told = {None: {}, "switching_cost": {"switching_cost": lam}, "loss_bound": {"loss_bound": 1.0}}
        asked = player.ask(**told[policy.announces])
        arm = policy.arms.index(asked) if policy.arms else asked
        end = min(t + player.hold, rounds)
        place = (arm + shift) % K
        blocks.append((place, t, end, lam))
        if end < rounds and policy.full_information:
            player.tell([environment.draw((i + shift) % K, t, end, stream) for i in range(K)])
        elif end < rounds:
            player.tell(environment.draw(place, t, end, stream), rounds=end - t)
        t = end
    return player, blocks
