"""Online play: one contract for every policy, and units, rewards and numbers."""

import json
import math
import random

import hypothesis.strategies as st
import naive
import numpy as np
import pytest
from every_policy import EVERY, RANDOMISED, Game, loss_of
from hypothesis import example, given, settings
from kernel_game import KernelGame
from strategies import pieces, seeds, unit_losses

from holdfast import (
    AdaptiveTsallisSwitch,
    BaSE,
    BlockExp3,
    Exp3,
    Player,
    TsallisInf,
    TsallisSwitch,
    VaryingTsallisSwitch,
)
from holdfast.kernels import COMPILED
from holdfast.players.player import KEPT_PIECES
from holdfast.policies.policy import packed_parameters

every_policy = pytest.mark.parametrize("name", EVERY)
FEW = settings(max_examples=12 if COMPILED else 3)

pytestmark = pytest.mark.plain


@every_policy
@FEW
@given(steps=pieces(40), saved_after=st.sets(st.integers(0, 39)), seed=seeds)
@example(steps=[3] * 40, saved_after=set(range(40)), seed=0)
def test_a_player_saved_and_loaded_at_any_point_continues_with_the_same_arms(name, steps, saved_after, seed):
    straight, interrupted = Game(EVERY[name], seed), Game(EVERY[name], seed)
    for i, rounds in enumerate(steps):
        straight.step(rounds)
        if i in saved_after:
            interrupted.save_and_load()
            interrupted.ask()
            interrupted.save_and_load()
        interrupted.step(rounds)
    assert interrupted.arms == straight.arms
    assert interrupted.player.save() == straight.player.save()
    assert interrupted.player.rounds == straight.player.rounds == straight.t
    assert interrupted.player.switches == straight.player.switches
    assert interrupted.player.hold == straight.player.hold


@every_policy
@FEW
@given(steps=pieces(40), seed=seeds)
def test_losses_may_come_in_any_pieces(name, steps, seed):
    whole, cut = Game(EVERY[name], seed).play(sum(steps)), Game(EVERY[name], seed)
    for rounds in steps:
        left = rounds
        while left:
            cut.ask()
            now = min(left, cut.player.hold)
            cut.step(now)
            left -= now
    assert cut.arms == whole.arms
    assert cut.player.save() == whole.player.save()


@every_policy
@given(shuffle=st.randoms(use_true_random=False))
@FEW
def test_losses_of_a_block_may_come_in_any_order(name, shuffle):
    in_order, shuffled = Game(EVERY[name]), Game(EVERY[name])
    for _ in range(12):
        for game in (in_order, shuffled):
            game.ask()
            held = game.player.hold
            losses = game.losses(held)
            if game is shuffled:
                shuffle.shuffle(losses)
            for loss in losses:
                game.player.tell(loss)
            game.t += held
    assert shuffled.player.save() == in_order.player.save()


@pytest.mark.parametrize("name", RANDOMISED)
def test_different_seeds_and_replications_play_different_games(name):
    games = [tuple(Game(EVERY[name], seed).play(400).arms) for seed in range(8)]
    assert len(set(games)) > 4
    case = EVERY[name]
    players = [case.policy.player(seed=1, replication=r) for r in range(30)]
    assert len({player.ask(**case.announced(1)) for player in players}) > 1


@every_policy
def test_two_players_of_one_policy_share_nothing(name):
    case = EVERY[name]
    alone = Game(case, 3).play(60).arms
    one, other = Game(case, 3), Game(case, 4)
    for rounds in range(1, 61):
        one.play(rounds)
        other.play(rounds)
    assert one.arms == alone


@every_policy
def test_an_arm_is_held_until_its_block_ends(name):
    game = Game(EVERY[name])
    for _ in range(30):
        arm, hold = game.ask(), game.player.hold
        assert hold >= 1
        for left in range(hold, 0, -1):
            assert game.player.hold == left
            assert game.player.ask() == arm
            game.step(1)
        assert game.player.hold == 0


@every_policy
def test_switches_count_changes_of_arm_and_the_first_play(name):
    game = Game(EVERY[name])
    assert (game.player.rounds, game.player.switches) == (0, 0)
    game.play(200)
    changes = 1 + sum(a != b for a, b in zip(game.arms, game.arms[1:], strict=False))
    assert (game.player.rounds, game.player.switches) == (200, changes)


@pytest.mark.parametrize("name", [name for name in EVERY if EVERY[name].policy.knows_probabilities])
def test_probabilities_are_those_the_arm_was_drawn_from(name):
    game, case = Game(EVERY[name]), EVERY[name]
    for _ in range(25):
        before = None if case.announce else game.player.probabilities
        asked = game.ask()
        p = game.player.probabilities
        assert p.shape == (case.policy.n_arms,)
        assert math.isclose(p.sum(), 1.0, rel_tol=1e-12)
        assert (p >= 0).all()
        if before is not None:
            assert p.tolist() == before.tolist()
        arm = case.policy.arms.index(asked) if case.policy.arms else asked
        assert p[arm] > 0
        assert math.isclose(game.player.probability, p[arm], rel_tol=1e-12)
        game.step(10**6)


@every_policy
def test_a_game_leaves_its_policy_alone_and_looking_leaves_the_game_alone(name):
    case, policy = EVERY[name], EVERY[name].policy
    described = repr(policy), packed_parameters(policy, policy.parameters()).tolist()
    game = Game(case).play(37)
    saved = game.player.save()
    for _ in range(3):
        assert repr(game.player).startswith("<Player of ")
        assert game.player.rounds == 37
        assert game.player.save() == saved
        if policy.knows_probabilities and (game.player.hold or case.announce is None):
            game.player.probabilities[:] = 7.0  # a copy: nobody's state
        assert game.player.save() == saved
    document = json.loads(saved)
    assert (document["format"], document["version"]) == ("holdfast.player", 1)
    assert document["player"]["policy"]["policy"] == policy.id
    assert (repr(policy), packed_parameters(policy, policy.parameters()).tolist()) == described


@pytest.mark.parametrize(("low", "unit"), [(0.0, 4.0), (-64.0, 128.0), (1024.0, 0.5), (-3.0, 2.0)])
@pytest.mark.parametrize(
    "policy",
    [
        TsallisSwitch(3, switching_cost=1.5),
        AdaptiveTsallisSwitch(3, switching_cost=1.5),
        BlockExp3(3, switching_cost=1.5, horizon=500),
        Exp3(3),
        TsallisInf(3),
        BaSE(3, horizon=200),
    ],
)
def test_own_units_play_as_normalised_losses(policy, low, unit):
    """Losses and switching cost in `units`: the game is that of losses in [0, 1]."""
    own = {"switching_cost": 1.5 * unit} if hasattr(policy, "switching_cost") else {}
    settings = {name: value for name, value in policy.settings().items() if name != "policy"}
    scaled = type(policy)(**(settings | own | {"units": (low, low + unit)}))
    plain_player, own_player = policy.player(seed=6), scaled.player(seed=6)
    for t in range(150):
        arm = plain_player.ask()
        assert own_player.ask() == arm
        assert own_player.hold == plain_player.hold
        plain_player.tell(loss_of(t, arm))
        own_player.tell(low + unit * loss_of(t, arm))


def test_an_announced_cost_is_in_the_units_of_the_losses():
    plain, own = VaryingTsallisSwitch(3).player(seed=6), VaryingTsallisSwitch(3).player(seed=6, units=(-8.0, 8.0))
    for t in range(60):
        cost = float(t % 5)
        assert plain.ask(switching_cost=cost) == own.ask(switching_cost=16 * cost)
        hold = plain.hold
        assert own.hold == hold
        loss = hold * loss_of(t, plain.ask())
        plain.tell(loss, rounds=hold)
        own.tell(-8.0 * hold + 16 * loss, rounds=hold)


def test_units_of_a_player_is_that_of_its_policy():
    one = TsallisSwitch(3, switching_cost=6.0, units=(0, 4)).player(seed=2)
    other = TsallisSwitch(3, switching_cost=6.0).player(seed=2, units=(0, 4))
    assert one.policy == other.policy
    assert one.save() == other.save()


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-2.0, 6.0)])
def test_a_reward_is_a_loss_turned_over(low, high):
    losses, rewards = (TsallisSwitch(3, switching_cost=2.0).player(seed=8, units=(low, high)) for _ in range(2))
    for t in range(200):
        arm = losses.ask()
        assert rewards.ask() == arm
        loss = low + (high - low) * loss_of(t, arm)
        losses.tell(loss)
        rewards.tell(reward=low + high - loss)
    assert losses.save() == rewards.save()
    assert losses.ask() == rewards.ask()
    rounds = losses.hold
    losses.tell(rounds * low, rounds=rounds)
    rewards.tell(reward=rounds * high, rounds=rounds)
    assert losses.save() == rewards.save()


@pytest.mark.parametrize("number", [np.float64, np.float32, np.float16])
def test_numpy_numbers_are_numbers(number):
    plain = TsallisSwitch(3, switching_cost=2.5).player(seed=4)
    numpy_numbers = TsallisSwitch(np.int64(3), switching_cost=number(2.5)).player(seed=np.int64(4))
    for t in range(60):
        arm = plain.ask()
        assert numpy_numbers.ask() == arm
        plain.tell(loss_of(t, arm))
        numpy_numbers.tell(number(loss_of(t, arm)), rounds=np.int32(1))
    for player, losses in ((plain, (0.0, 1.0)), (numpy_numbers, (np.uint64(0), 1))):
        for loss in losses:
            player.ask()
            player.tell(loss)
    assert numpy_numbers.save() == plain.save()


def test_names_change_nothing_but_the_names():
    names = ["a", "b", "c"]
    policies = TsallisSwitch(3, switching_cost=1.0), TsallisSwitch(arms=names, switching_cost=1.0)
    numbered, named = (policy.player(seed=3) for policy in policies)
    names[0] = "changed"
    assert policies[1].arms == ("a", "b", "c")
    assert TsallisSwitch(3, switching_cost=1.0, arms=("a", "b", "c")) == policies[1]
    for t in range(100):
        arm = numbered.ask()
        assert type(arm) is int
        assert named.ask() == "abc"[arm]
        for player in (numbered, named):
            player.tell(loss_of(t, arm))


@given(st.lists(unit_losses, min_size=30, max_size=30), st.randoms(use_true_random=False))
def test_any_losses_of_a_block_count_by_their_exact_sum(losses, shuffle):
    """Floating-point sums hang on their order; the player's do not, also when they pass through a save."""
    one, other = (TsallisSwitch(2, switching_cost=29.0).player(seed=1) for _ in range(2))
    assert one.ask() == other.ask()
    assert one.hold == 31
    shuffled = losses.copy()
    shuffle.shuffle(shuffled)
    for i, (a, b) in enumerate(zip(losses, shuffled, strict=True)):
        one.tell(a)
        other.tell(b)
        if i % 7 == 3:
            other = Player.load(other.save())
    for player in (one, other):
        player.tell(0.25)
    assert one.save() == other.save()


def test_a_very_long_block_keeps_few_numbers_and_its_exact_sum():
    one, other = (TsallisSwitch(1, switching_cost=1000.0).player(seed=1) for _ in range(2))
    one.ask(), other.ask()
    losses = [random.Random(3).random() for _ in range(one.hold)]
    assert len(losses) > 4 * KEPT_PIECES
    for loss in losses[:-1]:
        one.tell(loss)
    assert len(json.loads(one.save())["player"]["pieces"]) < 10
    one.tell(losses[-1])
    for loss in sorted(losses):
        other.tell(loss)
    assert one.save() == other.save()


def test_last_block_is_not_truncated_in_schedule():
    """Block N is announced and its rate tuned at full length, however few rounds are left (errata, point 30)."""
    game, t, n, horizon = KernelGame(TsallisSwitch(8, switching_cost=1.0)), 0, 0, 3000
    while t < horizon:
        n += 1
        C = game.state.C.copy()
        arm, length = game.choose()
        rate = naive.TsallisSwitch(8, 1.0).schedule(n, None)[1]
        assert length == naive.theorem_1_length(n, 8, 1)
        assert game.p == pytest.approx(naive.tsallis_weights(C.tolist(), rate), rel=1e-12)
        rounds = min(length, horizon - t)
        game.observe(rounds * loss_of(n, arm), rounds)
        t += rounds
    assert rounds < length  # the horizon cut this game's last block
    player = TsallisSwitch(8, switching_cost=1.0).player(seed=1)
    for m in range(1, n + 1):
        player.ask()
        assert player.hold == naive.theorem_1_length(m, 8, 1)
        player.tell(0.0, rounds=player.hold)
