"""Every policy against its naive counterpart, its estimates against their expectation, its draws against p."""

import math
import sys
from typing import Any

import hypothesis.strategies as st
import naive
import numpy as np
import pytest
from every_policy import CASES, EVERY, HORIZON, loss_of
from hypothesis import given
from kernel_game import KernelGame
from statistics_of_samples import SEED
from twins import coins, play_alike

import holdfast as hf
from holdfast import Exp3, InvalidParameter, TsallisInf, TsallisSwitch
from holdfast.kernels import COMPILED
from holdfast.policies.registry import POLICIES, make_policy

pytestmark = pytest.mark.plain

WITH_ORACLE = [name for name, case in CASES.items() if case.oracle]
ROUNDS = HORIZON if COMPILED else 400


@(pytest.mark.slow if COMPILED else pytest.mark.plain)
@pytest.mark.parametrize("name", WITH_ORACLE)
def test_one_step_from_the_same_state_equals_the_naive_step(name):
    """p to 1e-12 in every block of a game."""
    case = CASES[name]
    table = np.array([[loss_of(t, arm) for arm in range(case.policy.n_arms)] for t in range(ROUNDS)])
    play_alike(case, KernelGame(case.policy), table, ROUNDS, rel=1e-12, from_same_state=True)


@pytest.mark.parametrize("name", WITH_ORACLE)
def test_a_short_game_plays_the_naive_arms(name):
    case = CASES[name]
    play_alike(case, KernelGame(case.policy, name), coins(ROUNDS, case.policy.n_arms), ROUNDS, rel=1e-6)


STEPS = {
    "switch": (TsallisSwitch(6, switching_cost=0.7), lambda n: naive.TsallisSwitch(6, 0.7).schedule(n, None)[1]),
    "inf": (TsallisInf(6), lambda n: 2 / math.sqrt(n)),
    "reduced variance": (TsallisInf(6, estimator="reduced-variance"), lambda n: 4 / math.sqrt(n)),
    "range": (TsallisInf(6, loss_bound=3.0), lambda n: 2 / (3 * math.sqrt(n))),
    "exp3": (Exp3(6), lambda n: math.sqrt(math.log(6) / (n * 6))),
}


@pytest.mark.parametrize("name", STEPS)
@given(C=st.lists(st.floats(0, 1e6, allow_subnormal=False), min_size=6, max_size=6), n=st.integers(1, 10**6))
def test_one_step_from_any_state_equals_the_naive_weights(name, C, n):
    policy, rate = STEPS[name]
    game = KernelGame(policy)
    low = min(C)  # the game keeps C with its minimum at the place it knows: 0 in a fresh state
    game.state.C[:] = [c - low for c in C]
    game.state.n[0] = n - 1
    game.choose()
    weights = naive.exp3_weights if name == "exp3" else naive.tsallis_weights
    assert game.p == pytest.approx(weights([c - low for c in C], rate(n)), rel=1e-12)


NOT_ESTIMATING = ("base", "named arms", "own units")
ESTIMATING = [name for name, case in CASES.items() if case.estimates and not name.startswith(NOT_ESTIMATING)]


@(pytest.mark.slow if COMPILED else pytest.mark.plain)
@pytest.mark.parametrize("name", ESTIMATING)
def test_estimates_are_unbiased(name):
    """Σ_I p_I (estimate if I is drawn) is the loss of every arm, in every block: exactly, not in a sample.

    The state may move all of C by one number, which changes nothing; differences between arms show the rest.
    """
    case = CASES[name]
    K = case.policy.n_arms
    game = KernelGame(case.policy, name)
    rng = np.random.default_rng(SEED)
    for n in range(1, 120 if COMPILED else 40):
        before, expected, ahead = game.state.C.copy(), np.zeros(K), game.copy()
        _, length = ahead.choose(case.told(n))
        losses = rng.random(K) * length * case.highest_loss(n)
        for arm in range(K):
            other = game.if_drawn(arm, ahead.p, case.told(n))
            other.observe(losses[arm], length)
            estimate = other.state.C - before
            expected += ahead.p[arm] * (estimate - estimate[0])
        assert expected == pytest.approx(losses - losses[0], rel=1e-9, abs=1e-9 * length)
        arm, _ = game.choose(case.told(n))
        game.observe(losses[arm], length)


@pytest.mark.parametrize("estimator", ["importance-weighted", "reduced-variance"])
def test_losses_common_to_all_arms_are_moved_out_of_the_estimates(estimator):
    """p depends on differences of C only; kept near zero they stay exact however long the game."""
    policy = TsallisInf(4, estimator=estimator)
    usual, shifted = KernelGame(policy), KernelGame(policy)
    for t in range(200):
        if t == 50:
            shifted.state.C[:] += 2.0**24
            shifted.state.least[0] += 2.0**24
        (arm, _), (other, _) = usual.choose(), shifted.choose()
        assert arm == other
        assert shifted.p == pytest.approx(usual.p, rel=1e-5)
        usual.observe(loss_of(t, arm), 1)
        shifted.observe(loss_of(t, arm), 1)
    assert shifted.state.C.max() < 2.0**20


def test_given_arrays_and_iterators_are_lists_too():
    given_lists = TsallisSwitch(2, block_lengths=[1, 2], learning_rates=[1.0, 0.5])
    assert TsallisSwitch(2, block_lengths=np.array([1, 2]), learning_rates=np.array([1.0, 0.5])) == given_lists
    assert TsallisSwitch(2, block_lengths=(n for n in (1, 2)), learning_rates=(r for r in (1.0, 0.5))) == given_lists


def test_a_function_that_breaks_the_rules_later_is_refused_when_it_does():
    policy = TsallisSwitch(2, block_lengths=lambda n: 1, learning_rates=lambda n: 1.0 if n < 100 else 2.0)
    player = policy.player(seed=1)
    for _ in range(64):
        player.ask()
        player.tell(0.5)
    with pytest.raises(InvalidParameter, match=r"learning_rates at n=100 must not exceed 1\.0 at n=99"):
        player.ask()


def test_parameters_cover_a_horizon_or_say_what_is_missing():
    policy = TsallisSwitch(2, block_lengths=[2, 2, 2], learning_rates=[1.0] * 3)
    assert policy.blocks_covered(policy.parameters_reaching(horizon=6)) == 3
    with pytest.raises(InvalidParameter, match="must cover the horizon of 7 rounds; they end after 6"):
        policy.parameters_reaching(horizon=7)
    endless = TsallisSwitch(2, block_lengths=lambda n: 2, learning_rates=lambda n: 1 / n)
    assert endless.blocks_covered(endless.parameters_reaching(horizon=1000)) >= 500


@pytest.mark.parametrize("name", [name for name in EVERY if name != "tsallis-switch, functions"])
def test_settings_make_the_policy_again(name):
    policy = EVERY[name].policy
    assert make_policy(policy.settings()) == policy
    assert policy.settings()["policy"] == policy.id
    assert policy.id in POLICIES
    assert hash(policy) == hash(make_policy(policy.settings()))


class Mine(hf.Exp3):
    """A policy of one's own, with the id of another."""


def test_settings_name_the_class_of_ones_own_policy(monkeypatch):
    monkeypatch.setitem(sys.modules, Mine.__module__, sys.modules[__name__])
    result = hf.simulate(Mine(2), hf.Bernoulli([0.1, 0.2]), horizon=5, switching_cost=1.0, replications=1)
    assert result.provenance["policies"]["exp3"]["policy"] == f"{Mine.__module__}:Mine"
    assert type(make_policy(Mine(2).settings())) is Mine


STATE: dict[str, Any] = {"n": 5.0, "C": [4.0, 1.0, 3.0, 2.0], "least": 1.0, "beta": 0.25, "moved": 7.0, "fresh": 1.0}
STATE |= {"W": [1.0, 2.0, 3.0, 4.0], "level": [0.1, 0.2, 0.3, 0.4], "root": [0.5] * 4, "total": 1.0, "last_arm": 3.0}


@pytest.mark.parametrize(
    ("kept", "C", "last_arm"),
    [
        ([1, 2, 3], [1.0, 3.0, 2.0], 2),
        ([0, 2, 3], [4.0, 3.0, 2.0], 2),
        ([0, 1, 2], [4.0, 1.0, 3.0], 0),
        ([0, 1, 2, 3, None], [4.0, 1.0, 3.0, 2.0, 1.0], 3),
        ([2, None, 3], [3.0, 1.0, 2.0], 2),
    ],
)
@pytest.mark.parametrize("policy", [Exp3(4), TsallisInf(4), hf.AdaptiveTsallisSwitch(4, switching_cost=1.0)])
def test_estimates_stay_with_their_arms_when_others_come_and_go(policy, kept, C, last_arm):
    """A new arm has the estimate of the best one, also of one that retires."""
    names = policy.state_layout.saved_kinds
    state = {name: [0.5] * 4 if kind.per_arm else 0.5 for name, kind in names.items()}
    state |= {name: value for name, value in STATE.items() if name in names}
    after = policy.carried_over(state, kept)
    assert after["C"] == C
    assert after.get("least", min(C)) == min(C)
    assert after.get("last_arm", last_arm) == last_arm
    assert after.get("moved", 0.0) == after.get("fresh", 0.0) == 0.0
    assert after.get("s", 0.5 + min(C) - 1.0) == 0.5 + min(C) - 1.0
    if "w" in after:  # a new arm was not in the last draw
        assert after["w"] == [pytest.approx(0.0) if arm is None else 0.5 for arm in kept]
    if "root" in after:
        assert sum(root**2 for root in after["root"]) == pytest.approx(1.0)
        assert after["level"] == [0.25 if arm is None else STATE["level"][arm] for arm in kept]
        assert after["W"] == [0.0 if arm is None else STATE["W"][arm] for arm in kept]
