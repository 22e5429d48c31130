"""Every policy against its naive counterpart, its estimates against their expectation, its draws against p."""

import math
import sys

import hypothesis.strategies as st
import naive
import numpy as np
import pytest
from every_policy import CASES, EVERY, HORIZON, loss_of
from hypothesis import given
from kernel_game import KernelGame
from statistics_of_samples import SEED

import holdfast as hf
from holdfast import BaSE, Exp3, InvalidParameter, TsallisInf, TsallisSwitch, VaryingTsallisSwitch
from holdfast.kernels import COMPILED
from holdfast.policies.registry import POLICIES, make_policy

WITH_ORACLE = [name for name, case in CASES.items() if case.oracle]
ROUNDS_TO_PLAY = HORIZON if COMPILED else 400


def block_loss(t: int, rounds: int, arm: int, highest: float) -> float:
    return highest * sum(loss_of(s, arm) for s in range(t, t + rounds))


def choose_alike(case, game, oracle, n, t, *, rel):
    """Block n of both games, from the same uniform: the same arm for the same rounds, p to `rel`."""
    announced = case.announce(n) if case.announce else None
    u = game.next_uniform()
    arm, length = game.choose(announced)
    other_arm, other_length = oracle.choose(u, announced)
    rounds = min(length, HORIZON - t)
    assert (arm, rounds) == (other_arm, min(other_length, HORIZON - t))
    assert game.p == pytest.approx(oracle.p, rel=rel, abs=0)
    return arm, rounds


@(pytest.mark.slow if COMPILED else pytest.mark.plain)
@pytest.mark.plain
@pytest.mark.parametrize("name", WITH_ORACLE)
def test_one_step_from_the_same_state_equals_the_naive_step(name):
    """p to 1e-12 in every block of a game, the oracle put back into the game's own state before each."""
    case = CASES[name]
    game, oracle = KernelGame(case.policy), case.oracle()
    t = n = 0
    while t < ROUNDS_TO_PLAY:
        n += 1
        arm, rounds = choose_alike(case, game, oracle, n, t, rel=1e-12)
        loss = block_loss(t, rounds, arm, case.highest_loss(n))
        game.observe(loss, rounds)
        oracle.observe(loss, rounds)
        if hasattr(oracle, "C"):
            oracle.C = game.state.C.tolist()
        t += rounds


@pytest.mark.plain
@pytest.mark.parametrize("name", WITH_ORACLE)
def test_a_short_game_plays_the_naive_arms(name):
    """The two games side by side, each with its own estimates: the same arms for the same time.

    An error in p goes into the next estimates and grows; where one arm is better it does so slowly.
    """
    case = CASES[name]
    table = np.random.default_rng(SEED).random((HORIZON, case.policy.n_arms)) < 0.5
    table[:, -1] &= np.arange(HORIZON) % 5 < 3
    game, oracle = KernelGame(case.policy, name), case.oracle()
    t = n = 0
    while t < ROUNDS_TO_PLAY:
        n += 1
        arm, rounds = choose_alike(case, game, oracle, n, t, rel=1e-6)
        loss = float(table[t : t + rounds, arm].sum()) * case.highest_loss(n)
        game.observe(loss, rounds)
        oracle.observe(loss, rounds)
        t += rounds


STEPS = {
    "switch": (TsallisSwitch(6, switching_cost=0.7), lambda n: naive.TsallisSwitch(6, 0.7).schedule(n, None)[1]),
    "inf": (TsallisInf(6), lambda n: 2 / math.sqrt(n)),
    "reduced variance": (TsallisInf(6, estimator="reduced-variance"), lambda n: 4 / math.sqrt(n)),
    "range": (TsallisInf(6, loss_bound=3.0), lambda n: 2 / (3 * math.sqrt(n))),
    "exp3": (Exp3(6), lambda n: math.sqrt(math.log(6) / (n * 6))),
}


@pytest.mark.plain
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
@pytest.mark.plain
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
        announced = case.announce(n) if case.announce else None
        before, expected, ahead = game.state.C.copy(), np.zeros(K), game.copy()
        _, length = ahead.choose(announced)
        losses = rng.random(K) * length * case.highest_loss(n)
        for arm in range(K):
            other = game.if_drawn(arm, ahead.p, announced)
            other.observe(losses[arm], length)
            estimate = other.state.C - before
            expected += ahead.p[arm] * (estimate - estimate[0])
        assert expected == pytest.approx(losses - losses[0], rel=1e-9, abs=1e-9 * length)
        arm, _ = game.choose(announced)
        game.observe(losses[arm], length)


@pytest.mark.plain
def test_reduced_variance_subtracts_half_from_likely_arms_only():
    """b_i = ½ where p_i ≥ η² = 16/t: no arm before t = 16, the likely ones after (Zimmert and Seldin 2021)."""
    game, seen = KernelGame(TsallisInf(3, estimator="reduced-variance")), set()
    for t in range(1, 400):
        before = game.state.C.copy()
        arm, _ = game.choose()
        p = game.p
        baseline = np.where(p >= 16 / t * (1 + 1e-9), 0.5, 0.0)
        unsure = np.abs(p * t / 16 - 1) < 1e-8
        loss = loss_of(t, arm)
        game.observe(loss, 1)
        change = game.state.C - before
        expected = baseline.copy()
        expected[arm] += (loss - baseline[arm]) / p[arm]
        if not unsure.any():
            assert change - change[0] == pytest.approx(expected - expected[0], rel=1e-9, abs=1e-9)
        assert t >= 16 or not baseline.any()
        seen.add(tuple(baseline))
    assert len(seen) > 2


@pytest.mark.plain
@pytest.mark.parametrize(
    "policy",
    [TsallisSwitch(1, switching_cost=2.0), TsallisInf(1), Exp3(1), BaSE(1, horizon=50), VaryingTsallisSwitch(1)],
)
def test_one_arm_is_played(policy):
    game = KernelGame(policy)
    for n in range(60):
        arm, length = game.choose(announced=1.5)
        assert arm == 0
        assert game.p.tolist() == [1.0]
        game.observe(length * (n % 2), length)
    for numbers in game.state:
        assert np.isfinite(numbers).all()


@pytest.mark.plain
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


# ------------------------------------------------------------------------------------------ given schedules


@pytest.mark.plain
def test_given_arrays_and_iterators_are_lists_too():
    given_lists = TsallisSwitch(2, block_lengths=[1, 2], learning_rates=[1.0, 0.5])
    assert TsallisSwitch(2, block_lengths=np.array([1, 2]), learning_rates=np.array([1.0, 0.5])) == given_lists
    assert TsallisSwitch(2, block_lengths=(n for n in (1, 2)), learning_rates=(r for r in (1.0, 0.5))) == given_lists


@pytest.mark.plain
def test_a_function_that_breaks_the_rules_later_is_refused_when_it_does():
    policy = TsallisSwitch(2, block_lengths=lambda n: 1, learning_rates=lambda n: 1.0 if n < 100 else 2.0)
    player = policy.player(seed=1)
    for _ in range(64):
        player.ask()
        player.tell(0.5)
    with pytest.raises(InvalidParameter, match=r"learning_rates at n=100 must not exceed 1\.0 at n=99"):
        player.ask()


@pytest.mark.plain
def test_parameters_cover_a_horizon_or_say_what_is_missing():
    policy = TsallisSwitch(2, block_lengths=[2, 2, 2], learning_rates=[1.0] * 3)
    assert policy.blocks_covered(policy.parameters_reaching(horizon=6)) == 3
    with pytest.raises(InvalidParameter, match="must cover the horizon of 7 rounds; they end after 6"):
        policy.parameters_reaching(horizon=7)
    endless = TsallisSwitch(2, block_lengths=lambda n: 2, learning_rates=lambda n: 1 / n)
    assert endless.blocks_covered(endless.parameters_reaching(horizon=1000)) >= 500


# ------------------------------------------------------------------------------------- policies as values


@pytest.mark.plain
@pytest.mark.parametrize("name", [name for name in EVERY if name != "tsallis-switch, functions"])
def test_settings_make_the_policy_again(name):
    policy = EVERY[name].policy
    assert make_policy(policy.settings()) == policy
    assert policy.settings()["policy"] == policy.id
    assert policy.id in POLICIES
    assert hash(policy) == hash(make_policy(policy.settings()))


class Mine(hf.Exp3):
    """A policy of one's own, with the id of another."""


@pytest.mark.plain
def test_settings_name_the_class_of_ones_own_policy(monkeypatch):
    monkeypatch.setitem(sys.modules, Mine.__module__, sys.modules[__name__])
    result = hf.simulate(Mine(2), hf.Bernoulli([0.1, 0.2]), horizon=5, switching_cost=1.0, replications=1)
    assert result.provenance["policies"]["exp3"]["policy"] == f"{Mine.__module__}:Mine"
    assert type(make_policy(Mine(2).settings())) is Mine
