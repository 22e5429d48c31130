"""The interval of a comparison with a held-back rule holds at any time, under drift and delays."""

import itertools
import math
from datetime import date

import mpmath
import numpy as np
import pytest
from statistics_of_samples import SEED, assert_at_least

import holdfast as hf
from holdfast.decisions import holdout as holdback

PI = 0.1
UNKNOWN = (math.nan, -math.inf, math.inf)
DAYS, PER_DAY = 40, 150


def deployment(rng):
    """The cost of every unit by either, who got it, and on which day its cost is known.

    Levels drift, the policy becomes better as it learns, and units that cost more are known later.
    """
    n = DAYS * PER_DAY
    day = np.arange(n) / PER_DAY
    level = 0.45 + 0.25 * np.sin(2 * np.pi * (day / rng.uniform(10, 40) + rng.random()))
    by_rule = (rng.random(n) < level).astype(float)
    by_policy = (rng.random(n) < level - rng.uniform(-0.1, 0.1) * np.minimum(day / 10, 1.0)).astype(float)
    held_back = rng.random(n) < PI
    cost = np.where(held_back, by_rule, by_policy)
    known = day + rng.exponential(0.1 + 3.0 * cost)
    return by_rule, by_policy, held_back, cost, known


def looks(known):
    """Return the number of units that count on each day: all before the first whose cost is not known."""
    last = [np.flatnonzero(known[: day * PER_DAY] > day) for day in range(2, DAYS + 1)]
    counts = [
        int(open_[0]) if len(open_) else day * PER_DAY for day, open_ in zip(range(2, DAYS + 1), last, strict=True)
    ]
    return np.array([n for n in counts if n > 1], dtype=int)


def contributions(cost, held_back, sizes):
    """D_t of each unit, and how far it is from what was expected before: as the module has it."""
    means = []
    for mine in (~held_back, held_back):
        count = np.concatenate([[0.0], np.cumsum(mine * sizes)[:-1]])
        means.append((0.5 + np.concatenate([[0.0], np.cumsum(mine * sizes * cost)[:-1]])) / (1.0 + count))
    policy, rule = means
    spreads = sizes * np.where(held_back, (rule - cost) / PI, (cost - policy) / (1 - PI))
    return sizes * (policy - rule) + spreads, spreads


def path(cost, held_back, counts):
    """Estimate and V after so many units: a unit's contribution depends on earlier ones only."""
    gains, spreads = contributions(cost, held_back, np.ones(len(cost)))
    return np.cumsum(gains)[counts - 1] / counts, np.cumsum(spreads**2)[counts - 1]


def ours(cost, held_back, known):
    counts = looks(known)
    mean, V = path(cost, held_back, counts)
    half = holdback.radius(V, 1 / PI, 0.05 * (1 - holdback.OF_THE_LEVEL)) / counts
    return counts, mean - half, mean + half


def covered_on_every_day(rng, late=None):
    """Return True if the interval has the true average difference up to that unit in it on every single day."""
    by_rule, by_policy, held_back, cost, known = deployment(rng)
    if late is not None:
        known = late(held_back, cost, known)
    truth = np.cumsum(by_policy - by_rule) / np.arange(1, len(cost) + 1)
    counts, low, high = ours(cost, held_back, known)
    return bool(((low <= truth[counts - 1]) & (truth[counts - 1] <= high)).all())


def rule_late(held_back, cost, known):
    return known + 10.0 * (held_back & (cost > 0.5))


@pytest.mark.slow
@pytest.mark.parametrize(("late", "runs", "sees"), [(None, 1000, 0.07), (rule_late, 200, 0.2)])
def test_it_covers_the_truth_on_all_days_in_95_of_100_deployments(late, runs, sees):
    rng = np.random.default_rng(SEED)
    covered = sum(covered_on_every_day(rng, late) for _ in range(runs))
    assert_at_least(covered, runs, 0.95, sees=sees)


def test_the_days_above_are_what_compare_says():
    *_, held_back, cost, known = deployment(np.random.default_rng(5))
    counts, low, high = ours(cost, held_back, known)
    for day in (3, 20, 38):
        n = counts[day]
        saving = holdback.compare(cost[:n], held_back[:n], PI)
        assert (saving.units, saving.open, saving.low, saving.high) == pytest.approx((n, 0, low[day], high[day]))


# ---- units that are open


@pytest.mark.parametrize("bounds", [(0.0, 1.0), (0.3, 2.0)])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.8])
@pytest.mark.parametrize(("n", "places"), [(400, [0, 7, 8, 150, 399]), (12, [0, 1, 2, 5, 7])])
def test_the_interval_contains_what_it_will_be_whatever_the_open_costs_are(bounds, share, n, places):
    """Every corner of what five open costs can be, and points inside, with units of any size."""
    rng, (low, high) = np.random.default_rng(SEED), bounds
    cost, held, sizes = rng.uniform(low, high, n), rng.random(n) < share, rng.integers(1, 9, n).astype(float)
    seen = cost.copy()
    seen[places] = np.nan
    options = {"weights": sizes, "bounds": bounds}
    found = holdback.compare(seen, held, share, **options)
    assert (found.units, found.open) == (n, 5)
    widest = math.inf, -math.inf
    for code in range(32 + 20):
        ends = [high if code >> place & 1 else low for place in range(5)]
        cost[places] = ends if code < 32 else rng.uniform(low, high, 5)
        later = holdback.compare(cost, held, share, **options)
        assert found.low <= later.low <= later.high <= found.high
        assert found.share_low <= later.share_low <= later.share_high <= found.share_high
        widest = min(widest[0], later.low), max(widest[1], later.high)
    assert found.high - found.low < (1.05 if n == 400 else 1.1) * (widest[1] - widest[0])  # not needlessly wide


def test_a_cost_that_never_comes_stops_nothing():
    *_, held_back, cost, _ = deployment(np.random.default_rng(5))
    whole = holdback.compare(cost, held_back, PI)
    for place in (0, 17, 3000):
        seen = cost.copy()
        seen[place] = np.nan
        found = holdback.compare(seen, held_back, PI)
        assert (found.units, found.open) == (6000, 1)
        assert found.high - found.low < 1.1 * (whole.high - whole.low)


def test_the_latest_units_wait_where_many_of_them_are_open():
    *_, held_back, cost, _ = deployment(np.random.default_rng(5))
    cost[4000:] = np.nan
    cost[[10, 2000]] = np.nan
    found = holdback.compare(cost, held_back, PI)
    assert (found.units, found.open) == (4001, 3)


SIZES = np.array([1.0, 2.0, 2.0, 5.0, 3.0, 9.0])


@pytest.mark.parametrize("share_of_each", [False, True])
def test_the_average_gain_over_all_assignments_is_the_difference(share_of_each):
    """By enumeration of who gets each of six units: Σ P(assignment) Σ D_t = Σ (policy − rule), exactly.

    With one π and one range for all, and with units of which each has another π and another highest cost.
    """
    rng = np.random.default_rng(4)
    highest = rng.uniform(1.0, 4.0, 6) if share_of_each else np.ones(6)
    shares = rng.uniform(0.1, 0.6, 6) if share_of_each else np.full(6, 0.5)
    by_rule, by_policy = highest * rng.random(6), highest * rng.random(6)
    total = level = 0.0
    for code in range(64):
        rule = np.array([bool(code >> t & 1) for t in range(6)])
        cost = np.where(rule, by_rule, by_policy)
        given = {"probability": shares, "bounds": (0.0, highest)} if share_of_each else {"probability": 0.5}
        found = holdback.compare(cost, rule, weights=SIZES, **given)
        chance = np.where(rule, shares, 1 - shares).prod() * SIZES.sum()
        total += chance * found.difference
        level -= chance * found.difference / found.share  # the rule's cost
    assert (total, level) == pytest.approx((SIZES @ (by_policy - by_rule), SIZES @ by_rule), rel=1e-12)


def judged_by_hand(cost, side, chances, rounds):
    """Σ D, Σ size and V, unit by unit: sides 0 and 1 have a unit with p and with q."""
    sums, total, sizes, V = [[0.5, 1.0], [0.5, 1.0]], 0.0, 0.0, 0.0
    first = np.prod(chances[0]) / np.sum(chances[0])
    for y, who, (p, q), n in zip(cost, side, chances, rounds, strict=True):
        size = n * p * q / (p + q) / first
        means = [of / weight for of, weight in sums]
        own = 0.0 if who > 1 else (y - means[who]) * (1 / p if who == 0 else -1 / q)
        total, sizes, V = total + size * (means[0] - means[1] + own), sizes + size, V + (size * own) ** 2
        if who < 2:
            sums[who][0], sums[who][1] = sums[who][0] + size * y, sums[who][1] + size
    return total, sizes, V


def test_a_judgement_of_two_arms_by_all_assignments_and_its_interval_by_hand():
    """Each unit has p and q of its own, and may be given to neither: on average the difference, exactly."""
    rng = np.random.default_rng(6)
    costs, chances, rounds = rng.random((5, 3)), rng.dirichlet([2, 3, 2], 5), np.array([1.0, 4.0, 2.0, 2.0, 7.0])
    odds, total = chances[:, :2], 0.0
    for sides in itertools.product(range(3), repeat=5):
        side = np.array(sides)
        found = holdback.judge(costs[range(5), side], side, odds, weights=rounds)
        assert found[0] == pytest.approx(np.divide(*judged_by_hand(costs[range(5), side], side, odds, rounds)[:2]))
        total += chances[range(5), side].prod() * found[0]
    size = rounds * odds.prod(axis=1) / odds.sum(axis=1)
    assert total == pytest.approx(size @ (costs[:, 0] - costs[:, 1]) / size.sum(), rel=1e-12)
    side, many = rng.integers(0, 3, 300), np.tile(odds, (60, 1))
    cost, weights = rng.random(300), np.tile(rounds, 60)
    _, sizes, V = judged_by_hand(cost, side, many, weights)
    c = 1 / many.min(axis=1)
    largest = (weights * many.prod(axis=1) / many.sum(axis=1) / (many[0].prod() / many[0].sum()) * c / c[0]).max()
    half = float(holdback.radius(V, c[0], 0.1, largest)) / sizes
    difference, low, high = holdback.judge(cost, side, many, weights=weights, confidence=0.9)
    assert (low, high) == pytest.approx((difference - half, difference + half), rel=1e-9)
    cents = holdback.judge(100 * cost - 20, side, many, weights=weights, bounds=(-20.0, 80.0), confidence=0.9)
    assert cents == pytest.approx((100 * difference, 100 * low, 100 * high), rel=1e-9)


def test_a_larger_range_widens_the_interval_and_is_checked_for_each_unit():
    cost, rule = np.random.default_rng(4).random(6), np.arange(6) % 2 == 0
    wide = [holdback.compare(cost, rule, 0.3, bounds=(0.0, np.full(6, high))).high for high in (4.0, 8.0)]
    assert wide[1] > wide[0]
    with pytest.raises(hf.InvalidParameter, match="costs must be from 0 to"):
        holdback.compare(cost, rule, 0.3, bounds=(0.0, cost - 0.01 * (np.arange(6) == 3)))


def test_one_step_of_the_process_is_a_supermartingale():
    """E exp(λ(D − E D) − ψ(λ)(D − m₁ + m₀)²) ≤ 1 for costs at the ends and in between and every λ of the mixture."""
    scale = 1 / PI
    for rule_cost, policy_cost, rule_mean, policy_mean in np.random.default_rng(3).choice([0, 0.1, 0.5, 1.0], (60, 4)):
        spread = np.array([(rule_mean - rule_cost) / PI, (policy_cost - policy_mean) / (1 - PI)])
        gain = policy_mean - rule_mean + spread
        chance = np.array([PI, 1 - PI])
        centred = gain - chance @ gain
        for sign in (1, -1):
            for share, psi in zip(holdback.MIXTURE, holdback.PSI, strict=True):
                step = np.exp(sign * share / scale * centred - psi / scale**2 * spread**2)
                assert chance @ step <= 1 + 1e-12


@pytest.mark.parametrize("largest", [1.0, 2.0, 7.0, 30.0])
@pytest.mark.parametrize("variance", [0.0, 1.0, 1e3, 1e7])
def test_the_radius_is_the_root_of_the_mixture(variance, largest):
    """In 50 digits, term by term: every second power of √½ but those that are too large for the largest unit."""
    scale, error = 10.0, 0.04
    u = float(holdback.radius(variance, scale, error, largest))
    with mpmath.workdps(50):
        first = next(k for k in range(80) if 2**k >= largest**2)
        bound = scale * mpmath.sqrt(2) ** first
        total = mpmath.mpf(0)
        weights = mpmath.mpf(0)
        for k in range(first, first + 80):
            share = mpmath.mpf(2) ** (-mpmath.mpf(k - first) / 2) * mpmath.mpf(3) / 4
            weight = mpmath.mpf(1) / ((k + 1) * (k + 2))
            psi = (-mpmath.log(1 - share) - share) / bound**2
            total += weight * mpmath.exp(share / bound * u - psi * variance)
            weights += weight
        assert float(total) == pytest.approx(2 / error, rel=1e-9)
        assert weights <= 1


def test_its_width_is_that_of_a_sample_times_a_little():
    """Not needlessly wide: at 10⁵ units at most 2.2 times Student's, which is good for one look only."""
    rng = np.random.default_rng(SEED)
    held_back = rng.random(100_000) < PI
    costs = (rng.random(100_000) < np.where(held_back, 0.5, 0.4)).astype(float)
    saving = holdback.compare(costs, held_back, PI)
    _, V = path(costs, held_back, np.array([100_000]))
    assert saving.high - saving.low < 2.2 * 2 * 1.96 * math.sqrt(V[0]) / 100_000
    assert saving.high < 0.0


def test_weights_of_one_say_nothing_and_those_of_two_are_units_twice_as_long():
    rng = np.random.default_rng(5)
    held_back, costs = rng.random(2000) < PI, rng.random(2000)
    plain = holdback.compare(costs, held_back, PI)
    assert holdback.compare(costs, held_back, PI, weights=np.ones(2000)) == plain
    double = holdback.compare(costs, held_back, PI, weights=np.full(2000, 2.0))
    assert double.difference == pytest.approx(plain.difference, abs=5e-4)  # the first expectation weighs less
    assert 1.0 <= (double.high - double.low) / (plain.high - plain.low) < 1.2  # for not having known that


def test_nothing_is_known_of_nothing():
    nothing = holdback.compare([], np.array([], dtype=bool), 0.5)
    assert (nothing.units, nothing.low, nothing.high) == (0, -math.inf, math.inf)
    assert nothing.words() == "too early to say, after 0 units"
    assert "too early to say" in holdback.compare([np.nan] * 9, np.arange(9) < 4, 0.5).words()


def test_other_units_give_the_same_share():
    rng = np.random.default_rng(4)
    held_back = rng.random(5000) < PI
    costs = rng.random(5000) * np.where(held_back, 1.0, 0.6)
    plain, cents = holdback.compare(costs, held_back, PI), holdback.compare(100 * costs, held_back, PI, bounds=(0, 100))
    assert cents.difference == pytest.approx(100 * plain.difference)
    assert (cents.share, cents.share_low, cents.share_high) == pytest.approx(
        (plain.share, plain.share_low, plain.share_high)
    )


@pytest.mark.parametrize(
    ("difference", "shares", "words"),
    [
        ((0.0, 0.0, 0.0), (0.07, 0.02, 0.12), "saves 7 % (2 to 12), since 3 March"),
        ((0.0, 0.0, 0.0), (-0.07, -0.12, -0.02), "costs 7 % more (2 to 12), since 3 March"),
        ((0.0, 0.0, 0.0), (0.03, -0.02, 0.08), "no difference shown: between 2 % more and 8 % less, since 3 March"),
        ((-0.2, -0.3, -0.1), UNKNOWN, "saves 0.2 each (0.1 to 0.3), since 3 March"),  # no share of a cost below zero
        ((0.2, 0.1, 0.3), UNKNOWN, "costs 0.2 more each (0.1 to 0.3), since 3 March"),
    ],
)
def test_words(difference, shares, words):
    assert holdback.Saving(1000, 100, *difference, *shares, 0.95, date(2026, 3, 3)).words() == words


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: holdback.compare([0.5], [True], 1.0), "probability must be between"),
        (lambda: holdback.compare([0.5], [0.1], 0.1), "True or False"),
        (lambda: holdback.compare([0.5, 0.6], [True], 0.1), "each of the costs"),
        (lambda: holdback.compare([1.5], [True], 0.1), "costs must be from 0 to 1; got 1.5"),
        (lambda: holdback.compare([0.5], [True], 0.1, confidence=95), "confidence"),
        (lambda: holdback.compare([0.5], [True], 0.1, weights=[0.5]), "weights must be a number of at least 1"),
    ],
)
def test_mistakes_are_named(call, says):
    with pytest.raises(hf.InvalidParameter, match=says):
        call()
