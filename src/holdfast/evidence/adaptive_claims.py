"""What we claim of the adaptive policy, played anew and judged by the rule that judges the paper's claims.

`judged` plays the settings and gives the verdicts; nothing about them is kept in this file but the thresholds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from holdfast.environments import PiecewiseConstant
from holdfast.evidence.contestants import play
from holdfast.evidence.growth import GAMES, Samples, decades, late, never_overtaken, samples_of, stages
from holdfast.evidence.measures import costs_of, exponents
from holdfast.evidence.worlds import World, paper_worlds, searched_worlds
from holdfast.numerics.layout import Array
from holdfast.numerics.statistics import quantile
from holdfast.simulation import Backend
from holdfast.text import three_digits
from holdfast.verdicts.comparisons import Answer, Between, Less, Outcome, Question, share_interval
from holdfast.verdicts.ledger import Claim, Evidence, Verdict, judge
from holdfast.verdicts.settings import RunSettings

BOTH = OWN, PAPER = "adaptive", "tsallis-switch"
SEVEN = (
    *("stochastic-easy", "stochastic-hard", "stochastic-free", "constrained-easy", "constrained-hard"),
    *("ties-stochastic", "ties-constrained"),
)
LONG, ADVERSARIAL = "stochastic-hard, 100 T", "adversarial"
LONG_RUNS = 200
"""Replications of the game that is a hundred times as long; enough for its ratio."""

WORLD_RUNS, WORLD_ROUNDS = 8, 20_000
"""Replications and rounds of a random world."""

MEAN_RATIO, LARGEST_RATIO, HARD_RATIO, LONG_RATIO = 0.30, 0.65, 0.25, 0.035
WORSE, WORLD_WORSE, WORLD_SHARE, WORLD_BETTER, SEARCHED = 0.03, 0.05, 0.03, 0.10, 0.32
TAILS = (0.95, 0.99)

GROWN = (10**6, 10**7, 10**8)
"""Exponents are claimed between the first and the last of these, ratios at the last."""

TIED = 0.7
"""The most that the cost grows by where several arms are best: T^{2/3}, and what 16 games cannot tell from it."""

TELL = "docs/adaptive.md"


def seven(K: int, T: int) -> dict[str, World]:
    """The non-adversarial settings of the paper's figures; three best arms, or what there are, for the ties."""
    return {world.name: world for world in paper_worlds(T, K) if world.name in SEVEN}


def random_worlds(count: int, seed: int) -> Iterator[World]:
    """Piecewise-constant worlds: 2 to 8 arms, up to 8 phases, λ up to 2, every other one with noise."""
    rng, T = np.random.default_rng(seed), WORLD_ROUNDS
    for i in range(count):
        K, phases = int(rng.integers(2, 9)), int(rng.integers(1, 9))
        cost = float(rng.uniform(0, 2)) if rng.random() > 0.1 else 0.0
        starts = [0, *sorted(int(t) for t in rng.choice(np.arange(1, T), phases - 1, replace=False))]
        kind = rng.integers(3)
        means = rng.random((phases, K)) if kind != 1 else rng.integers(0, 2, (phases, K)).astype(np.float64)
        if kind == 2:  # one arm changes at a time
            for row in range(1, phases):
                changed, level = rng.integers(K), means[row, 0]
                means[row] = means[row - 1]
                means[row, changed] = level
        yield World(f"random-{i}", "random", PiecewiseConstant(starts, means.tolist(), noise=bool(i % 2)), cost, T)


# ---- questions that only our claims ask ----


@dataclass(frozen=True)
class Seldom:
    """Does it happen in at most `share` of the runs?"""

    what: str
    count: int
    runs: int
    share: float

    def answer(self, confidence: float) -> Answer:
        """By the interval of Clopper and Pearson."""
        low, high = share_interval(self.count, self.runs, confidence)
        outcome: Outcome = "yes" if high <= self.share else "no" if low > self.share else "open"
        shown = f"{self.what}: in {self.count} of {self.runs} ({100 * low:.2g} to {100 * high:.2g} %)"
        return Answer(self.what, outcome, shown, self.count / self.runs, low, high, self.runs)


@dataclass(frozen=True)
class LowerTail:
    """Is the quantile of `first` below that of `second`?"""

    what: str
    first: Array
    second: Array
    share: float

    def answer(self, confidence: float) -> Answer:
        """By the order statistics of both samples, which share what may go wrong."""
        half = (1 + confidence) / 2
        own, low, high = quantile(self.first, self.share, half)
        other, least, most = quantile(self.second, self.share, half)
        outcome: Outcome = "yes" if high < least else "no" if low >= most else "open"
        shown = f"{self.what}: {three_digits(own)} (at most {three_digits(high)}) against {three_digits(other)}"
        shown += f" (at least {three_digits(least)})"
        return Answer(self.what, outcome, shown, own, low, high, min(len(self.first), len(self.second)))


def ratios(own: Array, other: Array) -> Array:
    """A sample whose mean is the ratio of the means and whose spread is that of the ratio, to first order."""
    ratio = own.mean() / other.mean()
    return np.asarray(ratio + (own - ratio * other) / other.mean())


# ---- the claims ----


def _claim(id: str, sentence: str, rule: str, questions: Callable[[Evidence], list[Question]]) -> Claim:
    return Claim(id, sentence, TELL, rule, questions)


def claims(
    settings: Mapping[str, World],
    searched: Mapping[str, World],
    worlds: Array,
    long: Mapping[tuple[str, str], Samples],
) -> list[Claim]:
    """The claims.

    Parameters
    ----------
    settings, searched
        Of the paper, and found by search.
    worlds
        For each random world the excess over the paper's policy as a share of the bound.
    long
        Costs in the long games, by game and policy.
    """

    main = tuple(name for name in settings if name not in (LONG, ADVERSARIAL))
    short = {name: setting for name, setting in settings.items() if name != LONG}

    def each(evidence: Evidence, factor: float, *names: str) -> list[Question]:
        return [evidence.less(f"in {name}", name, OWN, PAPER, factor=factor) for name in names]

    def mean_of_seven(evidence: Evidence) -> list[Question]:
        parts = [ratios(evidence.final(name, OWN), evidence.final(name, PAPER)) for name in main]
        return [Between("mean of the ratios", np.asarray(np.mean(parts, axis=0)), high=MEAN_RATIO)]

    def shares(evidence: Evidence, what: Mapping[str, World], most: float, *, excess: bool) -> list[Question]:
        less = {name: evidence.final(name, PAPER) if excess else 0.0 for name in what}
        return [
            Between(f"in {name}", (evidence.final(name, OWN) - less[name]) / setting.bound, high=most)
            for name, setting in what.items()
        ]

    def tails(evidence: Evidence, share: float) -> list[Question]:
        return [LowerTail(f"in {n}", evidence.final(n, OWN), evidence.final(n, PAPER), share) for n in short]

    def in_random_worlds(evidence: Evidence) -> list[Question]:
        count = int((worlds > WORLD_WORSE).sum())
        words = f"worse by more than {100 * WORLD_WORSE:g} % of the bound"
        return [
            Between("mean excess over the paper's policy, as a share of the bound", worlds, high=-WORLD_BETTER),
            Seldom(words, count, len(worlds), WORLD_SHARE),
        ]

    def overtaken(evidence: Evidence) -> list[Question]:
        return [never_overtaken(long, OWN, PAPER)] if long else []

    def slower(evidence: Evidence) -> list[Question]:
        found = {key: exponents(late(samples)) for key, samples in long.items() if len(samples) > 1}
        return [
            Less(f"in {game.name}", found[game.name, OWN], found[game.name, PAPER])
            for game in GAMES
            if game.exponent is not None and (game.name, OWN) in found
        ]

    def grown(evidence: Evidence) -> list[Question]:
        asked: list[Question] = []
        for game in GAMES:
            samples = long.get((game.name, OWN), {})
            if game.exponent is not None and set(GROWN) <= set(samples):
                found = exponents({T: samples[T] for T in GROWN})
                asked.append(Between(f"in {game.name}", found, high=game.exponent))
        return asked

    def in_ties(evidence: Evidence) -> list[Question]:
        tied = {game.name: long.get((game.name, OWN), {}) for game in GAMES if game.kind == "ties"}
        return [
            Between(f"in {name}", exponents(late(samples)), high=TIED)
            for name, samples in tied.items()
            if len(samples) > 1
        ]

    def small_at_last(evidence: Evidence) -> list[Question]:
        return [
            Less(f"in {game.name}", long[game.name, OWN][GROWN[-1]], long[game.name, PAPER][GROWN[-1]], game.ratio)
            for game in GAMES
            if game.ratio is not None and GROWN[-1] in long.get((game.name, OWN), {})
        ]

    return [
        _claim(
            "mean-of-seven",
            f"In the paper's seven non-adversarial settings it costs at most {MEAN_RATIO:g} of its policy on average.",
            "the mean of seven ratios of mean regret with switching, linearised",
            mean_of_seven,
        ),
        _claim(
            "each-of-seven",
            f"In each of them it costs less than {LARGEST_RATIO:g} of it.",
            f"final regret with switching below {LARGEST_RATIO:g} times that of tsallis-switch",
            lambda evidence: each(evidence, LARGEST_RATIO, *main),
        ),
        _claim(
            "hard",
            f"In the hard setting it costs less than {HARD_RATIO:g} of it, which is what BaSE costs there.",
            f"final regret with switching below {HARD_RATIO:g} times that of tsallis-switch",
            lambda evidence: each(evidence, HARD_RATIO, "stochastic-hard"),
        ),
        _claim(
            "hard-and-long",
            f"A hundred times as long, the hard setting costs less than {LONG_RATIO:g} of it.",
            f"final regret with switching below {LONG_RATIO:g} times that of tsallis-switch",
            lambda evidence: each(evidence, LONG_RATIO, LONG),
        ),
        *(
            _claim(
                f"tails-{100 * share:g}",
                f"Its bad runs are better too: in each setting of the paper its {100 * share:g}th percentile is lower.",
                f"the {100 * share:g}th percentile of final regret with switching below that of tsallis-switch",
                partial(tails, share=share),
            )
            for share in TAILS
        ),
        _claim(
            "never-much-worse",
            f"In no setting of the paper is it worse than its policy by over {100 * WORSE:g} % of Theorem 1's bound.",
            "mean excess over tsallis-switch as a share of the bound",
            lambda evidence: shares(evidence, short, WORSE, excess=True),
        ),
        _claim(
            "random-worlds",
            f"In random piecewise-constant worlds it is better by {100 * WORLD_BETTER:g} % of the bound on average, "
            "and seldom much worse.",
            f"mean excess over tsallis-switch below −{100 * WORLD_BETTER:g} %; "
            f"worse by more than {100 * WORLD_WORSE:g} % of the bound in "
            f"at most {100 * WORLD_SHARE:g} % of the worlds",
            in_random_worlds,
        ),
        _claim(
            "searched-worlds",
            f"The worst worlds that searches found against it cost at most {100 * SEARCHED:g} % of Theorem 1's bound.",
            "mean final regret with switching as a share of the bound",
            lambda evidence: shares(evidence, searched, SEARCHED, excess=False),
        ),
        _claim(
            "never-overtaken",
            "The paper's policy does not overtake it: at no T that was played, in no stochastic, constrained or tied "
            "setting.",
            "regret with switching below that of tsallis-switch in each long game at T = 10⁴, 10⁵, … up to the longest",
            overtaken,
        ),
        _claim(
            "slower-growth",
            "With one best arm its cost grows more slowly with T than the paper's policy's.",
            "the slope of log cost over log T, on the last three T of the long games, below that of tsallis-switch",
            slower,
        ),
        _claim(
            "ties",
            "With several best arms its cost grows like T^(2/3), as the paper's policy's does in the end.",
            f"the slope of log cost over log T, on the last three T of the tied games, at most {TIED:g}",
            in_ties,
        ),
        _claim(
            "growth",
            "With one best arm its cost grows by a small power of T, as a logarithm does.",
            "the slope of log cost over log T between 10⁶ and 10⁸ at most "
            + ", ".join(f"{game.exponent:g} in {game.name}" for game in GAMES if game.exponent is not None),
            grown,
        ),
        _claim(
            "small-at-last",
            "At 10⁸ rounds it costs a small part of what the paper's policy does.",
            "final regret with switching over that of tsallis-switch below "
            + ", ".join(f"{game.ratio:g} in {game.name}" for game in GAMES if game.ratio is not None),
            small_at_last,
        ),
    ]


def judged(
    *,
    replications: int = 4000,
    worlds: int = 1000,
    horizon: int = 100_000,
    n_arms: int = 8,
    longest: int = 1_000_000,
    seed: int = 0,
    backend: str | Backend = "threads",
) -> Sequence[Verdict]:
    """Play everything that our claims need, and judge them.

    Parameters
    ----------
    replications, horizon, n_arms, seed, backend
        Of the paper's settings.
    worlds
        How many random worlds.
    longest
        The longest T of the long games, 10⁴ to 10⁹; exponents are judged from 10⁸ on.
    """
    size, plan = RunSettings(replications, horizon, n_arms, seed), stages(longest)
    settings = seven(n_arms, horizon)
    settings[LONG] = replace(settings["stochastic-hard"], horizon=100 * horizon)
    settings |= {world.name: world for world in paper_worlds(horizon, n_arms) if world.name == ADVERSARIAL}
    found = {world.name.removeprefix("found-"): world for world in searched_worlds()}
    searched = {name: world for name, world in found.items() if name.startswith(OWN)}
    tables = {}
    for name, world in {**settings, **searched}.items():
        runs = min(replications, LONG_RUNS) if name == LONG else replications
        tables[name] = play(BOTH, world, replications=runs, seed=size.seed, backend=backend)
    excess = []
    for i, world in enumerate(random_worlds(worlds, size.seed)):
        costs = costs_of(play(BOTH, world, replications=WORLD_RUNS, seed=size.seed + i, backend=backend))
        excess.append((costs[OWN].mean() - costs[PAPER].mean()) / world.bound)
    long: dict[tuple[str, str], Samples] = {}
    for game in GAMES:
        for T, runs in plan if game.kind != "adversarial" else ():
            few = min(replications, runs)
            played = play(
                BOTH, game.world(T), replications=few, seed=size.seed, backend=backend, checkpoints=decades(T)
            )
            for policy, samples in samples_of(played).items():
                long[game.name, policy] = {**samples, **long.get((game.name, policy), {})}  # the larger sample stays
    return judge(claims(settings, searched, np.array(excess), long), Evidence(tables, size))


def lines(verdicts: Sequence[Verdict]) -> list[str]:
    """Every claim with its verdict and what was measured for it, as a terminal shows it."""
    said: list[str] = []
    for verdict in verdicts:
        said += [f"{verdict.verdict:11s} {verdict.id}: {verdict.claim}"]
        said += [f"            {part.outcome:4s} {part.shown}" for part in verdict.parts]
    return said
