"""Fleets that have played a little."""

import numpy as np

import holdfast as hf

POLICIES = {
    "tsallis-switch": hf.TsallisSwitch(8, switching_cost=1.0),
    "names": hf.TsallisSwitch(arms=["a", "b", "c"], switching_cost=1.5),
    "reduced variance": hf.TsallisSwitch(4, switching_cost=0.7, estimator="reduced-variance"),
    "tsallis-inf": hf.TsallisInf(3),
    "range": hf.TsallisInf(3, loss_bound=4.0),
    "exp3": hf.Exp3(3),
    "exp3-blocks": hf.BlockExp3(3, switching_cost=0.5, horizon=500),
    "base": hf.BaSE(3, horizon=200, order="random"),
    "own units": hf.TsallisSwitch(3, switching_cost=40.0, units=(-64.0, 64.0)),
    "given schedule": hf.TsallisSwitch(2, block_lengths=lambda n: 1 + n % 3, learning_rates=lambda n: 1.0 / n),
}


def losses_of(policy: hf.Policy, rng: np.random.Generator, count: int) -> np.ndarray:
    low, high = policy.bounds
    return low + (high - low) * rng.random(count)


def played(policy: hf.Policy, rounds: int = 25) -> hf.Fleet:
    fleet = hf.Fleet(policy, 12, seed=4)
    rng = np.random.default_rng(6)
    for _ in range(rounds):
        fleet.ask()
        fleet.tell(losses_of(policy, rng, 12))
    return fleet


def goes_on_alike(one: hf.Fleet, two: hf.Fleet) -> bool:
    rng = np.random.default_rng(8)
    same = True
    for _ in range(60):
        same &= (one.ask().arms == two.ask().arms).all()
        losses = losses_of(one.policy, rng, one.n)
        one.tell(losses)
        two.tell(losses)
    return bool(same and (one.switches == two.switches).all() and (one.rounds == two.rounds).all())
