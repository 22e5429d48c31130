"""Numbers that the page shows of a game, computed without a server."""

import math
from collections import Counter
from datetime import timedelta

import numpy as np
import pytest
from scipy import stats

import holdfast as hf
from holdfast.service.messages import ChangeView
from holdfast.service.pages import _arms, _changed
from holdfast.service.views import DAY, Course, dashboard, game_line

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


def test_an_interval_stays_within_the_range_and_an_arm_without_losses_has_no_mean(clock):
    router = hf.open("memory:", "few", hf.Exp3(arms=["a", "b", "c"]), seed=1, clock=clock, patience=1)
    told: Counter[int | str] = Counter()
    for t in range(40):
        decision = router.ask()
        if decision.arm != "c" and told[decision.arm] < 2:
            told[decision.arm] += 1
            router.tell(decision.id, t % 2)
    board = router.executor.read(lambda transaction, setup: dashboard(Course(), transaction, setup, clock()))
    rows = {arm.arm: (arm, interval) for arm, interval in zip(board.totals.arms, board.intervals, strict=True)}
    silent, interval = rows["c"]
    assert silent.rounds > 0
    assert interval is None
    for arm in "ab":
        totals, interval = rows[arm]
        assert interval is not None
        assert 0.0 <= interval[0] <= totals.mean <= interval[1] <= 1.0
    assert (0.0, 1.0) in [rows[arm][1] for arm in "ab"]
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
