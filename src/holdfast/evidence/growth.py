"""How cost grows with T: long games, read off at T = 10⁴, 10⁵, … up to 10⁹, and whether a policy is ever overtaken.

A policy that does not know T plays one game, recorded at every T. One that knows it, and losses that are laid out over
T, need a game for each T. Policies that draw an arm in every round take time in proportion to T; blocks are faster.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from holdfast.checks import whole_number
from holdfast.environments import Bernoulli, ConstrainedBernoulli, Environment, Reversal
from holdfast.evidence.contestants import contestants, knows_horizon
from holdfast.evidence.measures import growth
from holdfast.evidence.settings import ArenaSettings, cell_of
from holdfast.evidence.worlds import LONG, World
from holdfast.extras import pl
from holdfast.numerics.layout import Array
from holdfast.numerics.statistics import interval
from holdfast.results import Result
from holdfast.studies.file import Study
from holdfast.text import number, three_digits
from holdfast.verdicts.comparisons import Answer, Outcome
from holdfast.verdicts.ledger import curve_of

SHORTEST, LONGEST = 10_000, 10**9
"""The range of T."""

DEFAULT, QUICK = 10**6, 10**5
"""The longest T unless another is given, and for a first look."""

FEW = 16
"""Replications where every policy plays."""

STAGES = ((10**6, 200), (10**7, 100), (LONGEST, FEW))
"""Where two policies play: T up to this one, and replications. Early on costs differ by little and need many."""

Kind = Literal["stochastic", "constrained", "ties", "adversarial"]
Samples = Mapping[int, Array]
"""The costs of a policy's replications, by T."""


@dataclass(frozen=True)
class LongGame:
    """One kind of losses, and what we claim of the adaptive policy there."""

    name: str
    kind: Kind
    losses: Callable[[int], Environment]
    """From T."""
    cost: float = 1.0
    exponent: float | None = None
    """The most that cost grows by between 10⁶ and 10⁸: log over log."""
    ratio: float | None = None
    """The most that it is of the paper's policy's cost at 10⁸."""

    def world(self, horizon: int) -> World:
        """These losses for so many rounds."""
        return World(self.name, LONG, self.losses(horizon), self.cost, horizon)


GAMES = (
    LongGame("two-arms-far", "stochastic", lambda T: Bernoulli((0.5, 1.0)), exponent=0.2, ratio=0.03),
    LongGame("two-arms-near", "stochastic", lambda T: Bernoulli((0.3, 0.5)), exponent=0.2, ratio=0.03),
    LongGame("gap-0.2", "stochastic", lambda T: Bernoulli.with_gap(8, 0.2), exponent=0.2),
    LongGame("gap-0.05", "stochastic", lambda T: Bernoulli.with_gap(8, 0.05), exponent=0.25, ratio=0.025),
    LongGame("gap-0.05-free", "stochastic", lambda T: Bernoulli.with_gap(8, 0.05), cost=0.0),
    LongGame("constrained-0.2", "constrained", lambda T: ConstrainedBernoulli(8, 0.2), exponent=0.3, ratio=0.06),
    LongGame("constrained-0.05", "constrained", lambda T: ConstrainedBernoulli(8, 0.05), exponent=0.3, ratio=0.06),
    LongGame("tied", "ties", lambda T: Bernoulli.with_gap(8, 0.2, best_arms=3)),
    LongGame("tied-constrained", "ties", lambda T: ConstrainedBernoulli(8, 0.2, best_arms=3)),
    LongGame("reversal", "adversarial", lambda T: Reversal(8, T)),
)
"""Two or eight arms, λ = 1 but where switches are free. Only the reversal is laid out over T."""


def decades(longest: int) -> tuple[int, ...]:
    """10⁴, 10⁵, … and the longest.

    >>> decades(1_000_000)
    (10000, 100000, 1000000)
    """
    longest = whole_number("longest", longest, least=SHORTEST, most=LONGEST)
    return (*(T for k in range(4, 10) if (T := 10**k) < longest), longest)


def stages(longest: int) -> list[tuple[int, int]]:
    """The longest T of each stage, and its replications.

    >>> stages(100_000_000)
    [(1000000, 200), (10000000, 100), (100000000, 16)]
    """
    longest = decades(longest)[-1]
    last = next(i for i, (T, _) in enumerate(STAGES) if longest <= T)
    return [*STAGES[:last], (longest, STAGES[last][1])]


# ---- playing ----


def long_study(policies: Sequence[str], settings: ArenaSettings, longest: int) -> Study:
    """Every policy in every long game: a table for each game and T at which a new one has to be played."""
    cells, horizons, count = [], decades(longest), min(settings.replications, FEW)
    for game in GAMES:
        world = game.world(longest)
        made, _ = contestants(policies, world.environment, longest, game.cost)
        by_T = game.kind == "adversarial"
        known = [name for name, policy in zip(policies, made.values(), strict=True) if by_T or knows_horizon(policy)]
        once = [name for name in policies if name not in known]
        if known:
            cells += [cell_of(game.world(T), known, settings, count, checkpoints=(T,)) for T in horizons]
        if once:
            cells.append(cell_of(world, once, settings, count, checkpoints=horizons, name=f"{game.name},every-T"))
    written = {
        "name": LONG,
        "replications": count,
        "longest": longest,
        "seed": settings.seed,
        "policies": list(policies),
        "environments": [game.name for game in GAMES],
    }
    return Study(LONG, tuple(cells), written)


def samples_of(result: Result) -> dict[str, dict[int, Array]]:
    """Costs of each policy by the rounds recorded, replication by replication."""
    found = {}
    for policy in result.policies:
        rounds, values = curve_of(result, policy)
        found[policy] = {int(T): values[:, i] for i, T in enumerate(rounds)}
    return found


# ---- what came out ----


def late(samples: Samples) -> Samples:
    """The last three of the decades: from 10⁶ to 10⁸, say."""
    return {T: samples[T] for T in sorted(samples)[-3:]}


def long_table(played: Mapping[tuple[str, str], Samples]) -> pl.DataFrame:
    """One row for each long game, policy and T: the cost, and the exponent up to there, fitted on at most three T."""
    kinds, rows = {game.name: game.kind for game in GAMES}, []
    for (name, policy), samples in played.items():
        for T in sorted(samples):
            up_to = late({t: sample for t, sample in samples.items() if t <= T})
            row = {"environment": name, "kind": kinds[name], "policy": policy, "horizon": T}
            row |= {"replications": len(samples[T]), "since": min(up_to)}
            for what, estimate in (("cost", interval(samples[T])), ("exponent", growth(up_to))):
                row |= dict(zip((what, f"{what}_low", f"{what}_high"), estimate, strict=True))
            rows.append(row)
    return pl.DataFrame(rows)


@dataclass(frozen=True)
class NeverOvertaken:
    """Does the first policy cost less than the second in every game and at every T?"""

    what: str
    games: Mapping[str, tuple[Samples, Samples]]

    def answer(self, confidence: float) -> Answer:
        """By the intervals of all paired differences together: no if one of them is above zero, yes if none reaches it.

        The ratio shown is the largest, and its interval is that of the difference over the second's mean.
        """
        pairs = [(name, T, own[T], other[T]) for name, (own, other) in self.games.items() for T in own]
        share = 1 - (1 - confidence) / max(len(pairs), 1)
        found = []
        for name, T, own, other in pairs:
            mean = float(np.abs(other).mean()) or 1.0
            middle, low, high = (1.0 + end / mean for end in interval(own - other, share))
            found.append((middle, low, high, f"{name} at T = {number(T)}"))
        above = [where for _, low, _, where in found if low >= 1.0]
        outcome: Outcome = "no" if above else "yes" if all(high < 1.0 for _, _, high, _ in found) else "open"
        ratio, low, high, where = max(found)
        said = f"{self.what}: at most {three_digits(ratio)} of its cost, in {where}"
        said += f"; overtaken in {', '.join(above)}" if above else ""
        return Answer(self.what, outcome, said, ratio, low, high, min(len(own) for _, _, own, _ in pairs))


def never_overtaken(played: Mapping[tuple[str, str], Samples], first: str, second: str) -> NeverOvertaken:
    """The question for two policies, from costs by game and policy; an adversary may let the second overtake."""
    names = [game.name for game in GAMES if game.kind != "adversarial" and (game.name, first) in played]
    games = {name: (played[name, first], played[name, second]) for name in names}
    return NeverOvertaken(f"{first} against {second}", games)
