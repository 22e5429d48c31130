"""Paths and their mixture in plain words: from the whole history at every round, nothing kept, nothing clever.

Costs are functions `price(a, b)`; numbers may be floats or mpmath's.
"""

from itertools import product
from typing import Any

import mpmath


def cheapest(history: list[list[float]], price: Any, end: int) -> float:
    """The least cost of a plan through all rounds of `history` that stands on `end` afterwards; its start is free."""
    arms = range(len(history[0]))
    cost = dict.fromkeys(arms, 0.0)
    for losses in history:
        cost = {b: min(cost[a] + losses[a] + price(a, b) for a in arms) for b in arms}
    return cost[end]


def best_first(table: list[list[float]], price: Any, here: int, open_arms: Any) -> int:
    """The first arm of the cheapest plan over the rows of `table`, by trying the best continuation of each arm.

    `open_arms(h)` are those that can be stood on h rounds ahead.
    """

    def value(h: int, arm: int) -> float:
        if h == len(table):
            return 0.0
        following = open_arms(h + 1) if h + 1 < len(table) else [arm]
        if (h, arm) not in known:
            known[h, arm] = table[h][arm] + min(price(arm, b) + value(h + 1, b) for b in following)
        return known[h, arm]

    known: dict[tuple[int, int], float] = {}
    for h in range(len(table) - 1, -1, -1):  # so that the recursion is never deep
        for arm in range(len(table[0])):
            value(h, arm)
    totals = {arm: (price(here, arm) + value(0, arm)) for arm in open_arms(0)}
    least = min(totals.values())
    return here if here in totals and totals[here] == least else min(arm for arm in totals if totals[arm] == least)


class Fixed:
    def __init__(self, arm: int) -> None:
        self.arm = arm

    def stand(self, world: "World", here: int) -> int:
        return self.arm


class Work:
    def __init__(self, scale: float, least: float = 0.0) -> None:
        self.scale, self.least = scale, least

    def stand(self, world: "World", here: int) -> int:
        """Move when the plan that ends here is as cheap by way of another arm."""
        if here < 0:
            return 0

        def toll(a: int, b: int) -> float:
            return 0.0 if a == b else max(self.least, self.scale * world.price(a, b))

        w = [cheapest(world.history, toll, i) for i in range(world.K)]
        open_arms = [i for i in range(world.K) if i != here and i not in world.shut()]
        forced = here in world.shut()
        able = [i for i in open_arms if forced or (toll(i, here) > 0 and w[here] >= w[i] + toll(i, here) - 1e-9)]
        return min(able, key=lambda i: (round(w[i], 9), i)) if able else here


class Mean:
    """Stay, or move once, now, as if losses went on at their smoothed mean."""

    def __init__(self, weight: float, horizon: int) -> None:
        self.weight, self.horizon = weight, horizon

    def stand(self, world: "World", here: int) -> int:
        if here < 0:
            return 0
        means = [smoothed([losses[i] for losses in world.history], self.weight) for i in range(world.K)]
        open_arms = [i for i in range(world.K) if i not in world.shut()]
        totals = {i: self.horizon * means[i] + world.price(here, i) for i in open_arms}
        if here in totals and totals[here] <= min(totals.values()):
            return here
        return min(totals, key=lambda i: (totals[i], i))


def smoothed(values: list[float], weight: float) -> float:
    """The mean of few values, the moving mean of many."""
    mean = 0.0
    for n, value in enumerate(values, 1):
        share = max(weight, 1 / n)
        mean = (1 - share) * mean + share * value
    return mean


class Season:
    """Two periods ahead: what each phase has been like, and the last deviation fading."""

    def __init__(self, period: int, weight: float) -> None:
        self.period, self.weight = period, weight

    def stand(self, world: "World", here: int) -> int:
        if here < 0:
            return 0
        P, played = self.period, len(world.history)

        def mean(i: int, phase: int) -> float:
            return smoothed([losses[i] for losses in world.history[phase::P]], self.weight)

        last = [world.history[-1][i] for i in range(world.K)]
        deviation = [last[i] - mean(i, (played - 1) % P) for i in range(world.K)]
        table = [
            [
                mean(i, (played + h) % P) + deviation[i] * float(mpmath.exp(-2.0 * (h + 1) / P))
                if (played + h) % P < played
                else last[i]
                for i in range(world.K)
            ]
            for h in range(2 * P)
        ]
        return best_first(table, world.price, here, world.open_ahead)


class Found:
    """A season whose period is found; it remembers the period and the season, the rest is seen in the history."""

    def __init__(self, weight: float) -> None:
        self.weight, self.period, self.seen = weight, 0, 0
        self.season: dict[int, list[float]] = {}
        self.deviation: list[float] = []

    def stand(self, world: "World", here: int) -> int:
        """The first step of the plan on the season that was found, if any."""
        if world.history:
            self.see(world.history)
        P, played = self.period, len(world.history)
        if not P:
            return Mean(1.0, 24).stand(world, here)
        table = [
            [
                self.season[(played + h) % P][i] + self.deviation[i] * float(mpmath.exp(-2.0 * (h + 1) / P))
                for i in range(world.K)
            ]
            for h in range(2 * P)
        ]
        return best_first(table, world.price, here, world.open_ahead)

    def see(self, history: list[list[float]]) -> None:
        """One more round; every fifth of them another period may be found."""
        t, last = len(history) - 1, history[-1]
        if self.period:
            phase = t % self.period
            old = self.season[phase]
            self.season[phase] = [(1 - self.weight) * a + self.weight * b for a, b in zip(old, last, strict=True)]
            self.deviation = [b - a for a, b in zip(self.season[phase], last, strict=True)]
        if t < 240 or t % 5:
            return
        ratios = {P: self.ratio(history, c, P) for c, P in enumerate((7, 12, 24, 48)) if t >= 10 * P}
        best = min(ratios, key=ratios.__getitem__)
        if ratios[best] < 0.7 and best != self.period:
            self.period, self.deviation = best, [0.0] * len(last)
            self.season = {(t - k) % best: history[t - k] for k in range(best)}

    def ratio(self, history: list[list[float]], c: int, P: int) -> float:
        """Mean squares of differences to one period ago, over those to half a period ago."""

        def mean(lag: int) -> float:
            looks = [t for t in range(P, len(history)) if t % 5 == c]
            squares = [sum((a - b) ** 2 for a, b in zip(history[t], history[t - lag], strict=True)) for t in looks]
            return smoothed(squares, 1 / 200)

        return mean(P) / mean(P // 2)


class Forecast:
    """The given forecast and its last error, which fades as errors did."""

    def stand(self, world: "World", here: int) -> int:
        table = world.forecast_at(len(world.history))
        if not table:
            return max(here, 0)
        errors, none = world.forecast_errors(), [0.0] * world.K
        known = [error for error in errors if error is not None]
        pairs = list(zip(known, [none, *known], strict=False))
        products = smoothed([sum(a * b for a, b in zip(error, old, strict=True)) for error, old in pairs], 0.01)
        squares = smoothed([sum(b * b for b in old) for _, old in pairs], 0.01)
        persistence = min(max(products / max(squares, 1e-12), 0.0), 0.98)
        last = (errors[-1] if errors else None) or none
        rows = [[row[i] + last[i] * persistence ** (h + 1) for i in range(world.K)] for h, row in enumerate(table)]
        return best_first(rows, world.price, here, world.open_ahead)


class World:
    """All that happened: losses, availability and forecasts, given round by round."""

    def __init__(self, K: int, price: Any) -> None:
        self.K, self.price_of = K, price
        self.history: list[list[float]] = []
        self.closed: list[list[set[int]]] = []
        self.forecasts: dict[int, list[list[float]]] = {}
        self.limit = 10**9

    def price(self, a: int, b: int) -> float:
        return 0.0 if a == b else self.price_of(a, b)

    def shut(self) -> set[int]:
        return self.closed[len(self.history)][0] if len(self.closed) > len(self.history) else set()

    def open_ahead(self, h: int) -> list[int]:
        ahead = self.closed[len(self.history)] if len(self.closed) > len(self.history) else []
        gone = ahead[h] if h < len(ahead) else set()
        return [i for i in range(self.K) if i not in gone]

    def forecast_at(self, t: int) -> list[list[float]]:
        """Return the part of the last forecast that is left at round t."""
        given = [s for s in self.forecasts if s <= t]
        return self.forecasts[max(given)][: self.limit][t - max(given) :] if given else []

    def forecast_errors(self) -> list[list[float] | None]:
        """Return the error of the first row of each round's forecast; None where there was none."""
        found: list[list[float] | None] = []
        for t, losses in enumerate(self.history):
            row = self.forecast_at(t)
            found.append([losses[i] - row[0][i] for i in range(self.K)] if row else None)
        return found

    def stand_in(self) -> int:
        levels = [smoothed([losses[i] for losses in self.history], 0.1) for i in range(self.K)]
        return min((i for i in range(self.K) if i not in self.shut()), key=lambda i: (levels[i], i))


def lay_paths(experts: list[Any], world: World, losses: list[list[float]], see: Any = None) -> list[list[int]]:
    arms: list[list[int]] = []
    for t, row in enumerate(losses):
        if see is not None:
            see(t)
        now = []
        for j, expert in enumerate(experts):
            arm = expert.stand(world, arms[-1][j] if arms else -1)
            now.append(world.stand_in() if arm in world.shut() else arm)
        arms.append(now)
        world.history.append(list(row))
    return arms


def mix(arms: list[list[int]], losses: list[list[float]], price: Any, first: Any, most: Any, digits: int = 50) -> Any:
    """The mixture with a single λ, to so many digits: P of each round, Δ after each, cost on average, costs of experts.

    `price` is λ, `first` what the first play costs, `most` the λ by which Δ begins.
    """
    with mpmath.workdps(digits):
        N, K, lam = len(arms[0]), len(losses[0]), mpmath.mpf(price)
        ln_N = mpmath.log(N)
        C, delta, gap, cost = (
            [mpmath.mpf(0)] * N,
            mpmath.mpf("0.1") * (1 + mpmath.mpf(most)) * ln_N,
            mpmath.mpf(0),
            mpmath.mpf(0),
        )
        before, found = [mpmath.mpf(0)] * K, []
        for t, row in enumerate(losses):
            eta = ln_N / delta
            weights = [mpmath.exp(-eta * c) for c in C]
            p = [w / sum(weights) for w in weights]
            P = [sum(p[j] for j in range(N) if arms[t][j] == k) for k in range(K)]
            moved = sum(max(P[k] - before[k], 0) for k in range(K))
            switching = mpmath.mpf(first) if t == 0 else lam * moved
            own = [mpmath.mpf(first) if t == 0 else lam * (arms[t][j] != arms[t - 1][j]) for j in range(N)]
            c = [mpmath.mpf(row[arms[t][j]]) + own[j] for j in range(N)]
            A = sum(P[k] * mpmath.mpf(row[k]) for k in range(K)) + switching
            M = -mpmath.log(sum(p[j] * mpmath.exp(-eta * c[j]) for j in range(N))) / eta
            C = [a + b for a, b in zip(C, c, strict=True)]
            gap, cost = gap + A - M, cost + A
            delta = max(delta, gap)
            before = P
            found.append((P, p, delta, cost, min(C)))
        return found


def cheapest_coupling(before: list[float], after: list[float], costs: list[list[float]]) -> float:
    """The least cost of bringing one distribution to another, by linear programming."""
    from scipy.optimize import linprog

    K = len(before)
    rows = [[1.0 if i == a else 0.0 for i, _ in product(range(K), repeat=2)] for a in range(K)]
    columns = [[1.0 if j == b else 0.0 for _, j in product(range(K), repeat=2)] for b in range(K)]
    flat = [costs[i][j] for i, j in product(range(K), repeat=2)]
    found = linprog(flat, A_eq=rows + columns, b_eq=[*before, *after], bounds=(0, None))
    return float(found.fun)
