"""Shares of arms: what is drawn, kept and learnt, by exact enumeration; ramps; what does not go together."""

import json
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest
from games import refuse
from test_core import Lists, made

import holdfast as hf
from holdfast.decisions import holdout as holdback
from holdfast.decisions.game import assigned, odds_of
from holdfast.decisions.requests import Ask, Tell
from holdfast.decisions.rules import arms
from holdfast.decisions.settings import Ramp, Settings

K = 4
LOSSES = [0.1, 0.5, 0.8, 0.3]

BY_WEIGHT = [
    hf.TsallisSwitch(K, switching_cost=2.0),
    hf.TsallisSwitch(K, switching_cost=2.0, estimator="reduced-variance"),
    hf.Exp3(K),
    hf.AdaptiveTsallisSwitch(K, switching_cost=2.0, constants=hf.Constants(longest_step_up=1e6, longest_step_down=1.9)),
]

BY_ARM = [hf.Ucb1(K), hf.FollowTheLeader(K, cooldown=3), hf.TrackingSwitch(K, switching_cost=0.5, guarded=False)]


def begun(policy, chosen, blocks=40):
    """A game some blocks on, in which the next ask begins one."""
    game = Lists(policy, chosen, seed=3)
    while True:
        if game.head.handed == game.head.rounds and game.head.block >= blocks:
            return game
        (decision,) = game.call(made(Ask(), 0.0))[0]
        _, number, place, _ = decision.id.split("-")
        game.call(
            made(Tell([(decision.id, int(number), int(place), LOSSES[decision.arm])], [(int(number), int(place))]), 0.0)
        )


def every_draw(game):
    """For each arm, a state from which it is drawn next: only the random stream differs."""
    found = {}
    for n in range(2000):
        learner = game.state.learner.copy()
        learner.stream[:] = hf.Stream(n, "draws").state
        arm, _ = learner.copy().begin()
        found.setdefault(arm, learner)
    return found


def next_block(game, learner, coin, monkeypatch):
    """The next block, from this draw and this coin, and the state after all its losses."""
    monkeypatch.setattr(arms, "chance", lambda stream, number, label=b"": coin)
    other = Lists(game.setup.policy, game.setup.settings, seed=0)
    other.setup, other.head, other.rows, other.told = game.setup, game.head, dict(game.rows), dict(game.told)
    other.state = replace(game.state, learner=learner.copy(), arms=[replace(one) for one in game.state.arms])
    (decision,) = other.call(made(Ask(), 0.0))[0]
    block = other.rows[other.head.current]
    others = block.rounds - 1
    decisions = [decision, *(other.call(made(Ask(others), 0.0))[0] if others else [])]
    for n, one in enumerate(decisions):
        assert (one.arm, one.probability) == (decision.arm, decision.probability)
        other.call(made(Tell([(one.id, block.number, n, LOSSES[one.arm])], [(block.number, n)]), 0.0))
    assert other.head.settled == game.head.settled + 1
    return block, decisions[0], other


@pytest.mark.parametrize("policy", BY_WEIGHT, ids=lambda policy: policy.label)
@pytest.mark.parametrize("share", [{0: 0.1}, {0: 0.1, 3: 0.2}])
def test_arms_are_given_what_the_log_says_and_estimates_are_unbiased(policy, share, monkeypatch):
    """Over all draws and both sides of the coin.

    Each arm has exactly min(its probability, its share), and the next best of the others has the rest. The policy's
    estimates are of what each draw costs: of arm i with its share s < p_i, (s/p_i)·ℓ_i + (1 − s/p_i)·ℓ of the stand-in.
    """
    game = begun(policy, Settings(share=share), blocks=20)
    draws = every_draw(game)
    first = draws[0].copy()
    first.begin()
    p = first.probabilities()
    caps = np.array([share.get(arm, 1.0) for arm in range(K)])
    instead = max((arm for arm in range(K) if arm not in share), key=lambda arm: p[arm])
    played, growth, cost = np.zeros(K), np.zeros(K), np.zeros(K)
    assert (p > caps).any()
    for arm, learner in draws.items():
        keeps = min(1.0, caps[arm] / p[arm])
        for chance, coin in ((keeps, 0.5 * keeps), (1.0 - keeps, 0.5 * (1.0 + keeps))):
            if not chance:
                continue
            block, decision, after = next_block(game, learner, coin, monkeypatch)
            assert decision.arm == (arm if coin < keeps else instead)
            played[decision.arm] += p[arm] * chance
            before = np.array(game.state.learner.saved_state()["C"])
            step = np.array(after.state.learner.saved_state()["C"]) - before
            growth += p[arm] * chance * (step - step.mean())
            cost[arm] += chance * block.rounds * LOSSES[decision.arm]
            odds = odds_of(block)
            assert decision.probability == pytest.approx(odds[decision.arm], rel=1e-12)
            assert all(odds[one] <= share[one] for one in share)
            assert json.loads(block.odds)["drawn"] == [arm, pytest.approx(p[arm])]
    assert played == pytest.approx([odds[arm] for arm in range(K)], rel=1e-9)
    assert [played[arm] for arm in share] == pytest.approx([min(p[arm], share[arm]) for arm in share], rel=1e-9)
    assert growth == pytest.approx(cost - cost.mean(), rel=1e-8, abs=1e-8)


@pytest.mark.parametrize("policy", BY_ARM, ids=lambda policy: policy.label)
def test_a_policy_of_levels_hears_of_the_arm_that_played(policy, monkeypatch):
    game = begun(policy, Settings(share={0: 0.25}), blocks=60)
    learner = next(one for one in [game.state.learner.copy()])
    favourite = learner.copy().begin()[0]
    game.setup = replace(game.setup, settings=Settings(share={favourite: 0.25}))
    sums = {"tracking": "level"}.get(policy.label, "N")
    for coin, gives in ((0.2, False), (0.3, True)):
        block, decision, after = next_block(game, learner, coin, monkeypatch)
        assert (decision.arm != favourite) == gives
        assert (block.arm, block.played) == (decision.arm, "")
        assert decision.probability == (0.75 if gives else 0.25)
        was, now = (np.array(one.state.learner.saved_state()[sums]) for one in (game, after))
        if policy.label == "tracking":
            was, now = (np.array(one.state.learner.saved_state()["rounds"]) for one in (game, after))
        assert np.flatnonzero(was != now).tolist() == [decision.arm]


def test_the_guards_accounts_are_of_the_arm_that_played(monkeypatch):
    """Σ over draws and coins of what the account of each arm says: what the round cost, less what the arm lost."""
    policy = hf.TrackingSwitch(K, switching_cost=0.5)
    game = begun(policy, Settings(), blocks=60)
    state = game.state.learner.state
    state.account[:] = 0.95 * policy.guard_of(state).limit  # then it looks often
    favourite = game.state.learner.copy().begin()[0]
    game.setup = replace(game.setup, settings=Settings(share={favourite: 0.25}))
    draws = every_draw(game)
    start = np.array(game.state.learner.saved_state()["account"])
    first = draws[favourite].copy()
    first.begin()
    p, spent, moved = first.probabilities(), 0.0, np.zeros(K)
    assert sorted(draws) == list(range(K))
    for arm, learner in draws.items():
        keeps = min(1.0, 0.25 / p[arm]) if arm == favourite else 1.0
        for chance, coin in ((keeps, 0.0), (1.0 - keeps, 0.999)):
            if not chance:
                continue
            _, decision, after = next_block(game, learner, coin, monkeypatch)
            paid = 0.5 if arm != favourite else 0.0
            spent += p[arm] * chance * (LOSSES[decision.arm] + paid)
            moved += p[arm] * chance * (np.array(after.state.learner.saved_state()["account"]) - start)
    assert moved == pytest.approx(spent - np.array(LOSSES), rel=1e-9)


def test_a_ramp_goes_by_equal_factors(place):
    policy, hour = hf.Exp3(arms=["old", "new", "other"]), timedelta(hours=1)
    router = place.open(policy=policy, seed=1, share={"new": (0.01, 0.16, hour)})
    for minutes, share in ((0, 0.01), (15, 0.02), (15, 0.04), (30, 0.16), (600, 0.16)):
        place.clock.now += 60.0 * minutes
        assert router.shares["new"] == pytest.approx(share)
    router.change(share={"new": (0.01, 0.16, "1h")}, reason="the same: it goes on")
    assert router.shares["new"] == pytest.approx(0.16)
    assert not router.history.changes
    router.change(share={"new": (0.16, 0.01, "1h")}, reason="down again")
    assert router.shares["new"] == pytest.approx(0.16)
    place.clock.now += 900.0
    router.change(share={"new": (0.16, 0.01, "1h"), "other": 0.5}, reason="another; the ramp goes on")
    place.clock.now += 900.0
    assert router.shares == {"new": pytest.approx(0.04), "other": 0.5}
    router.change(share={"new": (0.16, 0.01, "1h")})
    place.open(policy=policy, share={"new": (0.16, 0.01, "1h")}, settings="same").close()
    with pytest.raises(hf.OtherSettings, match="share"):
        place.open(policy=policy, share={"new": 0.5}, settings="same")
    change = router.history.changes[0]
    assert change["reason"] == "down again"
    assert change["detail"]["share"][1]["new"][:3] == [0.16, 0.01, "3600.0s"]
    router.change(share={})
    assert router.shares == {}


def test_a_ramp_in_numbers():
    ramp = Ramp(0.01, 0.5, 7 * 86400.0, since=1000.0)
    assert [ramp.at(0.0), ramp.at(1000.0)] == [0.01, 0.01]
    assert ramp.at(1000.0 + 3.5 * 86400.0) == pytest.approx(0.005**0.5)
    assert [ramp.at(1000.0 + 7 * 86400.0 + passed) for passed in (0.0, 0.5, 1e9)] == [0.5] * 3


def test_a_new_arm_begins_with_its_share_and_leaves_with_it():
    router = hf.open("memory:", "x", hf.Exp3(arms=["a", "b"]), seed=1)
    router.change(add_arms=["new"], share={"new": 0.05}, reason="a canary")
    assert router.shares == {"new": 0.05}
    with pytest.raises(hf.InvalidParameter, match="share must leave an arm without a share"):
        router.change(retire_arms=["a", "b"])
    router.change(retire_arms=["new"])
    assert router.shares == {}


PLAIN = hf.Exp3(arms=["a", "b"])


@pytest.mark.parametrize(
    ("policy", "options", "message"),
    [
        (PLAIN, {"share": {"c": 0.1}}, "share must be of arms of the game, 'a', 'b'"),
        (PLAIN, {"share": {"a": 0.1, "b": 0.9}}, "must leave an arm without a share"),
        (PLAIN, {"share": {"a": 0.0}}, "share must be"),
        (PLAIN, {"share": {"a": (0.1, 0.5)}}, "from a share to a share over a time"),
        (PLAIN, {"share": {"a": (0.1, 1.5, "7d")}}, "share must be"),
        (PLAIN, {"share": 0.1}, "share must be the most that each of some arms may have"),
        (hf.ThompsonSampling(arms=["a", "b"]), {"share": {"a": 0.1}}, "share is not for thompson"),
        (hf.AdaptiveHedgeSwitch(arms=["a", "b"], switching_cost=1.0), {"share": {"a": 0.1}}, "sees the losses of all"),
        (PLAIN, {"share": {"a": 0.1}, "most_switches": (10, "1d")}, "most_switches must be left out beside share"),
        (PLAIN, {"share": {"a": 0.1}, "shadow": True}, "share is not for a shadow, a holdback of 1"),
        (PLAIN, {"most_switches": (1, "1d"), "shadow": True}, "most_switches is not for a shadow"),
    ],
)
def test_what_does_not_go_together_is_refused(policy, options, message):
    refuse([(message, lambda: hf.open("memory:", "x", policy, **options))])


def test_the_probabilities_that_are_shown_keep_to_the_shares(place):
    """Within a block those with which it was given, between two those of the next; as `docs/theory/decisions.md`."""
    policy = hf.TsallisSwitch(arms=["a", "b", "c"], switching_cost=4.0)
    router = place.open(policy=policy, seed=1, share={"a": 0.125, "b": (0.25, 0.5, "60s")})
    place.clock.now += 30.0
    third = pytest.approx([0.125, 1 / 3, 1.0 - 0.125 - 1 / 3])  # each is drawn with a third; b may have √(1/8)
    assert router.probabilities == pytest.approx([0.125, 0.25, 0.625])  # as of the latest time that was seen
    decision = router.ask()
    assert router.probabilities == third
    assert decision.probability == router.probabilities["abc".index(decision.arm)]


# ---- one arm next to another


def canary(place, keyed=True, worse=0.4, first=None):
    """A game with conversations, or blocks of several rounds, in which a new arm with a fifth loses more."""
    policy = hf.Exp3(arms=["old", "new"]) if keyed else hf.TsallisSwitch(arms=["old", "new"], switching_cost=1.5)
    router = place.open(policy=policy, seed=1)
    router.change(share={"new": 0.2}, patience="forever")
    if first:
        router.ask(key=first)
    for n in range(900):
        decision = router.ask(key=str(n) if keyed else None)
        router.tell(decision.id, (n % 7 == 0) * 0.5 if decision.arm == "old" else worse)
        if keyed:
            router.end(str(n))
    return router


def estimate(blocks):
    """New less old from the rows, a unit at a time: earlier weighted means, corrected by what was lost."""
    sums, first, total, weights = {0: [0.5, 1.0], 1: [0.5, 1.0]}, None, 0.0, 0.0
    for block in blocks:
        odds = odds_of(block)
        both = odds[0] * odds[1] / (odds[0] + odds[1])
        first = first or both
        weight, arm = both / first * (1 if block.key else block.rounds), assigned(block)[0]
        loss = sum(block.losses) / block.rounds
        mean = {side: one / size for side, (one, size) in sums.items()}
        total += weight * (mean[1] - mean[0] + (loss - mean[arm]) / odds[arm] * (1 if arm == 1 else -1))
        weights += weight
        sums[arm][0], sums[arm][1] = sums[arm][0] + weight * loss, sums[arm][1] + weight
    return total / weights


@pytest.mark.parametrize("keyed", [True, False], ids=["conversations", "blocks"])
def test_the_judgement_is_that_of_the_log(place, keyed):
    router = canary(place, keyed)
    if router.hold:
        router.tell([(decision.id, 0.5) for decision in router.ask(router.hold)])
    blocks = list(router.history.blocks())
    found = router.judge("new", "old")
    given = [assigned(block)[0] for block in blocks]
    assert (found.units, found.of_arm, found.of_against) == (len(blocks), given.count(1), given.count(0))
    assert found.difference == pytest.approx(estimate(blocks), rel=1e-9)
    back = router.judge("old", "new")
    assert [back.difference, back.low, back.high] == pytest.approx([-found.difference, -found.high, -found.low])
    assert router.history.judge("new", "old", 0.5).high < found.high


def test_a_judgement_is_kept_with_the_change_and_begins_anew_with_an_arm(place):
    router = canary(place, first="one that goes on")
    router.end("one that goes on")
    found = router.judge("new", "old")
    assert (found.units, found.verdict, found.open) == (901, "worse", 1)
    assert found.low < 0.4 - 0.5 / 7 < found.high
    assert router.judge("old", "new").verdict == "better"
    assert str(found).startswith("worse: new loses 0.")
    assert router.history.compact(keep=300) == 600
    router.tell(router.open_decisions[0].id, 1.0)  # what is left of old ones is no fair sample
    assert router.judge("new", "old").units == router.judge("old", "new").units == 300
    router.change(share={}, retire_arms=["new"], reason=str(found))
    assert router.history.changes[-1]["reason"].startswith("worse: new loses")
    router.change(add_arms=["new"], share={"new": 0.1}, reason="another release of that name")
    assert router.judge("new", "old").units == router.judge("old", "new").units == 0


def test_what_a_judgement_says_at_its_thresholds_and_before_any_shares():
    for low, high, verdict in (
        *((-0.2, -1e-9, "better"), (-0.2, 0.0, "not yet"), (-0.1, 0.1, "not yet")),
        *((0.0, 0.2, "not yet"), (1e-9, 0.2, "worse")),
    ):
        found = holdback.Judgement("new", "old", 900, 45, 810, 0.5 * (low + high), low, high, 0.95)
        assert (found.verdict, str(found).partition(":")[0]) == (verdict, verdict)
    router = hf.open("memory:", "x", hf.Exp3(arms=["old", "new"]), seed=1)
    router.tell([(decision.id, 0.5) for decision in router.ask(20)])
    found = router.judge("new", "old")
    assert (found.units, found.verdict) == (0, "not yet")
    assert holdback.Judgement.from_json(found.to_json()).units == 0
    refuse(
        [
            ("against must be another arm", lambda: router.judge("old", "old")),
            ("arm must be an arm that the game has", lambda: router.judge("newer", "old")),
        ]
    )


def test_losses_that_are_awaited_widen_the_interval_by_all_they_can_be(place):
    router = canary(place)
    before = router.judge("new", "old")
    open_ones = [router.ask(key=f"open {n}") for n in range(10)]
    after = router.judge("new", "old")
    assert after.open <= 10
    assert after.low <= before.low + 1e-9
    assert after.high >= before.high - 1e-9
    for decision in open_ones:
        router.tell(decision.id, 0.5)
        router.end(f"open {open_ones.index(decision)}")
    final = router.judge("new", "old")
    assert (final.open, final.units) == (0, 910)
    router.change(scale=hf.Scale(latency=(0.0, 1.0)))
    assert router.judge("new", "old").units == 0  # losses by two scales are not compared


def test_the_interval_holds_at_all_times_while_probabilities_and_losses_drift():
    """40 games, looked at six times each: with confidence 0.9, 9 or more misses have a chance below 2 %."""
    rng, misses = np.random.default_rng(5), 0
    for _ in range(40):
        n = 1500
        p = np.exp(rng.uniform(np.log(0.002), np.log(0.3), n))
        q = (1.0 - p) * rng.uniform(0.7, 1.0, n)
        u, rounds = rng.random(n), rng.integers(1, 6, n)
        side = np.where(u < p, 0, np.where(u < p + q, 1, 2))
        t = np.arange(n)
        means = np.array([0.4 + 0.2 * np.sin(t / 300), 0.5 + 0.1 * np.cos(t / 200), 0.9 + 0 * t])
        costs = (rng.random(n) < means[side, t]).astype(float)
        weights = rounds * p * q / (p + q)
        truth = np.cumsum(weights * (means[0] - means[1])) / np.cumsum(weights)
        missed = False
        for k in (20, 50, 200, 500, 1000, n):
            value, low, high = holdback.judge(
                costs[:k], side[:k], np.stack([p, q], axis=1)[:k], weights=rounds[:k], confidence=0.9
            )
            assert low <= value <= high
            missed |= not low <= truth[k - 1] <= high
        misses += missed
    assert misses < 9


def test_a_judgement_of_coins_is_the_comparison_of_a_policy_with_its_rule():
    """Two sides with π and 1 − π: the same estimate, and the same interval but for the part spent on the share."""
    rng = np.random.default_rng(3)
    rule, costs = rng.random(3000) < 0.2, rng.random(3000)
    saving = holdback.compare(costs, rule, 0.2, confidence=0.95)
    found = holdback.judge(costs, rule, [(0.8, 0.2)] * 3000, confidence=1.0 - 0.05 * (1.0 - holdback.OF_THE_LEVEL))
    assert list(found) == pytest.approx([saving.difference, saving.low, saving.high], rel=1e-12)
