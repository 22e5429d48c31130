"""The lines of a game's page, against sums over its blocks one by one."""

import math
from dataclasses import replace
from datetime import timedelta
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from places import Clock, fresh_schema
from postgres_server import PrivateServer, binaries

import holdfast as hf
from holdfast.decisions.game import players_of
from holdfast.experts import FixedArm
from holdfast.service import views as course
from holdfast.service.views import Course, dashboard

ARMS = ["a", "b", "c"]


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture(scope="module")
def database():
    if binaries() is None:
        pytest.skip("no PostgreSQL here: apt-get install postgresql")
    with PrivateServer() as server:
        yield server


@pytest.fixture
def start(request, folder, clock):
    on_server = getattr(request, "param", "sqlite") == "postgresql"
    url = fresh_schema(request.getfixturevalue("database")) if on_server else f"sqlite:///{folder}/games.db"
    return partial(hf.open, url, "game", seed=3, clock=clock)


STORES = pytest.mark.parametrize("start", ["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)], indirect=True)


@pytest.fixture(autouse=True)
def time_enough(monkeypatch):
    """A look reads all that is new, on a busy machine too."""
    monkeypatch.setattr(course, "SECONDS", math.inf)


@pytest.fixture
def few_points(monkeypatch):
    monkeypatch.setattr(course, "POINTS", 16)
    monkeypatch.setattr(course, "ROWS", 8)


def lines_of(router, known=None):
    return router.executor.read(partial(dashboard, known or Course(), now=0.0)).lines


def loss_of(t, arm):
    return ((7 * t + 3 * ARMS.index(arm)) % 10) / 10


def play(router, clock, rounds, lost=0.0, chance=None, **options):
    """Asks of one to five rounds; some losses never come."""
    chance = chance or np.random.default_rng(1)
    for t in range(rounds):
        clock.now += 1.0
        for decision in router.ask(int(chance.integers(1, 6)), **options):
            if chance.random() >= lost:
                router.tell(decision.id, loss_of(t, decision.arm))


def slow_lines(router, every):
    """After every so many blocks: rounds, cost without switches, and for each arm rounds, losses known, their sum."""
    setup, rows = router.executor.setup, []
    rounds, cost, arms = 0, [], [[0, 0, []] for _ in ARMS]
    head = router.executor.read(lambda transaction, _: transaction.head)
    blocks = list(router.history.blocks())
    for block in blocks:
        handed = head.handed if block.number == head.current else block.rounds
        open_now = block.settled_order is None
        missing = 0 if open_now or block.stand_in is None else block.rounds - block.told
        losses = [*block.losses, missing * (block.stand_in or 0.0)]
        rounds += handed
        cost += losses
        arms[block.arm][0] += handed
        if not block.played:
            arms[block.arm][1] += block.told + missing
            arms[block.arm][2] += losses
        if block.number % every == 0 or block is blocks[-1]:
            rows.append((rounds, math.fsum(cost), [(n, known, math.fsum(found)) for n, known, found in arms]))
    assert setup.names == tuple(ARMS)
    return rows


@STORES
@pytest.mark.parametrize("lost", [0.0, 0.3])
def test_the_lines_are_those_of_the_blocks_one_by_one(start, clock, few_points, lost):
    router = start(hf.TsallisSwitch(arms=ARMS, switching_cost=0.0), patience=timedelta(seconds=20))
    known = Course()
    for part in range(4):
        play(router, clock, 30, lost, np.random.default_rng(part))
        router.ask(2)
        if part == 2:
            router.pause("a")
        lines = lines_of(router, known)
        slow = slow_lines(router, lines.every)
        assert lines.whole
        assert lines.every > 1
        assert lines.rounds == [row[0] for row in slow]
        assert lines.cost == pytest.approx([row[1] for row in slow])
        for i, (rounds, _, arms) in enumerate(slow):
            for arm, (_, told, found) in enumerate(arms):
                expected = found / told * rounds if told else None
                assert lines.fixed[arm][i] == (None if expected is None else pytest.approx(expected))
        assert np.cumsum(lines.held, axis=0).tolist() == [[n for n, _, _ in arms] for _, _, arms in slow]
        totals = router.history.totals
        assert lines.rounds[-1] == totals.rounds
        assert lines.cost[-1] == pytest.approx(totals.cost)
        fresh = lines_of(router)
        assert (fresh.rounds, fresh.cost, fresh.fixed) == (
            lines.rounds, pytest.approx(lines.cost), [pytest.approx(line) for line in lines.fixed]
        )  # fmt: skip


def test_a_long_game_is_read_from_its_end(start, clock, few_points, monkeypatch):
    router = start(hf.TsallisSwitch(arms=ARMS, switching_cost=0.2), patience=9, missing=0.75)
    play(router, clock, 120, lost=0.2)
    assert router.history.totals.missing > 9
    whole = lines_of(router)
    assert whole.cost[-1] == pytest.approx(router.history.totals.cost)
    monkeypatch.setattr(course, "SECONDS", -1.0)
    slow, looks = Course(), 0
    while not (lines := lines_of(router, slow)).whole:
        n = len(lines.rounds)
        assert lines.rounds == whole.rounds[-n:]
        assert lines.cost == pytest.approx(whole.cost[-n:])
        assert [one[-n:] for one in lines.fixed] == [pytest.approx(one[-n:]) for one in whole.fixed]
        looks += 1
    assert looks > 2
    assert lines.cost == pytest.approx(whole.cost)
    removed = router.history.compact(10)
    assert removed > 20
    after = lines_of(router)  # which finds fewer rows
    n = len(after.rounds)
    assert (after.rounds[-1], after.cost[-1]) == (whole.rounds[-1], pytest.approx(whole.cost[-1]))
    assert lines_of(router, slow).cost == pytest.approx(whole.cost)


def test_a_stretch_is_read_again_until_it_is_full(start, clock, few_points):
    """Though no loss is waited for."""
    router, known = start(hf.Exp3(arms=ARMS)), Course()  # a block for each round
    play(router, clock, 60)
    every = lines_of(router, known).every
    for _ in range(every):
        router.tell([(decision.id, 0.7) for decision in router.ask(3)])
        lines, fresh = lines_of(router, known), lines_of(router)
        assert (lines.rounds, lines.cost) == (fresh.rounds, pytest.approx(fresh.cost))


def test_a_game_is_only_read_once(start, clock, few_points, monkeypatch):
    """Twenty looks at a game that stands still read its last stretch again, which is not full, and no other."""
    router, known, asked = start(hf.Exp3(arms=ARMS)), Course(), []
    play(router, clock, 60)
    while router.history.totals.blocks % lines_of(router, known).every == 0:
        play(router, clock, 1)
    read = known._read

    def counting(transaction, setup, stretches):
        fetch = transaction.fetch

        def counted(sql, *values):
            asked.append(values)
            return fetch(sql, *values)

        with monkeypatch.context() as patched:
            patched.setattr(transaction, "fetch", counted)
            read(transaction, setup, stretches)

    monkeypatch.setattr(known, "_read", counting)
    for _ in range(20):
        lines_of(router, known)
    assert len(asked) == 20
    assert len(set(asked)) == 1


@STORES
@pytest.mark.parametrize("share", [0.4, 1.0])
def test_the_rule_costs_what_its_blocks_cost(start, clock, share):
    router = start(hf.TsallisSwitch(arms=ARMS, switching_cost=0.5), holdback=share)
    chance = np.random.default_rng(5)
    for t in range(150):
        clock.now += 1.0
        wanted = ARMS[t // 4 % 3]
        decision = router.ask(rule=wanted, available=[arm for arm in ARMS if arm != wanted] if t % 4 == 2 else None)
        if chance.random() < 0.9:
            router.tell(decision.id, loss_of(t, decision.arm))
    told, cost, ratios, moved = 0, [], [], 0
    for block in router.history.blocks():
        if block.forced == 2:
            by = [arm for arm, _ in players_of(block, block.rounds)]
            told += block.told + (0 if block.stand_in is None else block.rounds - block.told)
            switches = sum(one != other for one, other in pairwise(by))
            cost += [*block.losses, (block.rounds - block.told) * (block.stand_in or 0.0), 0.5 * switches]
            moved += switches
        ratios.append(math.fsum(cost) / told if told else None)
    lines = lines_of(router)
    assert told > 20
    assert moved > 5 or share == 1.0  # a shadow plays what it is told
    assert lines.every == 1
    assert lines.rule == [
        None if ratio is None else pytest.approx(ratio * rounds)
        for ratio, rounds in zip(ratios, lines.rounds, strict=True)
    ]
    assert lines.bound is None


@pytest.mark.parametrize("units", [(0.0, 1.0), (-10.0, 30.0)])
def test_the_bound_of_a_policy_is_that_of_its_theorem(start, clock, units):
    low, width = units[0], units[1] - units[0]
    policy = hf.TsallisSwitch(arms=ARMS, switching_cost=0.3 * width, units=units)
    router = start(policy, patience="forever")
    for t in range(100):
        decision = router.ask()
        router.tell(decision.id, low + width * loss_of(t, decision.arm))
    lines = lines_of(router)
    assert lines.proved == "Theorem 1"
    for i in (0, len(lines.rounds) - 1):
        best = min(line[i] for line in lines.fixed if line[i] is not None)
        excess = width * hf.bounds.theorem_1(n_arms=3, switching_cost=0.3, horizon=lines.rounds[i])
        assert lines.bound[i] == pytest.approx(best + excess)
    router.change(switching_cost=0.4 * width)
    assert lines_of(router).bound is None  # it is about games whose λ stays


@pytest.mark.parametrize(
    ("policy", "options", "bounded"),
    [
        (hf.TsallisSwitch, {"patience": "forever"}, True),
        (hf.TsallisSwitch, {"patience": 1}, False),  # a loss is missing
        (hf.TsallisSwitch, {"holdback": 0.2}, False),
        (hf.TsallisSwitch, {"share": {"b": 0.5}}, False),
        (hf.TsallisSwitch, {"most_switches": (50, "1d")}, False),
        (hf.Ucb1, {"patience": "forever"}, False),  # there is no theorem
    ],
)
def test_a_bound_is_drawn_where_its_theorem_holds(start, policy, options, bounded):
    router = start(policy(arms=ARMS, **({"switching_cost": 0.0} if policy is hf.TsallisSwitch else {})), **options)
    for t in range(20):
        decision = router.ask(**({"rule": "a"} if "holdback" in options else {}))
        if t != 3 or options.get("patience") != 1:
            router.tell(decision.id, 0.5)
    assert (lines_of(router).bound is not None) == bounded


def test_the_bound_of_a_mixture_is_in_its_units_and_of_the_paths_that_stay():
    policy = hf.AdaptiveHedgeSwitch(arms=ARMS, switching_cost=6.0, units=(10.0, 30.0))
    statement, excess = course.proved(policy)  # type: ignore[misc]  # there is one
    assert statement.startswith("Theorem H3 of ")
    normalised = hf.bounds.mixture_excess(len(policy.mixed), 0.3, 12.0, rounds=60)
    assert excess(60, 60 * 10.0 + 20 * 12.0) == pytest.approx(20 * normalised)
    assert course.proved(replace(policy, experts=[FixedArm(arm) for arm in range(3)])) is None


def test_where_all_losses_are_known_fixed_arms_and_the_best_plan_are_exact(start, monkeypatch):
    table = np.random.default_rng(7).random((60, 3)).round(3)
    router = start(hf.AdaptiveHedgeSwitch(arms=ARMS, switching_cost=0.3))
    for row in table.tolist():
        router.tell(router.ask().id, losses=row)
    lines = lines_of(router)
    assert lines.known_from == 0
    assert lines.plan[-1] == pytest.approx(hf.best_plan(table, 0.3).cost)
    assert [line[-1] for line in lines.fixed] == pytest.approx(table.sum(axis=0) + 0.3)
    best = min(line[-1] for line in lines.fixed)
    paths = len(router.policy.mixed)
    assert lines.bound[-1] == pytest.approx(best + hf.bounds.mixture_excess(paths, 0.3, best, rounds=60))
    assert lines.cost[-1] == pytest.approx(router.history.totals.cost)
    router.ask()
    waiting = lines_of(router)
    assert waiting.plan == [*lines.plan, None]
    monkeypatch.setattr(course, "KNOWN", 20)
    late = lines_of(router)
    assert late.known_from == 41 == late.rounds[-1] - 20
    assert late.plan[:41] == [None] * 41
    assert late.plan[-2] == pytest.approx(late.cost[40] + hf.best_plan(table[41:], 0.3).cost - 0.3)
    assert late.bound is None


def test_points_are_of_blocks_that_the_policy_drew(start):
    router = start(hf.Exp3(arms=ARMS))  # a block for each round
    router.ask()
    router.pin("b")
    router.ask(2)
    router.unpin()
    router.ask(2)
    blocks = list(router.history.blocks())
    drawn = [None if block.forced else (block.arm, block.probability) for block in blocks]
    assert lines_of(router).sample == drawn
    assert [one is None for one in drawn] == [False, *[True] * (len(blocks) - 3), False, False]


def test_rounds_that_were_only_seen_are_in_no_line(start):
    router = start(hf.AdaptiveHedgeSwitch(arms=ARMS, switching_cost=0.3))
    for row in ([0.1, 0.2, 0.3], [0.3, 0.2, 0.1]):
        router.tell(router.ask().id, losses=row)
        router.observe([0.9, 0.9, 0.9])
    lines = lines_of(router)
    assert lines.rounds[-1] == 2
    assert [line[-1] for line in lines.fixed] == pytest.approx([0.7, 0.7, 0.7])
    assert lines.bound is None  # it is about all rounds
