"""Judge our claims about the adaptive policy in docs/measurements/adaptive.md by the rule that judges the paper's.

    python experiments/adaptive_claims.py                    # 4,000 games in each setting, T up to 10⁶
    python experiments/adaptive_claims.py --longest 1e8      # exponents are judged from 10⁸ on

Only the thresholds are kept in this file, no verdicts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Annotated

import numpy as np
import typer
from arena import OWN, entries_of, searched_settings
from growth import GAMES, LONGEST, Samples, decades, late, samples_of
from measures import PAPER, exponents

from holdfast.checks import whole_number
from holdfast.command_line import Backend, Scheduler, Workers
from holdfast.environments import PiecewiseConstant
from holdfast.lab.judge import Answer, Between, Claim, Less, Outcome, Question, Share, Verdict, judge
from holdfast.lab.plan import Setting, paper_settings
from holdfast.lab.tables import Tables, costs_of
from holdfast.numerics.layout import Array
from holdfast.numerics.statistics import interval, quantile
from holdfast.simulation.backends import Backend as AnyBackend, find_backend
from holdfast.text import number, three_digits

BOTH = entries_of((OWN, PAPER))
SEVEN = (
    *("stochastic-easy", "stochastic-hard", "stochastic-free", "constrained-easy", "constrained-hard"),
    *("ties-stochastic", "ties-constrained"),
)
"""The non-adversarial settings of the paper's figures."""
LONG, ADVERSARIAL = "stochastic-hard, 100 T", "adversarial"
LONG_RUNS = 200
"""Replications of the game a hundred times as long; enough for its ratio."""

WORLD_RUNS, WORLD_ROUNDS = 8, 20_000
"""Replications and rounds of a random world."""

STAGES = ((10**6, 200), (10**7, 100), (LONGEST, 16))
"""(Largest T, replications) of each stage of the long games; short games need more replications."""

MEAN_RATIO, LARGEST_RATIO, HARD_RATIO, LONG_RATIO = 0.30, 0.65, 0.25, 0.035
WORSE, WORLD_WORSE, WORLD_SHARE, WORLD_BETTER, SEARCHED = 0.03, 0.05, 0.03, 0.10, 0.32
TAILS = (0.95, 0.99)

GROWN = (10**6, 10**7, 10**8)
"""Exponents are claimed between the first and the last of these, ratios at the last."""

TIED = 0.7
"""Largest exponent where several arms are best: T^{2/3} plus what 16 games cannot resolve."""


# ---- games ----


@dataclass(frozen=True)
class Played:
    """The games behind our claims."""

    tables: Tables = field(default_factory=lambda: Tables({}))
    settings: Mapping[str, Setting] = field(default_factory=dict)
    """The paper's settings."""
    searched: Mapping[str, Setting] = field(default_factory=dict)
    """Settings found by search."""
    worlds: Array = field(default_factory=lambda: np.zeros(0))
    """Excess over the paper's policy in each random world, as a share of the bound."""
    long: Mapping[tuple[str, str], Samples] = field(default_factory=dict)
    """Costs in the long games, by game and policy."""

    @property
    def main(self) -> list[str]:
        """The paper's settings without the long one and the adversarial one."""
        return [name for name in self.settings if name not in (LONG, ADVERSARIAL)]

    @property
    def short(self) -> dict[str, Setting]:
        """The paper's settings without the long one."""
        return {name: setting for name, setting in self.settings.items() if name != LONG}


def random_worlds(count: int, seed: int) -> Iterator[Setting]:
    """Yield piecewise-constant worlds: 2 to 8 arms, up to 8 phases, λ up to 2, every other one with noise."""
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
        yield Setting(f"random-{i}", "random", PiecewiseConstant(starts, means.tolist(), noise=bool(i % 2)), cost, T)


def stages(longest: int) -> list[tuple[int, int]]:
    """Return the longest T of each stage, and its replications.

    >>> stages(100_000_000)
    [(1000000, 200), (10000000, 100), (100000000, 16)]
    """
    longest = decades(longest)[-1]
    last = next(i for i, (T, _) in enumerate(STAGES) if longest <= T)
    return [*STAGES[:last], (longest, STAGES[last][1])]


def play(
    *,
    replications: int = 4000,
    worlds: int = 1000,
    horizon: int = 100_000,
    n_arms: int = 8,
    longest: int = 1_000_000,
    seed: int = 0,
    backend: str | AnyBackend = "threads",
) -> Played:
    """Play everything that our claims need.

    Parameters
    ----------
    replications, horizon, n_arms, seed, backend
        Of the paper's settings.
    worlds
        How many random worlds.
    longest
        The longest T of the long games, 10⁴ to 10⁹; exponents are judged from 10⁸ on.
    """
    policies, plan = list(BOTH.values()), stages(longest)
    paper = paper_settings(horizon, n_arms)
    settings = {name: paper[name] for name in SEVEN}
    settings[LONG] = replace(settings["stochastic-hard"], horizon=100 * horizon)
    settings[ADVERSARIAL] = paper[ADVERSARIAL]
    found = {name.removeprefix("found-"): setting for name, setting in searched_settings().items()}
    searched = {name: setting for name, setting in found.items() if name.startswith(OWN)}
    tables = {}
    for name, setting in {**settings, **searched}.items():
        runs = min(replications, LONG_RUNS) if name == LONG else replications
        tables[name] = setting.cell(policies, replications=runs, seed=seed).play(backend)
    excess = []
    for i, world in enumerate(random_worlds(worlds, seed)):
        costs = costs_of(world.cell(policies, replications=WORLD_RUNS, seed=seed + i).play(backend))
        excess.append((costs[OWN].mean() - costs[PAPER].mean()) / world.bound)
    long: dict[tuple[str, str], Samples] = {}
    for game in GAMES:
        for T, runs in plan if game.kind != "adversarial" else ():
            few = min(replications, runs)
            cell = game.setting(T).cell(policies, checkpoints=decades(T), replications=few, seed=seed)
            for policy, samples in samples_of(cell.play(backend)).items():
                long[game.name, policy] = {**samples, **long.get((game.name, policy), {})}  # the larger sample stays
    return Played(Tables(tables), settings, searched, np.array(excess), long)


# ---- questions that only our claims ask ----


@dataclass(frozen=True)
class Seldom(Share):
    """Does it happen in at most the share `most` of the runs?"""

    most: float

    def outcome(self, low: float, high: float) -> Outcome:
        """Decide by the interval of the share."""
        return "yes" if high <= self.most else "no" if low > self.most else "open"

    def shown(self, low: float, high: float) -> str:
        """Describe how often it happened, with the interval."""
        return f"{self.what}: in {self.count} of {self.runs} ({100 * low:.2g} to {100 * high:.2g} %)"


@dataclass(frozen=True)
class LowerTail:
    """Is the quantile of `first` below that of `second`?"""

    what: str
    first: Array
    second: Array
    share: float

    def answer(self, confidence: float) -> Answer:
        """Decide by the order statistics of both samples, which share the error probability."""
        half = (1 + confidence) / 2
        own, low, high = quantile(self.first, self.share, half)
        other, least, most = quantile(self.second, self.share, half)
        outcome: Outcome = "yes" if high < least else "no" if low >= most else "open"
        shown = f"{self.what}: {three_digits(own)} (at most {three_digits(high)}) against {three_digits(other)}"
        shown += f" (at least {three_digits(least)})"
        return Answer(self.what, outcome, shown, own, low, high, min(len(self.first), len(self.second)))


@dataclass(frozen=True)
class NeverOvertaken:
    """Does the first policy cost less than the second in every game and at every T?"""

    what: str
    games: Mapping[str, tuple[Samples, Samples]]

    def answer(self, confidence: float) -> Answer:
        """Decide by the intervals of all paired differences together: no if one is above zero, yes if none reaches it.

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


def ratios(own: Array, other: Array) -> Array:
    """Return a sample whose mean is the ratio of the means and whose spread is that of the ratio, to first order."""
    ratio = own.mean() / other.mean()
    return np.asarray(ratio + (own - ratio * other) / other.mean())


def _each(factor: float, *names: str) -> Callable[[Played], list[Question]]:
    """Ask whether the cost is below `factor` times the paper's policy's, in these settings or in all of its seven."""
    return lambda played: [
        played.tables.less(f"in {name}", name, OWN, PAPER, factor=factor) for name in names or played.main
    ]


def _mean_of_seven(played: Played) -> list[Question]:
    finals = [(played.tables.final(name, OWN), played.tables.final(name, PAPER)) for name in played.main]
    parts = [ratios(own, other) for own, other in finals]
    return [Between("mean of the ratios", np.asarray(np.mean(parts, axis=0)), high=MEAN_RATIO)] if parts else []


def _tails(played: Played, share: float) -> list[Question]:
    final = played.tables.final
    return [LowerTail(f"in {name}", final(name, OWN), final(name, PAPER), share) for name in played.short]


def _excess(played: Played) -> list[Question]:
    final = played.tables.final
    return [
        Between(f"in {name}", (final(name, OWN) - final(name, PAPER)) / setting.bound, high=WORSE)
        for name, setting in played.short.items()
    ]


def _searched(played: Played) -> list[Question]:
    return [
        Between(f"in {name}", played.tables.final(name, OWN) / setting.bound, high=SEARCHED)
        for name, setting in played.searched.items()
    ]


def _in_random_worlds(played: Played) -> list[Question]:
    if not len(played.worlds):
        return []
    count = int((played.worlds > WORLD_WORSE).sum())
    words = f"worse by more than {100 * WORLD_WORSE:g} % of the bound"
    return [
        Between("mean excess over the paper's policy, as a share of the bound", played.worlds, high=-WORLD_BETTER),
        Seldom(words, count, len(played.worlds), WORLD_SHARE),
    ]


def overtaken(played: Played) -> list[Question]:
    """Ask it of every long game but the adversarial one, where the other policy may overtake."""
    names = [game.name for game in GAMES if game.kind != "adversarial" and (game.name, OWN) in played.long]
    games = {name: (played.long[name, OWN], played.long[name, PAPER]) for name in names}
    return [NeverOvertaken(f"{OWN} against {PAPER}", games)] if games else []


def _slower(played: Played) -> list[Question]:
    found = {key: exponents(late(samples)) for key, samples in played.long.items() if len(samples) > 1}
    return [
        Less(f"in {game.name}", found[game.name, OWN], found[game.name, PAPER])
        for game in GAMES
        if game.exponent is not None and (game.name, OWN) in found
    ]


def _ties(played: Played) -> list[Question]:
    tied = {game.name: played.long.get((game.name, OWN), {}) for game in GAMES if game.kind == "ties"}
    return [
        Between(f"in {name}", exponents(late(samples)), high=TIED) for name, samples in tied.items() if len(samples) > 1
    ]


def _grown(played: Played) -> list[Question]:
    asked: list[Question] = []
    for game in GAMES:
        samples = played.long.get((game.name, OWN), {})
        if game.exponent is not None and set(GROWN) <= set(samples):
            found = exponents({T: samples[T] for T in GROWN})
            asked.append(Between(f"in {game.name}", found, high=game.exponent))
    return asked


def _small_at_last(played: Played) -> list[Question]:
    long, last = played.long, GROWN[-1]
    return [
        Less(f"in {game.name}", long[game.name, OWN][last], long[game.name, PAPER][last], game.ratio)
        for game in GAMES
        if game.ratio is not None and last in long.get((game.name, OWN), {})
    ]


# ---- the claims ----


def _claim(id: str, sentence: str, rule: str, questions: Callable[[Played], Sequence[Question]]) -> Claim[Played]:
    return Claim(id, sentence, "docs/measurements/adaptive.md", rule, questions)


CLAIMS = (
    _claim(
        "mean-of-seven",
        f"In the paper's seven non-adversarial settings it costs at most {MEAN_RATIO:g} of its policy on average.",
        "the mean of seven ratios of mean regret with switching, linearised",
        _mean_of_seven,
    ),
    _claim(
        "each-of-seven",
        f"In each of them it costs less than {LARGEST_RATIO:g} of it.",
        f"final regret with switching below {LARGEST_RATIO:g} times that of tsallis-switch",
        _each(LARGEST_RATIO),
    ),
    _claim(
        "hard",
        f"In the hard setting it costs less than {HARD_RATIO:g} of it, which is what BaSE costs there.",
        f"final regret with switching below {HARD_RATIO:g} times that of tsallis-switch",
        _each(HARD_RATIO, "stochastic-hard"),
    ),
    _claim(
        "hard-and-long",
        f"A hundred times as long, the hard setting costs less than {LONG_RATIO:g} of it.",
        f"final regret with switching below {LONG_RATIO:g} times that of tsallis-switch",
        _each(LONG_RATIO, LONG),
    ),
    *(
        _claim(
            f"tails-{100 * share:g}",
            f"Its bad runs are better too: in each setting of the paper its {100 * share:g}th percentile is lower.",
            f"the {100 * share:g}th percentile of final regret with switching below that of tsallis-switch",
            partial(_tails, share=share),
        )
        for share in TAILS
    ),
    _claim(
        "never-much-worse",
        f"In no setting of the paper is it worse than its policy by over {100 * WORSE:g} % of Theorem 1's bound.",
        "mean excess over tsallis-switch as a share of the bound",
        _excess,
    ),
    _claim(
        "random-worlds",
        f"In random piecewise-constant worlds it is better by {100 * WORLD_BETTER:g} % of the bound on average, "
        "and seldom much worse.",
        f"mean excess over tsallis-switch below −{100 * WORLD_BETTER:g} %; worse by more than {100 * WORLD_WORSE:g} % "
        f"of the bound in at most {100 * WORLD_SHARE:g} % of the worlds",
        _in_random_worlds,
    ),
    _claim(
        "searched-worlds",
        f"The worst worlds that searches found against it cost at most {100 * SEARCHED:g} % of Theorem 1's bound.",
        "mean final regret with switching as a share of the bound",
        _searched,
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
        _slower,
    ),
    _claim(
        "ties",
        "With several best arms its cost grows like T^(2/3), as the paper's policy's does in the end.",
        f"the slope of log cost over log T, on the last three T of the tied games, at most {TIED:g}",
        _ties,
    ),
    _claim(
        "growth",
        "With one best arm its cost grows by a small power of T, as a logarithm does.",
        "the slope of log cost over log T between 10⁶ and 10⁸ at most "
        + ", ".join(f"{game.exponent:g} in {game.name}" for game in GAMES if game.exponent is not None),
        _grown,
    ),
    _claim(
        "small-at-last",
        "At 10⁸ rounds it costs a small part of what the paper's policy does.",
        "final regret with switching over that of tsallis-switch below "
        + ", ".join(f"{game.ratio:g} in {game.name}" for game in GAMES if game.ratio is not None),
        _small_at_last,
    ),
)


def lines(verdicts: Sequence[Verdict]) -> list[str]:
    """Return every claim with its verdict and measurement, for a terminal."""
    said: list[str] = []
    for verdict in verdicts:
        said += [f"{verdict.verdict:11s} {verdict.id}: {verdict.claim}"]
        said += [f"            {part.outcome:4s} {part.shown}" for part in verdict.parts]
    return said


def main(
    replications: Annotated[int, typer.Option(help="Games of each policy in each setting.")] = 4000,
    worlds: Annotated[int, typer.Option(help="Random piecewise-constant worlds.")] = 1000,
    longest: Annotated[
        float, typer.Option(help="Longest T of the long games, up to 1e9; exponents are judged from 1e8 on.")
    ] = 1e6,
    seed: Annotated[int, typer.Option(help="The same seed gives the same verdicts.")] = 0,
    backend: Backend = "threads",
    scheduler: Scheduler = None,
    workers: Workers = None,
) -> None:
    """Judge our claims about the adaptive policy."""
    played = play(
        replications=whole_number("replications", replications, least=2),
        worlds=whole_number("worlds", worlds, least=2),
        longest=whole_number("longest", longest, least=1),
        seed=seed,
        backend=find_backend(backend, workers=workers, scheduler=scheduler),
    )
    print("\n".join(lines(judge(CLAIMS, played))))


if __name__ == "__main__":
    typer.run(main)
