"""Numbers that the page shows of a game, computed without a server."""

import math
import re
from collections import Counter
from datetime import timedelta
from types import SimpleNamespace as Row

import numpy as np
import pytest
from places import Clock
from scipy import stats

import holdfast as hf
from holdfast.service import game_page
from holdfast.service.game_page import _about_cost, _arms, _lanes, _lateness, _settings
from holdfast.service.messages import ChangeView
from holdfast.service.pages import _changed
from holdfast.service.views import (
    DAY,
    Course,
    Heard,
    _warnings,
    dashboard,
    game_line,
    game_view,
    hold,
    recent_of,
    standing,
    warnings_of,
)

NOON = 20_000 * DAY + DAY / 2


@pytest.fixture
def clock() -> Clock:
    found = Clock()
    found.now = NOON
    return found


def line(router, clock):
    return router.executor.read(lambda transaction, setup: game_line(transaction, setup, clock()))


def board_of(router, clock):
    return router.executor.read(lambda transaction, setup: dashboard(Course(), transaction, setup, clock()))


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
    board = board_of(router, clock)
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
    for kind, detail, words in (
        ("restore", {"copy": "c.db", "kept": "k.db"}, "restored from c.db; what was there is in k.db"),
        ("clock", {"clock": [NOON, NOON + 60]}, "clock: 2024-10-04 12:00:00 → 2024-10-04 12:01:00"),
        ("pause", {"arm": "a", "until": NOON}, "pause a until 2024-10-04 12:00:00 UTC"),
        ("unpin", {"arm": None, "until": None}, "unpin"),
    ):
        assert _changed(ChangeView(at=NOON, kind=kind, detail=detail, reason=None)) == words


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ({}, "Dashed: each arm's mean loss so far, as if it had been held all along."),
        ({"known_from": 0}, "Dashed: each arm, had it been held. Dotted: the best plan in hindsight."),
        ({"known_from": 40}, "Dotted: the best plan in hindsight from round 41 on."),
        ({"whole": False}, "Earlier rounds than 501 are being added up."),
        ({"bound": [9.0, 9.9]}, "Proved bound: the best arm's cost and what the policy costs more at most, on average"),
        ({"bound": [9.0, 99.0]}, "Proved bound, now 99.00 and far above: the best arm's cost"),
        ({"rule": [1.0, 2.0]}, "Dash-dotted: your rule, by the mean of the blocks that it was given."),
    ],
)
def test_what_the_lines_of_costs_are(lines, words):
    usual = {"known_from": None, "whole": True, "rule": None, "bound": None, "proved": "Theorem 1"}
    found = Row(**{**usual, "rounds": [501, 900], "cost": [5.0, 9.0], "fixed": [[5.0, 9.0]], **lines})
    assert words in _about_cost(Row(names=["a", "b"]), found).replace("&#x27;", "'")


def test_the_interval_of_a_mean_is_that_of_a_ratio_of_block_totals(clock):
    """Two blocks of one arm lost 0.2 and 0.3, 0.9 and 0.4 in their rounds."""
    policy = hf.TsallisSwitch(arms=["a"], block_lengths=lambda n: 2, learning_rates=lambda n: 0.1)
    router = hf.open("memory:", "two blocks", policy, seed=1, clock=clock)
    for losses in ((0.2, 0.3), (0.9, 0.4)):
        router.tell([(d.id, loss) for d, loss in zip(router.ask(2), losses, strict=True)])
    board = board_of(router, clock)
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
    lines = board_of(router, clock).lines
    assert lines.held.sum() == 13
    assert lines.rounds[-1] == 13


@pytest.fixture
def long_blocks(clock):
    """A game of blocks of ten rounds."""
    policy = hf.TsallisSwitch(arms=["a", "b"], block_lengths=lambda n: 10, learning_rates=lambda n: 0.1)
    return hf.open("memory:", "long", policy, seed=1, clock=clock)


def drawn_lanes(board):
    """The stretches of each arm's lane, as rounds: first, end, share; and what its label says."""
    html = _lanes(board)
    names = re.findall(r'class="name">(?:<b>)?(\w+)', html)
    for name, label, boxes in zip(
        names, re.findall(r'aria-label="([^"]*)"', html), re.findall(r"<svg.*?</svg>", html), strict=True
    ):
        rects = re.findall(r'<rect x="([^"]*)" y="0" width="([^"]*)" height="1"(?: fill-opacity="([^"]*)")?', boxes)
        yield name, label, [(float(x), float(x) + float(width), float(share or 1.0)) for x, width, share in rects]


def test_lanes_are_where_arms_were_held(long_blocks, clock, monkeypatch):
    """And paler, where one column has blocks of several arms."""
    arms = [decision.arm for decision in long_blocks.ask(85)]
    assert len(set(arms)) == 2
    for name, label, stretches in drawn_lanes(board_of(long_blocks, clock)):
        held = np.zeros(85, dtype=bool)
        for first, end, share in stretches:
            held[int(first) : int(end)] = share == 1.0
        assert held.tolist() == [arm == name for arm in arms]
        assert label == f"{name}: held in {arms.count(name) / 85:.0%} of the rounds shown"
    monkeypatch.setattr(game_page, "LANES", 2)
    for name, _, stretches in drawn_lanes(board_of(long_blocks, clock)):
        assert stretches == [
            (first, end, round(arms[first:end].count(name) / (end - first), 1)) for first, end in ((0, 50), (50, 85))
        ]


def test_the_list_says_since_when_the_arm_is_held(clock):
    """Since the first block of it in a row."""
    router = hf.open("memory:", "since", hf.Exp3(arms=["a", "b"]), seed=1, clock=clock)
    held = []
    while not (len(held) > 9 and held[-1][0] == held[-2][0] != held[-4][0]):
        clock.now += 10.0
        held.append((router.ask().arm, clock.now))
    last = next(n for n, (arm, _) in enumerate(reversed(held)) if arm != held[-1][0])
    assert line(router, clock).since == held[-last][1] < clock.now


def test_how_late_losses_come():
    waits = sorted([0.05] * 3 + [0.1, 0.5] + [5.0] * 6 + [30.0] * 6 + [700.0] * 2 + [90_000.0])
    text = _lateness(waits)
    assert "Of the last 20 losses, half came within 5 s, nine of ten within 11.7 min, the latest after 1.04 d." in text
    rows = re.findall(r"<span>([^<]*)</span>.*?width=\"([^\"]*)\".*?<span class=\"number\">(\d+)</span>", text)
    counts = {"below 0.1 s": 3, "0.1 to 1 s": 2, "1 to 10 s": 6, "10 to 60 s": 6, "10 to 60 min": 2, "more": 1}
    assert rows == [(label, f"{count / 20:.4f}", str(count)) for label, count in counts.items()]
    assert _lateness([2.0]).count("1 loss, half came within 2 s, nine of ten within 2 s, the latest after 2 s.") == 1


@pytest.mark.parametrize(
    ("patience", "words"),
    [
        (40, "waits 40 rounds"),
        (1, "waits 1 round"),
        ("auto", "waits as long as losses are usually late"),
        ("forever", "waits forever for losses"),
        ("90.0s", "waits 1.5 min"),
        ("7200.0s", "waits 2 h"),
        ("259200.0s", "waits 3 d"),
        ("0.25s", "waits 0.25 s"),
        ("0.05s", "waits 50 ms"),
    ],
)
def test_the_settings_of_a_game_in_words(patience, words):
    view = Row(policy={"switching_cost": 0.5}, patience=patience, label="exp3", created=NOON)
    assert _settings(view) == f"exp3, λ = 0.5, {words}, begun 2024-10-04"
    assert _settings(Row(**{**vars(view), "policy": {}})) == f"exp3, {words}, begun 2024-10-04"


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
    board = board_of(long_blocks, clock)
    assert board.waits == sorted(waits)
    assert line(long_blocks, clock).last_loss == clock.now
    seen = long_blocks.executor.read(lambda transaction, setup: transaction.head.clock)
    clock.now = seen - 50.0  # that of a machine that is behind: the game's own counts
    assert board_of(long_blocks, clock).now == seen


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


def test_nothing_is_held_before_the_first_decision_and_an_event_says_what_is(clock):
    router = hf.open("memory:", "fresh", hf.Exp3(arms=["a", "b"]), seed=1, clock=clock)

    def now(show):
        return router.executor.read(lambda transaction, setup: show(transaction, setup, clock()))

    for asked, conversations in ((None, 0), ("x", 1), ("y", 2)):
        decision = router.ask(key=asked) if asked else None
        held, event = now(hold), now(standing)
        assert held.conversations == conversations
        assert (held.arm, held.probability) == (None, None if decision is None else held.probability)
        same = ("arm", "hold", "block", "conversations", "why")
        assert {name: event[name] for name in same} == {name: getattr(held, name) for name in same}
    decision = router.ask()
    held = now(hold)
    assert (held.arm, held.probability, held.conversations) == (decision.arm, decision.probability, 2)


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


def seen(name="a", age=None, **others):
    return Row(**{"arm": name, "retired": False, "told": 0, "losses": 0.0, "last_used": age and NOON - age, **others})


@pytest.mark.parametrize(
    ("arms", "others", "said"),
    [
        ([seen(age=DAY)], {}, []),
        ([seen(age=DAY + 9000)], {}, ["a was not played for 1.1 days"]),
        ([seen()], {}, ["a was not played ever"]),
        ([seen()], {"rounds": 999}, []),
        ([seen()], {"conversations": 1}, []),
        ([seen(retired=True), seen("b", 60.0)], {}, []),
        (
            [seen("a", 2 * DAY), seen("b", 4 * DAY), seen("c", 3 * DAY)],
            {},
            ["3 arms were not played for a day or longer, b not for 4 days"],
        ),
        ([seen("a", 2 * DAY), seen("b")], {}, ["2 arms were not played for a day or longer, b not ever"]),
        ([seen("a", 2 * DAY), seen("b", 4 * DAY)], {"paused": [(1, NOON + 1)]}, ["a was not played for 2 days"]),
        ([seen("a", 2 * DAY)], {"paused": [(0, NOON)]}, ["a was not played for 2 days"]),  # a pause that is over
    ],
)
def test_an_arm_that_was_not_played_for_more_than_a_day_is_named(arms, others, said):
    setup = Row(bounds=(0.0, 1.0), paused=others.pop("paused", ()))
    assert warnings_of(setup, Row(**{"arms": arms, "rounds": 1000, "conversations": 0, **others}), [], NOON) == said


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
