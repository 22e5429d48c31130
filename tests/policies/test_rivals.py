"""The rivals: against their naive twins arm for arm, with late losses, and what their sources say of their regret."""

import math
from dataclasses import replace
from typing import Any

import naive
import naive_adaptive
import naive_rivals
import numpy as np
import pytest
from every_policy import CASES, EVERY, Case
from kernel_game import KernelGame
from statistics_of_samples import SEED, assert_mean_at_most
from twins import coins, play_alike

import holdfast as hf
from holdfast.kernels import COMPILED
from holdfast.players.game import Game
from holdfast.policies.policy import packed_parameters

pytestmark = pytest.mark.plain

HORIZON = 3000 if COMPILED else 200
K = 5

TWINS = {
    "ucb1, cooldown": Case(hf.Ucb1(K, cooldown=9), lambda: naive_rivals.Ucb1(K, 9)),
    "ucb1, threshold": Case(hf.Ucb1(K, threshold=0.2), lambda: naive_rivals.Ucb1(K, 1, 0.2)),
    "ucb1, bold": Case(hf.Ucb1(K, exploration=0.3), lambda: naive_rivals.Ucb1(K, c=0.3)),
    "thompson": Case(hf.ThompsonSampling(K), lambda: naive_rivals.Thompson(K)),
    "thompson, hesitant": Case(
        hf.ThompsonSampling(K, cooldown=6, threshold=0.1), lambda: naive_rivals.Thompson(K, 6, 0.1)
    ),
    "ucb2, slow": Case(hf.Ucb2(K, alpha=0.01), lambda: naive_rivals.Ucb2(K, 0.01)),
    "ucb2, doubling": Case(hf.Ucb2(K, alpha=1.0), lambda: naive_rivals.Ucb2(K, 1.0)),
    "ts2": Case(hf.BatchedThompson(K), lambda: naive_rivals.Ts2(K, 0.1)),
    "batched-elimination": Case(
        hf.BatchedElimination(K, horizon=HORIZON, batches=6), lambda: naive_rivals.BatchedElimination(K, HORIZON, 6)
    ),
    "base, random order": Case(
        hf.BaSE(K, horizon=HORIZON, order="random", gamma=0.1),
        lambda: naive.BaSE(K, HORIZON, "geometric", 0.1, order="random"),
    ),
    "lazy-exp3": Case(hf.LazyExp3(K, switching_cost=2.0), lambda: naive_rivals.LazyExp3(K, 2.0)),
    "lazy-exp3, no cost": Case(hf.LazyExp3(K, switching_cost=0.0), lambda: naive_rivals.LazyExp3(K, 0.0)),
    "amir, no cost": Case(hf.AmirTsallis(K, switching_cost=0.0, horizon=HORIZON), lambda: naive.TsallisInf(K)),
    "amir-anytime": Case(hf.AnytimeAmirTsallis(K, switching_cost=5.0), lambda: naive_rivals.Amir(K, 5.0)),
    "paused-tsallis, adaptive": Case(
        hf.PausedTsallis(K, switching_cost=2.0, budget=0.1, fallback="adaptive"),
        lambda: naive_rivals.Paused(K, 2.0, 0.1, naive_adaptive.Adaptive),
    ),
    "paused-tsallis, no cost": Case(hf.PausedTsallis(K, switching_cost=0.0), lambda: naive.TsallisInf(K)),
    "tsallis-inf, one arm": Case(hf.TsallisInf(1), lambda: naive.TsallisInf(1)),
    "varying, one arm": Case(hf.VaryingTsallisSwitch(1), lambda: naive.VaryingTsallisSwitch(1), lambda n: n % 4),
    "exp3, one arm": Case(hf.Exp3(1), lambda: naive.Exp3(1)),
    "base, one arm": Case(hf.BaSE(1, horizon=HORIZON), lambda: naive.BaSE(1, HORIZON, "geometric")),
    "spb-blocks, no cost": Case(
        hf.StabilityPenaltyBiasMatching(K, switching_cost=0.0, horizon=HORIZON),
        lambda: naive_rivals.Spb(K, 0.0, HORIZON),
    ),
    "spb-blocks, one arm": Case(
        hf.StabilityPenaltyBiasMatching(1, switching_cost=0.4, horizon=HORIZON),
        lambda: naive_rivals.Spb(1, 0.4, HORIZON),
    ),
    "spm, one arm": Case(hf.StabilityPenaltyMatching(1, switching_cost=0.4), lambda: naive_rivals.Spm(1, 0.4)),
    "ewma": Case(hf.Ewma(K, switching_cost=1.0), lambda: naive_rivals.Ewma(K, 1.0, 30, 100, 3000, 0.002)),
    "ewma, no looks": Case(
        hf.Ewma(K, switching_cost=0.3, memory=2, fading=50, looks=0.0),
        lambda: naive_rivals.Ewma(K, 0.3, 2, 100, 50, 0.0),
    ),
    "fail-over, all fail": Case(hf.FailOver(K, fast=3, retry=400), lambda: naive_rivals.FailOver(K, 3, 1000, 0.3, 400)),
}
"""Beside the variants of `every_policy`."""


@(pytest.mark.slow if COMPILED else pytest.mark.plain)  # it is the compiler that takes long
@pytest.mark.parametrize("name", TWINS)
def test_a_game_plays_the_naive_arms(name):
    case = TWINS[name]
    play_alike(case, KernelGame(case.policy, name), coins(HORIZON, case.policy.n_arms), HORIZON, rel=1e-6)


LATE = TWINS | {name: case for name, case in CASES.items() if not case.estimates}


@pytest.mark.parametrize("name", [name for name, case in LATE.items() if not case.policy.waits_for_losses])
def test_losses_may_come_late_and_in_any_order(name):
    """Twenty blocks are always out; the sums are those of the blocks that were told, and the game goes on."""
    game, out, rng, told = Game(LATE[name].policy, seed=4), [], np.random.default_rng(SEED), 0.0
    for n in range(400 if COMPILED else 60):
        game.begin(0.0)
        out.append(game.block.copy())
        if len(out) > 20:
            block = out.pop(int(rng.integers(len(out))))
            loss = (0.25 + 0.5 * (n % 2)) * block[1]
            told += loss
            game.observe(block, loss, block[1])
    state = game.saved_state()
    for values in state.values():
        assert np.isfinite(values).all()
    if "N" in state:
        assert math.isclose(sum(state["C"]), told, rel_tol=1e-12)


def test_a_loss_of_an_earlier_phase_is_of_no_use_to_amir():
    policy = hf.AnytimeAmirTsallis(3, switching_cost=0.0)
    game = Game(policy, seed=1)
    game.begin()
    early = game.block.copy()
    while game.saved_state()["phase"] == 1.0:
        game.begin()
    before = game.saved_state()
    game.observe(early, 1.0, 1.0)
    assert game.saved_state() == before


@pytest.mark.parametrize("policy", [hf.ThompsonSampling(3), hf.BatchedThompson(3)])
def test_who_does_not_know_its_probabilities_says_so(policy):
    player = policy.player(seed=1)
    player.ask()
    for look in (lambda: player.probability, lambda: player.probabilities):
        with pytest.raises(hf.HoldfastError, match=f"{policy.label} does not know"):
            look()
    player.tell(1.0)
    assert hf.Player.load(player.save()).save() == player.save()


@pytest.mark.parametrize(
    ("kind", "setting", "scaled"),
    [
        (hf.Ucb1, {"threshold": 0.25}, {"threshold": 4.0}),
        (hf.ThompsonSampling, {"threshold": 0.25}, {"threshold": 4.0}),
        (hf.FailOver, {"margin": 0.25}, {"margin": 4.0}),
        (hf.FailOver, {"margin": 0.3}, {}),
        (hf.ThresholdCooldown, {"threshold": 0.25}, {"threshold": -4.0}),  # a level, not a difference
        (hf.ThresholdCooldown, {"threshold": 0.5}, {}),
    ],
)
def test_thresholds_are_in_the_units_of_the_losses(kind, setting, scaled):
    assert kind(3, **setting).parameters() == kind(3, **scaled, units=(-8.0, 8.0)).parameters()


@pytest.mark.parametrize("name", [name for name in EVERY if hasattr(EVERY[name].policy, "switching_cost")])
def test_switching_costs_are_in_the_units_of_the_losses(name):
    policy: Any = EVERY[name].policy
    cost = policy.switching_cost
    if cost != "announced":
        cost = (np.array(cost) * 16 / policy.unit).tolist()
    scaled = replace(policy, switching_cost=cost, units=(-8.0, 8.0))
    found, expected = (packed_parameters(one, one.parameters()).tolist() for one in (scaled, policy))
    assert found == expected


def test_a_table_of_costs_is_reduced_to_its_largest_entry():
    with pytest.warns(UserWarning, match="the largest of the table, 3"):
        policy = hf.TsallisSwitch(3, switching_cost=[[0, 1, 2], [1, 0, 2], [3, 2, 0]])
    assert policy.switching_cost == 3


def costs_of(policy: hf.Policy, world: hf.Environment, T: int, lam: float, replications: int) -> np.ndarray:
    """Pseudo-regret and switches at the horizon, one row per replication."""
    result = hf.simulate(policy, world, horizon=T, switching_cost=lam, replications=replications, seed=SEED)
    last = result.frame.filter(round=T)
    return np.column_stack([last["pseudo_regret"], last["switches"]])


T = 50_000
WORLD = hf.Bernoulli.with_gap(4, 0.3)


@pytest.mark.slow
@pytest.mark.skipif(not COMPILED, reason="long games")
def test_auers_bounds():
    """Theorems 1 and 2 of Auer et al. 2002 for the regret, and few switches for UCB2."""
    gap, others = 0.3, 3
    ucb1 = others * (8 * math.log(T) / gap + (1 + math.pi**2 / 3) * gap)
    assert_mean_at_most(costs_of(hf.Ucb1(4), WORLD, T, 1.0, 200)[:, 0], ucb1, sees=100.0)
    alpha, found = 0.1, costs_of(hf.Ucb2(4), WORLD, T, 1.0, 200)
    leading = others * (1 + alpha) * (1 + 4 * alpha) * math.log(2 * math.e * gap**2 * T) / (2 * gap)
    c = (
        1
        + (1 + alpha) * math.e / alpha**2
        + ((1 + alpha) / alpha) ** (1 + alpha) * (1 + 11 * (1 + alpha) / (5 * alpha**2 * math.log(1 + alpha)))
    )
    assert_mean_at_most(found[:, 0], leading + others * c / gap, sees=100.0)
    assert_mean_at_most(found[:, 1], 250.0, sees=60.0)


@pytest.mark.skipif(not COMPILED, reason="long games")
def test_elimination_keeps_the_best_arm_and_switches_rarely():
    """At most KB switches; with probability 1 − 1/T or so the best arm is never dropped, so the last half is free."""
    policy = hf.BatchedElimination(4, horizon=T)
    result = hf.simulate(
        policy, WORLD, horizon=T, switching_cost=1.0, replications=200, seed=SEED, checkpoints=[T // 2, T]
    )
    half, last = (result.frame.filter(round=mark) for mark in (T // 2, T))
    assert (last["switches"] <= 4 * policy.batches).all()
    assert (last["pseudo_regret"] == half["pseudo_regret"]).all()


@pytest.mark.parametrize(
    "policy", [hf.AmirTsallis(2, switching_cost=1.0, horizon=300), hf.AnytimeAmirTsallis(2, switching_cost=1.0)]
)
def test_every_table_and_legend_says_what_is_our_reconstruction(policy):
    world = {"environment": hf.Bernoulli([0.3, 0.5]), "horizon": 300, "switching_cost": 1.0, "replications": 2}
    found = hf.simulate([policy, hf.TsallisInf(2)], **world)
    named = f"{policy.id} (our reconstruction)"
    assert found.policies == [named, "tsallis-inf"]
    legend = [text.get_text() for text in found.plot(measures="switches").legends[0].get_texts()]
    for shown in (repr(found), found._repr_html_(), found.table(), found.table("latex"), "".join(legend)):
        assert named in shown
    alone = hf.simulate({policy.id: policy}, **world)  # the same games under a name of one's own
    assert alone.frame["total_cost"].equals(found.frame.filter(found.frame["policy"] == named)["total_cost"])
    losses = np.random.default_rng(1).random((300, 2))
    played = hf.replay(losses, [policy.id, "tsallis-inf"], switching_cost=1.0, replications=2, progress=False)
    assert named in played.frame["policy"].to_list()
