"""Losses that come late or never: patience, what stands for them and is shown of them, clocks that jump."""

import json
import math
import random
from datetime import timedelta

import numpy as np
import pytest
from every_policy import CASES
from games import SWITCH, play, snapshot, stored_asks
from places import Clock, Place
from statistics_of_samples import assert_at_least

import holdfast as hf
from holdfast.decisions.models import Head
from holdfast.decisions.rules.report import overdue
from holdfast.decisions.settings import Settings
from holdfast.decisions.stores import store_at
from holdfast.replays.logged import read_log

HOUR = timedelta(hours=1)


def test_a_late_loss_counts_in_place_of_what_stood_for_it(place):
    router, twin = (place.open(name, SWITCH, seed=1, patience=HOUR, missing=1.0) for name in ("chat", "twin"))
    (first, second), (one, two) = router.ask(2), twin.ask(2)
    router.tell(first.id, 0.5)
    twin.tell([(one.id, 0.5), (two.id, 0.75)])
    place.clock.now += 3600
    assert router.settle() == 1
    assert router.history.totals.cost != twin.history.totals.cost
    assert router.tell(second.id, 0.75) == (second.id, True, True)
    assert router.tell(second.id, 0.75) == (second.id, False, True)
    assert router.tell(first.id, 0.5) == (first.id, False, False)
    with pytest.raises(hf.AlreadyTold, match=r"0\.75 is recorded"):
        router.tell(second.id, 0.25)
    row = router.history.frame.row(0, named=True)
    assert (row["told"], row["missing"], row["late"], row["total"]) == (2, 0, 1, 1.25)
    totals, as_if = router.history.totals, twin.history.totals
    assert (totals.told, totals.late, totals.missing, totals.cost) == (2, 1, 0, as_if.cost)
    assert totals.arms == as_if.arms
    assert router.probabilities == pytest.approx(twin.probabilities, rel=1e-12)
    assert router.history.log.select("loss", "status").rows() == [(0.5, "told"), (0.75, "late")]
    router.change(remember=0)
    play(router, 4)
    forgotten = router.history.log.head(2).select("loss", "status", "single").rows()
    assert forgotten == [(0.625, "told", False), (0.625, "late", False)]


def test_who_asks_for_it_has_late_losses_refused(place):
    router = place.open(policy=SWITCH, seed=1, patience=HOUR)
    first, second = router.ask(2)
    assert router.tell(first.id, 0.5, in_time=True).new
    place.clock.now += 3600
    router.settle()
    before = snapshot(router)
    for outcome in ({"loss": 0.75}, {"reward": 0.25}, {"failed": True}):
        with pytest.raises(hf.TooLate, match="block 1 was settled without it") as caught:
            router.tell(second.id, **outcome, in_time=True)
        assert caught.value.settled == place.clock.now
    assert snapshot(router) == before
    assert router.tell(first.id, 0.5, in_time=True) == (first.id, False, False)
    assert router.tell({second.id: {"failed": True}})[0].late


def test_single_losses_are_forgotten_in_time_and_totals_are_not(place):
    router = place.open(policy=SWITCH, seed=1, remember=20)
    first = router.ask()
    router.tell(first.id, 0.5)
    play(router, 300)
    assert router.tell(first.id, 0.5) == (first.id, False, True)
    with pytest.raises(hf.Forgotten, match="remembered for a while only"):
        router.tell(first.id, 0.5, in_time=True)
    with router.store.transaction(1, writing=False) as stored:
        assert stored.head.kept <= 20
        assert stored.head.forgotten > 0
    assert min(stored_asks(router)) == min(stored_asks(router, "losses")) > 40
    totals = router.history.totals
    assert totals.told == 301
    log = router.history.log
    assert len(log) == 301
    assert log["loss"].sum() == pytest.approx(totals.losses, rel=1e-12)
    assert log.filter(~log["single"])["block"].max() < log.filter(log["single"])["block"].min()


def test_a_patience_changed_counts_from_now(place):
    router = place.open(policy=SWITCH, seed=1)
    router.ask(3)
    place.clock.now += 10**6
    assert router.settle() == 0
    router.change(patience=HOUR, missing="drop", remember=7)
    assert router.settle() == 0
    place.clock.now += 3600
    assert place.open().settle() == 1
    with pytest.raises(hf.OtherSettings, match=r"patience is '3600\.0s', given '7200\.0s'"):
        place.open(patience=2 * HOUR, settings="same")
    with pytest.raises(hf.OtherSettings, match=r"missing is 'drop', given 'mean'.*router.change\(missing"):
        place.open(missing="mean", settings="same")
    assert place.open(patience=HOUR, missing="drop", remember=7).rounds == 3


def test_looking_changes_nothing(place):
    router = place.open(policy=SWITCH, seed=1, patience=HOUR)
    router.ask(2)
    place.clock.now += 10**6
    assert snapshot(router) == snapshot(router)
    assert len(router.open_decisions) == 2


@pytest.mark.parametrize("now", [math.nan, math.inf, None, "noon"])
def test_a_clock_that_gives_no_time_is_refused(place, now):
    times = [1_000_000.0]
    router = hf.open(place.store(), "chat", SWITCH, clock=lambda: times[-1], patience=timedelta(seconds=10))
    times.append(now)
    for call in (router.ask, router.settle, lambda: hf.open(place.store(), "new", SWITCH, clock=lambda: now)):
        with pytest.raises(hf.InvalidParameter, match="clock must be a finite number"):
            call()
    times.append(1_000_001.0)
    assert router.ask().asked == 1_000_001.0


@pytest.mark.parametrize("now", [1.8e12, 1.8e18])
def test_a_clock_in_milliseconds_or_nanoseconds_is_refused_at_the_opening(place, now):
    with pytest.raises(hf.InvalidParameter, match="clock must give seconds since 1970, not milliseconds or nano"):
        place.open(policy=SWITCH, clock=lambda: now)
    with pytest.raises(hf.UnknownGame):
        place.open()


@pytest.mark.slow
@pytest.mark.parametrize("missing", ["mean", "drop", 0.25])
@pytest.mark.parametrize("name", CASES)
def test_games_in_which_losses_often_do_not_come_go_on(name, missing):
    """Blocks with all their losses, with some and with none: the policy's numbers stay numbers."""
    case, choose, clock = CASES[name], random.Random(1), Clock()
    router = hf.open("memory:", "game", case.policy, seed=1, patience=HOUR, missing=missing, clock=clock)
    for _ in range(50):
        given = router.ask(5, **case.announced(router.history.totals.blocks))
        assert all(0.0 <= decision.probability <= 1.0 for decision in given)
        share = choose.choice([0.0, 0.5, 1.0])
        router.tell([(d.id, choose.random() / 4) for d in given if choose.random() < share])
        clock.now += 3601 if case.policy.waits_for_losses else choose.choice([0, 3601])
        router.settle()
    with router.store.transaction(1, writing=False) as stored:
        state = json.loads(stored.state_text())["numbers"]
    assert np.isfinite([number for value in state.values() for number in np.ravel(value)]).all()
    assert router.history.totals.missing > 0


@pytest.mark.parametrize(
    ("rounds", "seconds", "each", "waits"),
    [(50, 60.0, 1, True), (49, 60.0, 1, False), (50, 59.9, 1, False), (60, 60.0, 20, True), (59, 60.0, 20, False)],
)
def test_silence_is_given_up_after_fifty_rounds_and_a_minute(place, rounds, seconds, each, waits):
    """Of the rounds of one call three times as many; the highest loss stands in; before the first loss never."""
    router = place.open(policy=hf.Exp3(2), seed=1)
    lost = router.ask()
    for _ in range(60):
        place.clock.now += 1.0
        router.ask()
    assert router.history.totals.missing == 0
    router.tell(lost.id, 0.5)
    begun = place.clock.now
    lost = router.ask()
    while (left := rounds - (router.rounds - lost.block)) > 0:
        router.tell([(decision.id, 0.5) for decision in router.ask(min(left, each))])
    place.clock.now = begun + seconds
    frame = router.history.frame
    assert frame["settled"].is_null()[lost.block - 1]
    router.ask(each)
    found = router.history.frame.row(lost.block - 1, named=True)
    assert (found["settled"] is not None, found["missing_loss"]) == (waits, 1.0 if waits else None)


def test_rounds_of_one_call_do_not_exhaust_each_others_patience(place):
    """The first three blocks, of 2, 2 and 3 rounds, are due five rounds after the ninth."""
    router = place.open(policy=SWITCH, seed=1, patience=5)
    router.ask(9)
    router.ask(4)
    assert router.settle() == 0
    router.ask()
    assert router.settle() == 3


def test_patience_is_three_times_the_lateness():
    """In rounds and in seconds: up to which deadline, and since when a block must have waited."""
    head = Head(1, "", "", asked=1000, heard=1, lateness=100.0 / 3.0, delay=100.0)
    quick = head._replace(lateness=16.0, delay=19.9)
    for settings, head_, asked, waits, found in (
        (Settings(), head, 1, False, (900.0, 9_700.0)),
        (Settings(), head, 40, False, (880.0, 9_700.0)),
        (Settings(), head, 40, True, (1000.0, 9_700.0)),
        (Settings(), quick, 1, False, (950.0, 9_940.0)),
        (Settings(), head._replace(heard=0), 1, False, (-math.inf, -math.inf)),
        (Settings(patience=7), head, 40, False, (1000.0, math.inf)),
        (Settings(patience="7s"), head, 40, False, (10_000.0, math.inf)),
    ):
        assert overdue(settings, 10_000.0, head_, asked, waits) == pytest.approx(found)


def test_a_block_is_overdue_after_fifty_rounds_or_three_times_the_lateness(place):
    """Since its last round, where losses are waited for without limit."""
    router = place.open("chat", hf.Exp3(arms=["a", "b"]), seed=1, patience="forever")
    router.tell(router.ask().id, 0.5)
    router.ask()
    for rounds in range(1, 61):
        router.tell(router.ask().id, 0.5)
        assert router.history.totals.overdue == (rounds >= 50)
    late = router.ask()
    for _ in range(2000):
        router.ask()
    router.tell(late.id, 0.5)
    totals = router.history.totals
    assert totals.lateness == pytest.approx(2000 / 62)
    assert totals.overdue == 2001 - math.ceil(3 * totals.lateness)


def test_a_loss_that_stands_for_missing_ones_may_be_any_of_the_range(place):
    policy = hf.Exp3(2, units=(10.0, 20.0))
    for name, missing in (("least", 10.0), ("most", 20.0)):
        assert place.open(name, policy, missing=missing).rounds == 0
    for missing in (9.999, 20.001):
        with pytest.raises(hf.InvalidParameter, match="a loss from 10 to 20"):
            place.open("wrong", policy, missing=missing)


# ---- missing losses are shown everywhere: in the log, in totals, and in estimates of replay

COLUMNS = {"arm": "arm", "loss": "loss", "probability": "probability", "block": "block", "time": "time"}
ARMS = ["a", "b", "c"]
SLOW = hf.TsallisSwitch(arms=ARMS, block_lengths=lambda n: 1 + n % 3, learning_rates=lambda n: 0.02)
"""So that no arm is drawn too seldom to say anything of it."""

LOST = {
    "none": (0.0, 0.0, 0.0),
    "two fifths": (0.4, 0.4, 0.4),
    "of one arm": (0.4, 0.0, 0.0),
}


def played(place, name, lost, seed, rounds=300, at_once=1, **options):
    """A game in which some losses never come, and what each arm would have cost in it."""
    chance = np.random.default_rng(seed)
    losses = (chance.random((rounds, 3)) < (0.2, 0.4, 0.3)).astype(float)
    gone = chance.random((rounds, 3)) < lost
    router = place.open(name, SLOW, seed=seed, **options)
    for first in range(0, rounds, at_once):
        told = []
        for t, decision in enumerate(router.ask(at_once), first):
            arm = ARMS.index(decision.arm)
            if not gone[t, arm]:
                told.append((decision.id, losses[t, arm]))
        router.tell(told)
    return router, np.where(gone, 1.0, losses).sum(axis=0)


GAMES = 110


@pytest.mark.slow
@pytest.mark.parametrize("lost", LOST)
def test_the_log_estimates_what_arms_cost_though_losses_are_missing(lost):
    """95 % intervals, of one arm in each game so that they are independent, hold the truth in 90 % at least.

    They are those of a large sample; these have 200 rounds.
    """
    place, held = Place("memory", store_at("memory:")), 0
    for seed in range(GAMES):
        router, truth = played(place, f"game {seed}", LOST[lost], seed, 200, at_once=20, patience=60, missing=1.0)
        router.ask(80)  # of these no loss comes
        router.settle()
        (log, _), arm = read_log(router.history.log, COLUMNS), seed % 3
        assert 200 <= log.rounds <= 280
        found = log.of_arm(arm).doubly_robust
        held += found.low <= truth[arm] + log.rounds - 200 <= found.high
    assert_at_least(held, GAMES, 0.9, sees=0.3)


def test_an_arm_that_times_out_is_shown_with_what_counted(place):
    router, _ = played(place, "game", LOST["of one arm"], 1, rounds=300, patience=5, missing=1.0)
    router.ask(10)
    router.settle()
    totals, log = router.history.totals, router.history.log
    arm = totals.arms[0]
    assert arm.missing > 0
    assert arm.mean == (arm.losses + arm.missing) / (arm.told + arm.missing) > 0.3
    assert totals.missing == sum(one.missing for one in totals.arms)
    assert totals.missing_losses == totals.missing
    assert totals.cost == totals.losses + totals.missing_losses + totals.switching
    assert len(log) == totals.rounds
    assert log["loss"].sum() == pytest.approx(totals.losses + totals.missing_losses)
    counts = dict(log["status"].value_counts().rows())
    assert (counts["told"], counts["missing"], counts["open"]) == (totals.told, totals.missing, totals.out)
    router.change(remember=0)
    for _ in range(9):
        router.tell(router.ask().id, 0.5)
    totals, forgotten = router.history.totals, router.history.log
    assert not forgotten["single"].all()
    counts = dict(forgotten["status"].value_counts().rows())
    assert (counts["told"], counts["missing"]) == (totals.told, totals.missing)
    assert forgotten["loss"].sum() == pytest.approx(totals.losses + totals.missing_losses)


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_log_whose_missing_rounds_are_unknown_is_refused(place, folder, suffix):
    router, _ = played(place, "game", LOST["two fifths"], 1, rounds=300, patience=5, missing="drop")
    router.ask(10)
    router.settle()
    file = folder / f"log.{suffix}"
    router.history.export(file)
    with pytest.raises(hf.InvalidParameter, match=r"must say what \d+ missing losses count as: .*give missing=LOSS"):
        read_log(file, COLUMNS)
    assert 300 <= read_log(file, COLUMNS, missing=1.0)[0].rounds <= 310
    open_game, _ = played(place, "open", LOST["two fifths"], 1, rounds=300, patience="forever")
    with pytest.raises(hf.InvalidParameter, match="come after one that is still open"):
        read_log(open_game.history.log, COLUMNS)


def test_the_log_of_a_game_with_outages_and_pins_is_one_that_replay_reads(place):
    router = place.open("game", SLOW, seed=1)
    for t in range(300):
        if t == 100:
            router.pin("c")
        elif t == 120:
            router.unpin()
        decision = router.ask(available=["b", "c"] if t % 10 < 3 else None)
        router.tell(decision.id, ARMS.index(decision.arm) / 2)
    log, _ = read_log(router.history.log, COLUMNS)
    assert log.rounds == 280
    found = log.of_arm("b").doubly_robust
    assert found.low <= 140 <= found.high
