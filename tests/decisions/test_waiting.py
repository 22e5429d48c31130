"""Losses that come late or never: patience, what stands for them, clocks that jump."""

import json
import math
import random
from datetime import timedelta

import numpy as np
import pytest
from every_policy import CASES
from games import SWITCH, play, snapshot, stored_asks
from places import Clock

import holdfast as hf

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
