"""Refusals of a player and a policy: calls out of turn, losses that are none, bad parameters."""

import math
import time
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from every_policy import CASES, Game

from holdfast import (
    BaSE,
    BlockExp3,
    Exp3,
    HoldfastError,
    InvalidParameter,
    OutOfTurn,
    Player,
    TsallisInf,
    TsallisSwitch,
    VaryingTsallisSwitch,
)
from holdfast.policies.registry import make_policy

every_policy = pytest.mark.parametrize("name", CASES)

pytestmark = pytest.mark.plain


def refused(player: Player, error: type[Exception], call, *parts: str) -> Any:
    """`call` raises `error` with every part in its message, and leaves the player as it was."""
    before = player.save()
    with pytest.raises(error) as caught:
        call(player)
    assert isinstance(caught.value, HoldfastError)
    for part in parts:
        assert part in str(caught.value)
    assert player.save() == before
    return caught.value


@every_policy
def test_telling_before_asking_is_refused(name):
    game = Game(CASES[name])
    refused(game.player, OutOfTurn, lambda p: p.tell(0.5), "call ask() first")
    refused(game.player, OutOfTurn, lambda p: p.probability, "call ask() first")
    game.play(30)
    while game.player.hold:
        game.step()
    refused(game.player, OutOfTurn, lambda p: p.tell(0.5), "call ask() first")


@every_policy
def test_more_rounds_than_held_are_refused(name):
    game = Game(CASES[name])
    for _ in range(5):
        game.ask()
        hold = game.player.hold
        loss = sum(game.losses(hold + 1))
        error = refused(
            game.player, InvalidParameter, lambda p, sum_=loss, h=hold: p.tell(sum_, rounds=h + 1), str(hold)
        )
        assert (error.parameter, error.value) == ("rounds", hold + 1)
        game.step(hold)


BAD_LOSSES = [math.nan, math.inf, -math.inf, -1e9, 1e9, "0.5", None, True, np.True_, [0.5], np.array([0.5]), 0.5j]


@every_policy
@pytest.mark.parametrize("loss", BAD_LOSSES, ids=lambda loss: repr(loss)[:12])
def test_losses_that_are_no_losses_are_refused(name, loss):
    game = Game(CASES[name])
    game.ask()
    error = refused(game.player, InvalidParameter, lambda p: p.tell(loss), "loss", repr(loss)[:10])
    assert "loss" in error.parameter
    if loss is not None:
        refused(game.player, InvalidParameter, lambda p: p.tell(reward=loss), "reward", repr(loss)[:10])


@pytest.mark.parametrize("digits", [400, 5000])
def test_whole_numbers_beyond_every_float_are_refused(digits):
    """Also those of more digits than Python writes."""
    player = TsallisSwitch(3, switching_cost=0.0).player(seed=1)
    player.ask()
    error = refused(player, InvalidParameter, lambda p: p.tell(10**digits), "loss must be a finite number")
    assert error.parameter == "loss"
    with pytest.raises(InvalidParameter, match="switching_cost must be"):
        TsallisSwitch(3, switching_cost=10**digits)


@pytest.mark.parametrize("loss", [-1e-12, 1.0 + 1e-12, np.nextafter(1, 2), -5e-324])
def test_the_range_of_one_loss_is_exact(loss):
    player = TsallisSwitch(3, switching_cost=4.0).player(seed=1)
    player.ask()
    refused(player, InvalidParameter, lambda p: p.tell(loss), "loss of one round must be from 0 to 1", "units")
    player.tell(0.0)
    player.tell(1.0)


def test_a_sum_of_several_rounds_may_round():
    """Ten losses of 0.1 add up to 0.9999999999999999, and thirty of 1/3·3 to a hair above: neither is a mistake."""
    player = TsallisSwitch(1, switching_cost=20.0).player(seed=1)
    player.ask()
    assert player.hold == 30
    player.tell(10.000000000000002, rounds=10)
    refused(player, InvalidParameter, lambda p: p.tell(10.0000001, rounds=10), "loss of 10 rounds must be from 0 to 10")
    player.tell(-1e-17, rounds=10)
    player.tell(10.0, rounds=10)
    assert player.hold == 0
    player = BlockExp3(2, switching_cost=120.0, horizon=10**4, units=(-10, 30)).player(seed=1)
    player.ask()
    refused(player, InvalidParameter, lambda p: p.tell(91.0, rounds=3), "loss of 3 rounds must be from -30 to 90")
    player.tell(-10.0 * player.hold * (1 + 1e-15), rounds=player.hold)
    assert Player.load(player.save()).save() == player.save()  # its estimates are not below 0


@pytest.mark.parametrize(
    ("policy", "announced", "low", "high"),
    [
        (TsallisInf(3, loss_bound="announced"), {"loss_bound": 4.0}, 0, 4),
        (TsallisInf(3, loss_bound="announced"), {"loss_bound": 0.25}, 0, 0.25),
        (TsallisInf(3, loss_bound=4.0), {}, 0, 4),
        (TsallisInf(3, loss_bound=0.1), {}, 0, 0.1),
        (TsallisInf(3, loss_bound=1e-3), {}, 0, 0.001),
        (Exp3(3, units=(-10, 30)), {}, -10, 30),
        (TsallisSwitch(3, switching_cost=0.0), {}, 0, 1),
    ],
)
def test_losses_and_rewards_outside_the_range_are_refused(policy, announced, low, high):
    for wrong in (low - 0.01, high * 1.01):
        for kind in ("loss", "reward"):
            player = policy.player(seed=1)
            player.ask(**announced)
            says = f"{kind} of one round must be from {low:g} to {high:g}"
            error = refused(player, InvalidParameter, lambda p, k=kind, w=wrong: p.tell(**{k: w}), says, f"got {wrong}")
            assert (error.parameter, error.value) == (kind, wrong)
            player.tell(low)
            player = policy.player(seed=1)
            player.ask(**announced)
            player.tell(high)


@pytest.mark.parametrize("rounds", [0, -1, 1.5, "1", None, True, math.nan, math.inf, [1]])
def test_rounds_that_are_no_number_of_rounds_are_refused(rounds):
    player = TsallisSwitch(3, switching_cost=5.0).player(seed=1)
    player.ask()
    error = refused(player, InvalidParameter, lambda p: p.tell(0.5, rounds=rounds), "rounds must", repr(rounds))
    assert error.parameter == "rounds"


def test_a_loss_and_a_reward_or_neither_are_refused():
    player = TsallisSwitch(3, switching_cost=0.0).player(seed=1)
    player.ask()
    refused(player, InvalidParameter, lambda p: p.tell(0.5, reward=0.5), "loss, reward must not both be given")
    refused(player, InvalidParameter, lambda p: p.tell(), "loss must be given, or a reward instead")


def test_an_unknown_arm_is_refused_and_the_nearest_offered():
    player = TsallisSwitch(arms=["us-east", "eu-west", "ap-south"], switching_cost=0).player(seed=1)
    playing = player.ask()
    other = next(name for name in player.policy.arms if name != playing)
    error = refused(
        player, InvalidParameter, lambda p: p.tell(0.5, arm="us-eats"), "did you mean 'us-east'?", "us-eats"
    )
    assert error.parameter == "arm"
    refused(player, InvalidParameter, lambda p: p.tell(0.5, arm=other), f"being played, {playing!r}", repr(other))
    refused(player, InvalidParameter, lambda p: p.tell(0.5, arm=0), "'us-east', 'eu-west', 'ap-south'", "got 0")
    player.tell(0.5, arm=playing)


def test_an_arm_that_is_another_number_is_refused():
    player = TsallisSwitch(3, switching_cost=0.0).player(seed=1)
    playing = player.ask()
    refused(player, InvalidParameter, lambda p: p.tell(0.5, arm=(playing + 1) % 3), "arm must be the one being played")
    refused(player, InvalidParameter, lambda p: p.tell(0.5, arm=3), "arm must be one of 0, 1, 2", "got 3")
    refused(player, InvalidParameter, lambda p: p.tell(0.5, arm="a"), "arm must be one of 0, 1, 2", "got 'a'")
    for strange in (np.array([0, 1]), [playing], {}, 0.5, math.nan, object(), playing == 1):
        refused(player, InvalidParameter, lambda p, arm=strange: p.tell(0.5, arm=arm), "arm must be")
    player.tell(0.5, arm=np.int64(playing))


@pytest.mark.parametrize("value", [-0.1, math.nan, math.inf, "1", True, [1.0]])
def test_announcements_that_break_a_rule_are_refused(value):
    for policy, name in (
        (VaryingTsallisSwitch(3), "switching_cost"),
        (TsallisInf(3, loss_bound="announced"), "loss_bound"),
    ):
        player = policy.player(seed=1)
        error = refused(player, InvalidParameter, lambda p, n=name: p.ask(**{n: value}), f"{name} must be", repr(value))
        assert error.parameter == name


def test_announcements_at_the_wrong_time_or_to_the_wrong_policy_are_refused():
    player = VaryingTsallisSwitch(3).player(seed=1)
    refused(player, InvalidParameter, lambda p: p.ask(), "switching_cost must be announced")
    refused(player, InvalidParameter, lambda p: p.ask(loss_bound=1.0), "loss_bound is not announced to")
    refused(player, OutOfTurn, lambda p: p.probabilities, "ask(switching_cost=...)")
    player = TsallisInf(3, loss_bound="announced").player(seed=1)
    refused(player, InvalidParameter, lambda p: p.ask(loss_bound=0.0), "loss_bound must be", "0.0")
    player = TsallisSwitch(3, switching_cost=4.0).player(seed=1)
    for _ in range(2):  # also inside a block
        refused(player, InvalidParameter, lambda p: p.ask(switching_cost=2.0), "switching_cost is not announced to")
        player.ask()
    player = VaryingTsallisSwitch(3).player(seed=1)
    assert player.ask(switching_cost=9.0) == player.ask(switching_cost=1.0) == player.ask()


def test_a_schedule_that_ends_says_so():
    player = TsallisSwitch(2, block_lengths=[2, 1], learning_rates=[1.0, 0.5]).player(seed=1)
    for rounds in (2, 1):
        player.ask()
        player.tell(0.5, rounds=rounds)
    refused(player, InvalidParameter, lambda p: p.ask(), "must reach block 3", "functions of n")


@pytest.mark.parametrize(
    ("make", "parameter", "got"),
    [
        (lambda: TsallisSwitch(), "n_arms", "0"),
        (lambda: TsallisSwitch(0, switching_cost=0.0), "n_arms", "0"),
        (lambda: TsallisSwitch(-3), "n_arms", "-3"),
        (lambda: TsallisSwitch(2.5), "n_arms", "2.5"),
        (lambda: TsallisSwitch(math.nan), "n_arms", "nan"),
        (lambda: TsallisSwitch(math.inf), "n_arms", "inf"),
        (lambda: TsallisSwitch("8"), "n_arms", "'8'"),
        (lambda: TsallisSwitch(True), "n_arms", "True"),
        (lambda: TsallisSwitch(None), "n_arms", "None"),
        (lambda: TsallisSwitch(10**9), "n_arms", "1000000000"),
        (lambda: TsallisSwitch(3, switching_cost=-0.5), "switching_cost", "-0.5"),
        (lambda: TsallisSwitch(3, switching_cost=math.nan), "switching_cost", "nan"),
        (lambda: TsallisSwitch(3, switching_cost=math.inf), "switching_cost", "inf"),
        (lambda: TsallisSwitch(3, switching_cost="1"), "switching_cost", "'1'"),
        (lambda: TsallisSwitch(3, switching_cost=True), "switching_cost", "True"),
        (lambda: TsallisSwitch(arms=[]), "arms", "[]"),
        (lambda: TsallisSwitch(arms="ab"), "arms", "'ab'"),
        (lambda: TsallisSwitch(arms=["a", "b", "a"]), "arms", "['a', 'b', 'a']"),
        (lambda: TsallisSwitch(arms=["a", ""]), "arms", "['a', '']"),
        (lambda: TsallisSwitch(arms=["a", 1]), "arms", "['a', 1]"),
        (lambda: TsallisSwitch(3, arms=["a", "b"]), "n_arms", "3"),
        (lambda: TsallisSwitch(3, units=(1, 1)), "units", "(1, 1)"),
        (lambda: TsallisSwitch(3, units=(1, 0)), "units", "(1, 0)"),
        (lambda: TsallisSwitch(3, units=(0, math.inf)), "units", "(0, inf)"),
        (lambda: TsallisSwitch(3, units=(-1e308, 1e308)), "units", "(-1e+308, 1e+308)"),
        (lambda: TsallisSwitch(3, units=(0.0, 1e308)), "units", "(0.0, 1e+308)"),
        (lambda: Exp3(3, units=(1e307, 1e308)), "units", "(1e+307, 1e+308)"),
        (lambda: TsallisSwitch(3, units=5), "units", "5"),
        (lambda: TsallisSwitch(3, units=(0, "1")), "units", "(0, '1')"),
        (lambda: TsallisInf(3, estimator="rv"), "estimator", "'rv'"),
        (lambda: TsallisInf(3, loss_bound=0), "loss_bound", "0"),
        (lambda: TsallisInf(3, loss_bound=-2.0), "loss_bound", "-2.0"),
        (lambda: TsallisInf(3, loss_bound="anounced"), "loss_bound", "'anounced'"),
        (lambda: TsallisInf(3, loss_bound=4.0, units=(0, 4)), "loss_bound", "4.0"),
        (lambda: Exp3(0), "n_arms", "0"),
        (lambda: BlockExp3(3, switching_cost=-1.0, horizon=100), "switching_cost", "-1.0"),
        (lambda: TsallisSwitch(3), "switching_cost", "None"),
        (lambda: VaryingTsallisSwitch(-1), "n_arms", "-1"),
        (lambda: TsallisSwitch(3, switching_cost=0.0).player(seed=-1), "seed", "-1"),
        (lambda: TsallisSwitch(3, switching_cost=0.0).player(seed="x"), "seed", "'x'"),
        (lambda: TsallisSwitch(3, switching_cost=0.0).player(replication=-1), "replication", "-1"),
        (lambda: TsallisSwitch(3, switching_cost=0.0).player(replication=2**63), "replication", str(2**63)),
        (lambda: BaSE(3, horizon=10**300), "horizon", f"{str(10**300)[:100]}… (301 characters)"),
        (lambda: BlockExp3(3, switching_cost=1e300, horizon=100), "switching_cost", "1e+300"),
        (lambda: TsallisSwitch(3, switching_cost=0.0).player(units=(2, 1)), "units", "(2, 1)"),
    ],
)
def test_bad_parameters_are_refused(make, parameter, got):
    """Each error names the parameter, the rule and the value it got."""
    with pytest.raises(InvalidParameter) as caught:
        make()
    error = caught.value
    assert isinstance(error, ValueError)
    assert error.parameter == parameter
    rule, hint, nearest = error.rule.partition("; did you mean ")
    assert str(error) == f"{parameter} {rule}; got {got}{hint}{nearest}"
    assert len(error.rule) > 10


@pytest.mark.parametrize("length", [10**400, 2**53 + 1, 1e300])
def test_block_lengths_beyond_all_games_are_refused(length):
    with pytest.raises(InvalidParameter, match="block_lengths at n=1 must be a whole number from 1 to"):
        TsallisSwitch(3, block_lengths=[length], learning_rates=[1.0])


@pytest.mark.parametrize("cost", [1e6, 1e9, 1e12])
def test_any_block_length_is_found_at_once(cost):
    """Exactly, without counting up to it."""
    policy = BlockExp3(8, switching_cost=cost, horizon=10**15)
    m, cubed = policy.block_length, Fraction(repr(cost)) ** 2 * 10**15 / 8
    assert m == 2**53 or (m - 1) ** 3 < cubed <= m**3


def test_many_names_are_checked_in_no_time():
    """Twenty thousand names, also when one is there twice or another is asked for: no pair of them is compared."""
    names = [f"arm {i}" for i in range(20_000)]
    began = time.perf_counter()
    player = TsallisSwitch(arms=names, switching_cost=1.0).player(seed=1)
    with pytest.raises(InvalidParameter, match="'arm 7' is there twice"):
        TsallisSwitch(arms=[*names, "arm 7"], switching_cost=1.0)
    for _ in range(3):
        playing = player.ask()
        player.tell(0.5, rounds=player.hold, arm=playing)
    player.ask()
    refused(player, InvalidParameter, lambda p: p.tell(0.5, arm="arm seven"), "arm must be one of 'arm 0'", "arm seven")
    assert time.perf_counter() - began < 20  # seconds, on any machine: it takes a tenth of one


@pytest.mark.parametrize(
    "make",
    [
        lambda: BaSE(3),
        lambda: BlockExp3(3, switching_cost=1.0),
        lambda: make_policy({"policy": "exp3-blocks", "n_arms": 3, "switching_cost": 1.0}),
    ],
)
def test_a_parameter_that_must_be_given_is_named(make):
    with pytest.raises((TypeError, InvalidParameter), match="horizon"):
        make()


@pytest.mark.parametrize("cost", [1e15, 1e19, 1e80, 1e300])
def test_a_cost_beyond_all_measure_is_refused_or_holds_for_ever(cost):
    for make in (
        lambda: (TsallisSwitch(5, switching_cost=cost).player(seed=1), {}),
        lambda: (TsallisSwitch(5, switching_cost=1.0, units=(0.0, 1 / cost)).player(seed=1), {}),
        lambda: (VaryingTsallisSwitch(5).player(seed=1), {"switching_cost": cost}),
    ):
        try:
            player, announced = make()
            player.ask(**announced)
        except InvalidParameter:
            continue
        assert player.hold >= 10**7
        assert player.probabilities == pytest.approx([0.2] * 5)


@pytest.mark.parametrize("size", [1e-300, 1e-160, 1e-100, 1e-30, 1e30, 1e100, 1e160, 1e300])
def test_a_range_or_rate_of_any_size_is_refused_or_played(size):
    """Probabilities are never made of numbers that have overflown."""
    for make in (
        lambda: TsallisInf(5, loss_bound=size),
        lambda: TsallisInf(5, units=(0.0, size)),
        lambda: TsallisSwitch(5, block_lengths=[1] * 9, learning_rates=[size] * 9),
    ):
        try:
            policy = make()
            player = policy.player(seed=1)
        except InvalidParameter:
            continue
        highest = size if policy.units[1] == size or getattr(policy, "loss_bound", 0) == size else 1.0
        assert player.probabilities == pytest.approx([0.2] * 5)
        for _ in range(5):
            player.ask()
            player.tell(highest)
            assert np.isfinite(player.probabilities).all()
            assert math.isclose(player.probabilities.sum(), 1.0)
