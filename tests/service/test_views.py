"""Numbers that the page shows of a game, computed without a server."""

import math
from collections import Counter
from datetime import timedelta
from types import SimpleNamespace as Row

import numpy as np
import pytest
from scipy import stats

import holdfast as hf
from holdfast.service.arms import Heard, recent_of, warnings_of
from holdfast.service.game_page import _arms
from holdfast.service.messages import ChangeView
from holdfast.service.pages import _changed
from holdfast.service.views import DAY, Course, _warnings, dashboard, game_line, game_view, hold

NOON = 20_000 * DAY + DAY / 2


class Clock:
    now = NOON

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def line(router, clock):
    return router.executor.read(lambda transaction, setup: game_line(transaction, setup, clock()))


def test_the_cost_of_today_counts_what_the_whole_cost_counts(clock):
    policy = hf.TsallisSwitch(arms=["a", "b", "c"], switching_cost=0.3)
    router = hf.open("memory:", "today", policy, seed=1, clock=clock, patience=5, missing=0.75)
    for t in range(60):
        decisions = router.ask(available=["c"] if t % 20 == 7 else None, n=1)
        if t % 3:
            router.tell(decisions[0].id, 0.5)
        if t % 5 == 0:
            talk = router.ask(key=f"visitor {t}")
            router.tell(talk.id, 0.25)
    assert router.history.totals.missing_losses > 0
    assert line(router, clock).today == pytest.approx(router.history.totals.cost)
    clock.now += DAY
    while router.hold:
        router.ask()
    assert line(router, clock).today == 0
    for _ in range(30):
        router.ask()
    assert 5.0 < line(router, clock).today < router.history.totals.cost


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (10.0, 20.0)])
def test_an_interval_stays_within_the_range_and_an_arm_without_losses_has_no_mean(low, high, clock):
    policy = hf.Exp3(arms=["a", "b", "c"], units=(low, high))
    router = hf.open("memory:", "few", policy, seed=1, clock=clock, patience=1)
    told: Counter[int | str] = Counter()
    for t in range(40):
        decision = router.ask()
        if decision.arm != "c" and told[decision.arm] < 2:
            told[decision.arm] += 1
            router.tell(decision.id, (low, high)[t % 2])
    board = router.executor.read(lambda transaction, setup: dashboard(Course(), transaction, setup, clock()))
    rows = {arm.arm: (arm, interval) for arm, interval in zip(board.totals.arms, board.intervals, strict=True)}
    silent, interval = rows["c"]
    assert silent.rounds > 0
    assert interval is None
    for arm in "ab":
        totals, interval = rows[arm]
        assert interval is not None
        assert low <= interval[0] <= totals.mean <= interval[1] <= high
    assert (low, high) in [rows[arm][1] for arm in "ab"]
    text = _arms(board)
    assert text.count('data-label="mean loss (95 %)"><span>–</span>') == 1  # that of c, though others stand for it


def test_changes_have_the_names_that_users_give(clock):
    router = hf.open("memory:", "changed", hf.Exp3(arms=["a", "b"]), seed=1, clock=clock)
    for changes in ({"patience": timedelta(hours=1)}, {"patience": 50, "key_life": timedelta(minutes=5)}):
        router.change(**changes)
    router.change(patience="forever", missing=1.0)
    found = [change["detail"] for change in router.history.changes]
    assert found[0] == {"patience": ["auto", "3600.0s"]}
    shown = [_changed(ChangeView(**change)) for change in router.history.changes]
    assert shown == [
        "patience: auto → 1 h",
        "patience: 1 h → 50 rounds; key_life: 1 h → 5 min",
        "patience: 50 rounds → forever; missing: highest → 1.0",
    ]


def test_the_interval_of_a_mean_is_that_of_a_ratio_of_block_totals(clock):
    """Two blocks of one arm lost 0.2 and 0.3, 0.9 and 0.4 in their rounds."""
    policy = hf.TsallisSwitch(arms=["a"], block_lengths=lambda n: 2, learning_rates=lambda n: 0.1)
    router = hf.open("memory:", "two blocks", policy, seed=1, clock=clock)
    for losses in ((0.2, 0.3), (0.9, 0.4)):
        router.tell([(d.id, loss) for d, loss in zip(router.ask(2), losses, strict=True)])
    board = router.executor.read(lambda transaction, setup: dashboard(Course(), transaction, setup, clock()))
    totals, mean = np.array([0.5, 1.3]), 1.8 / 4
    deviation = math.sqrt((((totals - 2 * mean) ** 2).sum() / (2 - 1)) * 2) / 4
    half = stats.t.ppf(0.975, 1) * deviation
    assert half > 0.4
    (interval,) = board.intervals
    assert interval == pytest.approx((max(mean - half, 0.0), min(mean + half, 1.0)))


def test_rounds_that_were_not_handed_out_are_not_shown_as_held(clock):
    policy = hf.TsallisSwitch(arms=["a", "b"], block_lengths=lambda n: 10, learning_rates=lambda n: 0.1)
    router = hf.open("memory:", "held", policy, seed=1, clock=clock)
    router.ask(13)
    lines = router.executor.read(lambda transaction, setup: dashboard(Course(), transaction, setup, clock())).lines
    assert lines.held.sum() == 13
    assert lines.rounds[-1] == 13


@pytest.fixture
def long_blocks(clock):
    """A game of blocks of ten rounds."""
    policy = hf.TsallisSwitch(arms=["a", "b"], block_lengths=lambda n: 10, learning_rates=lambda n: 0.1)
    return hf.open("memory:", "long", policy, seed=1, clock=clock)


def test_waits_and_the_last_loss_are_by_the_clock_not_by_the_order_of_blocks(long_blocks, clock):
    """A loss waits since its own ask, which need not be the first of its block."""
    asked = {}
    for _ in range(4):
        asked |= dict.fromkeys(long_blocks.ask(4), clock.now)
        clock.now += 100.0
    first, second, *_, last = asked
    waits = []
    for decision in (last, second, first):
        clock.now += 7.0
        long_blocks.tell(decision.id, 0.5)
        waits.append(clock.now - asked[decision])
    board = long_blocks.executor.read(lambda transaction, setup: dashboard(Course(), transaction, setup, clock()))
    assert board.waits == sorted(waits)
    assert line(long_blocks, clock).last_loss == clock.now


def test_what_is_held_is_what_is_left_of_the_block_and_the_arm_handed_out_last(long_blocks, clock):
    drawn = long_blocks.ask(3)[0].arm
    (other,) = {"a", "b"} - {drawn}
    assert long_blocks.ask(1, available=[other])[0].arm == other
    view, now = (
        long_blocks.executor.read(lambda transaction, setup, show=show: show(transaction, setup, clock()))
        for show in (game_view, hold)
    )
    assert (view.hold, now.hold, now.block, view.arm, now.arm) == (6, 6, 1, drawn, drawn)
    assert {arm.arm: arm.held for arm in line(long_blocks, clock).arms} == {drawn: False, other: True}


def warned(now=0.0, losses=(), last=None, **counts):
    played = [Row(arm="a", rounds=9, retired=False), Row(arm="b", rounds=9, retired=False)]
    usual = {"rounds": 10, "told": 5, "missing": 0, "out": 0, "arms": played}
    return [words.split(",")[0] for words in _warnings(now, Row(**{**usual, **counts}), list(losses), last)]


ONE = [Row(arm="a", rounds=9, retired=False), Row(arm="b", rounds=0, retired=False)]


@pytest.mark.parametrize(
    ("beyond", "within", "words"),
    [
        ({"out": 1, "now": 3600.1}, {"out": 1, "now": 3600.0}, "no losses for more than an hour"),
        ({"out": 1, "now": 9000.0, "last": 5399.0}, {"out": 0, "now": 9000.0}, "no losses for more than an hour"),
        ({"rounds": 20, "told": 0}, {"rounds": 19, "told": 0}, "no loss was ever reported"),
        ({"losses": [0.5] * 20}, {"losses": [0.5] * 19}, "the last 20 losses are all 0.5"),
        ({"losses": [0.5] * 21}, {"losses": [0.5] * 20 + [0.6]}, "the last 21 losses are all 0.5"),
        ({"told": 79, "missing": 20}, {"told": 80, "missing": 20}, "20% of the losses did not come in time"),
        ({"rounds": 200, "arms": ONE}, {"rounds": 199, "arms": ONE}, "only a was ever played"),
        ({"out": 10_001}, {"out": 10_000}, "10"),
    ],
)
def test_a_warning_is_given_just_beyond_its_threshold(beyond, within, words):
    assert warned(**beyond) == [words]
    assert warned(**within) == []


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (10.0, 20.0), (-1.0, 0.0)])
@pytest.mark.parametrize(("usual", "lately"), [(0.5, 50), (0.5, 10), (0.01, 50)])
def test_an_arm_is_worse_beyond_three_deviations_and_a_tenth_of_the_range(low, high, usual, lately):
    """The deviations are the largest that a mean of so many losses in the range can have."""
    width, before = high - low, 40
    limit = max(3 * math.sqrt(usual * (1 - usual) / lately), 0.1)
    setup = Row(bounds=(low, high), paused=())
    for step, many, expected in ((1e-6, lately, 1), (-1e-6, lately, 0), (1e-6, 9, 0)):
        loss = low + width * (usual + limit + step)
        heard = [Heard(0, loss, NOON - 60.0, {})] * many + [Heard(0, loss, NOON - DAY - 1, {})] * 30
        sums = math.fsum([loss] * many) + before * (low + width * usual)
        arm = Row(arm="a", retired=False, told=many + before, losses=sums, last_used=NOON)
        totals = Row(arms=[arm], rounds=5000, conversations=0)
        assert len(warnings_of(setup, totals, heard, NOON)) == expected
        few = Row(arms=[Row(**{**vars(arm), "told": many + 9})], rounds=5000, conversations=0)
        assert warnings_of(setup, few, heard, NOON) == []


def test_an_arm_that_was_not_played_for_more_than_a_day_is_named():
    def said(age, **others):
        arm = Row(arm="a", retired=False, told=0, losses=0.0, last_used=None if age is None else NOON - age)
        totals = Row(**{"arms": [arm], "rounds": 1000, "conversations": 0, **others})
        return warnings_of(Row(bounds=(0.0, 1.0), paused=()), totals, [], NOON)

    assert (said(DAY), said(DAY + 9000), said(None)) == (
        [],
        ["a was not played for 1.1 days"],
        ["a was not played ever"],
    )
    assert said(None, rounds=999) == said(None, conversations=1) == []


def test_what_an_arm_lost_lately_is_by_the_hour_the_day_and_the_last_thousand():
    draw = np.random.default_rng(1)
    heard = [
        Heard(int(arm), loss, NOON - age, {"latency": loss, "failed": loss > 0.9})
        for arm, loss, age in zip(draw.integers(0, 2, 1500), draw.random(1500), 60.0 * np.arange(1500), strict=True)
    ]
    heard[60] = heard[60]._replace(at=NOON - 3600.0)  # an hour ago, to the second: no more
    for arm, found in enumerate(recent_of(heard, 2, NOON)):
        mine = [one for one in heard if one.arm == arm]
        latest = [one for one in heard[:1000] if one.arm == arm]
        for mean, some in (
            (found.hour, [one for one in mine if NOON - one.at < 3600.0]),
            (found.day, [one for one in mine if NOON - one.at < DAY]),
            (found.latest, latest),
        ):
            assert (mean.n, mean.value) == (len(some), pytest.approx(np.mean([one.loss for one in some])))
        assert found.failures == sum(one.loss > 0.9 for one in latest)
        assert found.measures == {"latency": pytest.approx(np.mean([one.loss for one in latest]))}
