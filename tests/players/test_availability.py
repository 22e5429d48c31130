"""Arms that are not available: what is played, what is learnt, by exact enumeration of the draw."""

import copy

import numpy as np
import pytest
from saved_players import resigned

import holdfast as hf

K = 4


def after(policy, rounds):
    """A player some way into a game, between two blocks."""
    player, t = policy.player(seed=3), 0
    while t < rounds or player.hold:
        arm = player.ask()
        player.tell(((7 * t + 3 * arm) % 10) / 10)
        t += 1
    return player


def every_draw(player):
    """For each arm, a player that is about to draw it from the same state: only the random stream differs."""
    found = {}
    for n in range(1000):
        other = copy.copy(player)
        other._game, other._pieces = player._game.copy(), []
        other._game.stream[:] = hf.Stream(n, "draws").state
        arm, _ = other._game.copy().begin()
        found.setdefault(arm, other)
    return [found[arm] for arm in range(K)]


def up_at(t):
    """Which arms can be played in round t of the block; arm 0 goes and comes back."""
    return [arm for arm in range(K) if not (arm == 0 and t in (1, 2)) and not (arm == 3 and t == 0)]


def play_block(player):
    """A block with these outages: the arms that were played, and what it lost in each round."""
    played, losses, t = [], [], 0
    while t == 0 or player.hold:
        arm = player.ask(available=up_at(t))
        played.append(arm)
        losses.append(((t + 1) * (arm + 2) % 7) / 10 + 0.2)
        player.tell(losses[-1])
        t += 1
    return played, losses


@pytest.mark.parametrize(
    "policy",
    [
        hf.TsallisSwitch(K, switching_cost=4.0),
        hf.TsallisSwitch(K, switching_cost=4.0, estimator="reduced-variance"),
        hf.BlockExp3(K, switching_cost=4.0, horizon=1000),
        hf.AdaptiveTsallisSwitch(
            K, switching_cost=4.0, constants=hf.Constants(longest_step_up=1e6, longest_step_down=1.9)
        ),
    ],
    ids=lambda policy: policy.label,
)
def test_estimates_are_unbiased_for_what_was_played(policy):
    """Σ_i p_i (the estimates after arm i was drawn) = for each arm its own loss while it is up, else its replacement's.

    Estimates are compared less their mean: a common shift means nothing.
    """
    start = after(policy, 60)
    draws = every_draw(start)
    expected_growth, mean_estimate, p = np.zeros(K), np.zeros(K), start.probabilities
    for arm, player in enumerate(draws):
        before = player._game.saved_state()["C"]
        played, losses = play_block(player)
        assert len(played) >= 4
        for t, actual in enumerate(played):
            assert actual in up_at(t)
            assert actual == arm or arm not in up_at(t)
        estimates = np.array(player._game.saved_state()["C"]) - before
        mean_estimate += p[arm] * (estimates - estimates.mean())
        expected_growth[arm] = sum(losses)
    assert mean_estimate == pytest.approx(expected_growth - expected_growth.mean(), rel=1e-9, abs=1e-9)


def test_what_is_lost_is_what_the_probabilities_say():
    """In each round Σ p_i of the losses above is the expected loss of the arm played, by `probabilities`."""
    draws = every_draw(after(hf.TsallisSwitch(K, switching_cost=4.0), 60))
    weights = draws[0].probabilities
    shares = np.zeros((4, K))
    for arm, player in enumerate(draws):
        for t in range(4):
            actual = player.ask(available=up_at(t))
            shares[t, actual] += weights[arm]
            if arm == 0:
                said = player.probabilities
                assert player.probability == pytest.approx(said[actual])
                assert said.sum() == pytest.approx(1.0)
                assert not said[[other for other in range(K) if other not in up_at(t)]].any()
            player.tell(0.5)
    twin = draws[0].policy
    player = every_draw(after(twin, 60))[1]
    for t in range(4):
        player.ask(available=up_at(t))
        assert player.probabilities == pytest.approx(shares[t])
        player.tell(0.5)


@pytest.mark.parametrize("kind", [hf.Ucb1, hf.FollowTheLeader, hf.ThompsonSampling])
def test_policies_of_averages_play_the_next_best_mean(kind):
    """Without probabilities to go by."""
    player = kind(3).player(seed=1)
    for t in range(300):
        up = [0, 1, 2] if t < 200 else [1, 2]
        arm = player.ask(available=up)
        assert arm in up
        if t >= 260:
            assert arm == 1
        player.tell((0.0, 0.1, 1.0)[arm])


@pytest.mark.parametrize(
    ("told", "lost", "out", "arm"),
    [
        ([5, 0, 3], [0.0, 0.0, 0.0], [0], 1),  # nothing is known of it yet
        ([5, 2, 3], [0.0, 1.0, 0.3], [0], 2),
        ([5, 2, 3], [4.0, 1.0, 2.0], [1], 2),
    ],
)
def test_an_arm_without_a_known_loss_is_the_next_best(told, lost, out, arm):
    game = hf.Ucb1(3).player(seed=1)._game
    game.begin()
    game.state.N[:], game.state.C[:] = told, lost
    assert game.next_best(np.isin(np.arange(3), out)) == arm


def test_the_arm_comes_back_in_its_block():
    player = after(hf.TsallisSwitch(K, switching_cost=4.0), 60)
    drawn = player.ask()
    switches = player.switches
    others = [arm for arm in range(K) if arm != drawn]
    replacement = player.ask(available=others)
    assert replacement in others
    assert player.ask(available=others) == replacement
    assert player.ask() == drawn
    assert player.switches == switches + 2


def test_a_saved_player_goes_on_in_an_outage():
    player = hf.AdaptiveTsallisSwitch(arms=["a", "b", "c"], switching_cost=2.0).player(seed=1)
    player.ask()
    player.tell(0.5)
    held = player.ask()
    others = [arm for arm in "abc" if arm != held]
    replacement = player.ask(available=others)
    again = hf.Player.load(player.save())
    assert again.probability == player.probability
    assert again.ask(available=others) == replacement
    assert again.save() == player.save()
    assert again.ask() == held
    for copied in (player, again):
        copied.ask()
        while copied.hold:
            copied.tell(0.25)
    assert again.save() == player.save()


@pytest.mark.parametrize("out", [[7], ["a"], [True]])
def test_a_save_cannot_have_outages_of_other_arms(out):
    player = hf.TsallisSwitch(3, switching_cost=2.0).player(seed=1)
    player.ask()
    with pytest.raises(hf.BadSavedState):
        hf.Player.load(resigned(player.save(), lambda content: content.update(out=out)))


@pytest.mark.parametrize(
    ("available", "says"),
    [
        ([], "at least one"),
        ("eu-west", "must be a list"),
        (["eu-wst"], "did you mean 'eu-west'"),
        ([1], "must be one of"),
        (5, "must be a list"),
    ],
)
def test_what_is_not_a_list_of_arms_is_refused(available, says):
    player = hf.AdaptiveTsallisSwitch(arms=["us-east", "eu-west"], switching_cost=1.0).player(seed=1)
    before = player.save()
    with pytest.raises(hf.InvalidParameter, match=says):
        player.ask(available=available)
    assert player.save() == before
    with pytest.raises(hf.InvalidParameter, match="from 0 to 1"):
        hf.Exp3(2).player().ask(available=[2])
