"""The paper's figures as data, two figures of our own, and the runs that only claims need.

Every setting is in the paper's Section 7 and Appendix E; where they leave something open, `docs/errata.md` says how
it is read (points 23 to 28). Policies that are blind to the switching cost play the same games wherever only that
cost differs: the numbers of a policy depend on the seed, its name and the replication alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from holdfast import bounds
from holdfast.bounds.table import Proved, proved_cost, proved_regret
from holdfast.checks import check_fields, one_of, or_none, real, whole
from holdfast.environments import Bernoulli, ConstrainedBernoulli, Environment, Reversal, VaryingRanges
from holdfast.errors import InvalidParameter
from holdfast.extras import pl
from holdfast.lab.judge import COST
from holdfast.lab.plan import (
    ADVERSARIAL_COST,
    ARMS,
    EASY_COST,
    EASY_GAP,
    HARD_COST,
    HARD_GAP,
    TIES_COST,
    TIES_GAP,
    Cell,
    Plan,
    paper_settings,
)
from holdfast.lab.tables import Tables
from holdfast.numerics.layout import Array
from holdfast.numerics.random import check_seed
from holdfast.policies.adaptive import AdaptiveTsallisSwitch
from holdfast.policies.elimination import BaSE
from holdfast.policies.exp3 import BlockExp3, Exp3
from holdfast.policies.policy import Policy
from holdfast.policies.registry import entry_of, find_policy
from holdfast.policies.tsallis import TsallisInf, TsallisSwitch, VaryingTsallisSwitch
from holdfast.results import Result
from holdfast.simulation import Power
from holdfast.simulation.costs import Costs
from holdfast.simulation.run import checkpoint_rounds, described_policy
from holdfast.text import number

CHECKPOINTS = 100
ALPHAS = (0.25, 0.5, 1.0)
LONG_ALPHAS = (*ALPHAS, 1.4, 2.0)
"""Exponents of the long runs: also just below 3/2, where sublinear growth ends in the paper, and above."""

BATCHES = (-2, -1, 0, 1, 2)
"""Offsets to the default number of geometric batches."""

CASES = {"easy": (EASY_GAP, EASY_COST), "hard": (HARD_GAP, HARD_COST), "free": (HARD_GAP, 0.0)}
"""Gap and switching cost of the stochastic figures."""

TOLD, NOT_TOLD = "told each range", "told the largest"
"""Series of Tsallis-INF that hear b_t before each round, or only that no loss exceeds 1."""

RANGES = {
    "varying-ranges": (1.0, *[0.1] * 9),
    "varying-ranges.wave": tuple(round(0.525 - 0.475 * math.cos(math.pi * t / 50), 4) for t in range(100)),
}
"""b_t by table, over and over: one round in ten is large, or they rise and fall."""

LONGEST_PROBE = 10**8
"""Longest horizon growth is fitted on; otherwise up to a thousand times the figures'."""

LEAST_JUDGED = 30
"""Fewest replications behind a verdict: with ten, as in the paper's figures, half the claims stay open."""

MOST_PROBED = 100
"""Most replications of the long probes: their exponents are sharp long before."""

LEDGER_FOLDER = "ledger"
"""Folder of the tables that only claims need."""

REGRET, SWITCHES = "pseudo_regret", "switches"


@dataclass(frozen=True)
class PaperSettings:
    """Settings of a run; the defaults are the paper's.

    >>> PaperSettings().long_horizon
    100000000
    """

    replications: int = field(default=10, metadata=whole(least=1, most=10**6))
    horizon: int = field(default=100_000, metadata=whole(least=100, most=10**12))
    n_arms: int = field(default=8, metadata=whole(least=2, most=10**4))
    seed: int = 0
    further: tuple[str, ...] = ()
    """Policies beside the paper's, each an id or ``"module:Class"``, perhaps with parameters; none by default."""
    switching_cost: float | None = field(default=None, metadata=or_none(real(above=0)))
    """λ of all figures whose λ is a constant above zero; each has the paper's unless given."""

    def __post_init__(self) -> None:
        check_fields(self)
        object.__setattr__(self, "seed", check_seed(self.seed))
        for text in self.further:
            if text in POLICIES:
                raise InvalidParameter("further", "must not be one of the paper's six, which play anyway", text)
            if ":" not in text:
                find_policy(text)  # those of users are imported when they play
        object.__setattr__(self, "further", tuple(dict.fromkeys(self.further)))

    @property
    def long_horizon(self) -> int:
        """The longest horizon of the probes."""
        return max(self.horizon, min(1000 * self.horizon, LONGEST_PROBE))

    @property
    def judged(self) -> int:
        """Replications of the tables that claims are judged by; those of the figures are the first of them."""
        return max(self.replications, LEAST_JUDGED)

    @property
    def probed(self) -> int:
        """Replications of a long probe."""
        return min(self.judged, MOST_PROBED)

    def cost(self, paper: float) -> float:
        """Return λ where the paper has this one: free switches stay free."""
        return paper if self.switching_cost is None or not paper else self.switching_cost

    def plain(self) -> dict[str, Any]:
        """Return the settings as JSON, without policies and a λ that were not asked for."""
        numbers = asdict(self) | {"further": list(self.further)}
        asked = {name: numbers.pop(name) for name in ("further", "switching_cost")}
        return numbers | {name: value for name, value in asked.items() if value}


PAPER = PaperSettings()
Cells = Callable[[PaperSettings], Sequence[Cell]]


@dataclass(frozen=True)
class Row:
    """One table: a row of a figure's panels, or a probe, which only claims need."""

    table: str
    make: Cells
    """Cells without their name, replications and seed."""
    label: str = ""
    drawn: bool = True
    long: bool = False
    """True if horizons reach far beyond the figures'; at most a hundred replications are then played."""

    def cells(self, settings: PaperSettings) -> list[Cell]:
        """Return the cells that fill the table."""
        runs = settings.probed if self.long else settings.judged
        return [replace(cell, name=self.table, replications=runs, seed=settings.seed) for cell in self.make(settings)]

    def has_papers_cost(self, settings: PaperSettings) -> bool:
        """Tell whether a switch costs here what it does in the paper."""
        paper = replace(settings, further=(), switching_cost=None)
        own = replace(paper, switching_cost=settings.switching_cost)
        costs, papers = ([cell.switching_cost for cell in self.make(each)] for each in (own, paper))
        return costs == papers

    def files(self, settings: PaperSettings) -> dict[str, int]:
        """Return the files it is kept in, below the folder of the run, with the replications in each."""
        kept = {f"{self.table}.parquet": settings.replications} if self.drawn else {}
        if not self.drawn or settings.replications < settings.judged:
            kept[f"{LEDGER_FOLDER}/{self.table}.parquet"] = settings.probed if self.long else settings.judged
        return kept


@dataclass(frozen=True)
class Figure:
    """One figure: its title, its place in the paper, its rows, and the probes of the claims about it."""

    name: str
    title: str
    place: str
    facts: Mapping[str, str]
    """Settings peculiar to this figure, as readers see them."""
    rows: tuple[Row, ...]
    probes: tuple[Row, ...] = ()
    series_label: str = "policy"

    def changes(self, settings: PaperSettings) -> dict[str, tuple[str, str]]:
        """Return the differences from the paper's settings, by letter: here, and there."""
        found = {
            "K": (number(settings.n_arms), number(PAPER.n_arms)),
            "T": (number(settings.horizon), number(PAPER.horizon)),
        }
        found = {name: pair for name, pair in found.items() if pair[0] != pair[1] and f"arms {name}" not in self.facts}
        if not all(row.has_papers_cost(settings) for row in self.rows):
            found["λ"] = f"{settings.switching_cost:g}", self.facts["switching cost λ"]
        return found


class PaperTables(Tables):
    """The tables of a run, with all the replications that claims are judged by."""

    def __init__(self, results: Mapping[str, Result], settings: PaperSettings, figures: Sequence[Figure] = ()) -> None:
        super().__init__(results)
        self.settings, self.figures = settings, tuple(figures)

    def with_papers_cost(self) -> PaperTables:
        """Return the tables in which a switch costs what it does in the paper: what it says of them is about those."""
        if self.settings.switching_cost is None:
            return self
        kept = {row.table for row in rows_of(tuple(FIGURES.values())) if row.has_papers_cost(self.settings)}
        return PaperTables({name: self[name] for name in self if name in kept}, self.settings, self.figures)

    def shown(self, table: str) -> Result:
        """Return the replications of a table that its figure shows."""
        return first_replications(self[table], self.settings.replications)

    def late_growth(self, table: str, policy: str, since: float = 0.9) -> Array:
        """Return pseudo-regret per round after the share `since` of the horizon, one number per replication."""
        rounds, values = self.curve(table, policy, REGRET)
        start = min(int(np.searchsorted(rounds, since * rounds[-1])), len(rounds) - 2)
        return np.asarray((values[:, -1] - values[:, start]) / (rounds[-1] - rounds[start]))

    def lost_runs(self, table: str, policy: str, gap: float) -> tuple[int, int]:
        """Count the runs whose regret grew by the gap in every round of the last tenth, and all runs.

        Such a run plays no best arm any more: an elimination policy has dropped it.
        """
        growth = self.late_growth(table, policy)
        return int((growth > (1 - 1e-6) * gap).sum()), len(growth)


def first_replications(result: Result, count: int) -> Result:
    """Return the first replications of a result: the same rows as if no more had been played."""

    def fewer(provenance: dict[str, Any]) -> dict[str, Any]:
        if "parts" in provenance:
            return {**provenance, "parts": [fewer(part) for part in provenance["parts"]]}
        return {**provenance, "replications": min(count, provenance["replications"])}

    return Result(result.frame.filter(pl.col("replication") < count), fewer(result.provenance))


# ---- cells of the figures ----


def six_policies(n_arms: int, switching_cost: float, horizon: int) -> dict[str, Policy]:
    """Return the policies the paper compares, by their ids."""
    policies: tuple[Policy, ...] = (
        TsallisSwitch(n_arms, switching_cost=switching_cost),
        TsallisInf(n_arms),
        Exp3(n_arms),
        BlockExp3(n_arms, switching_cost=switching_cost, horizon=horizon),
        BaSE(n_arms, horizon=horizon, grid="arithmetic"),
        BaSE(n_arms, horizon=horizon, grid="geometric"),
    )
    return {policy.label: policy for policy in policies}


POLICIES = tuple(six_policies(n_arms=2, switching_cost=1.0, horizon=1000))


def _cell(
    policies: Mapping[str, Policy],
    environment: Environment,
    cost: float | Power,
    T: int,
    checkpoints: int | Sequence[int] = CHECKPOINTS,
) -> Cell:
    rounds = min(checkpoints, T) if isinstance(checkpoints, int) else checkpoints
    return Cell(policies, environment, cost, T, checkpoint_rounds(rounds, T))


def _compared(setting: str) -> Cells:
    """Return all six policies, and any further ones asked for, in one setting."""

    def cells(settings: PaperSettings) -> list[Cell]:
        K, T = settings.n_arms, settings.horizon
        place = paper_settings(T, K)[setting]
        cost = settings.cost(place.switching_cost)
        further, code = {}, dict[str, str]()
        for text in settings.further:
            entry = {"name": text, **entry_of(text, "further")}
            name, policy, own = described_policy("further", entry, place.environment, T, Costs.of(cost))
            further[name] = policy
            code |= own
        cell = _cell(six_policies(K, cost, T) | further, place.environment, cost, T)
        return [replace(cell, code=code)]

    return cells


def _losses(kind: str, K: int, gap: float, best_arms: int = 1) -> Environment:
    if kind == "stochastic":
        return Bernoulli.with_gap(K, gap, best_arms=best_arms)
    return ConstrainedBernoulli(K, gap, best_arms=best_arms)


def _ties(
    kind: str, settings: PaperSettings, T: int, numbers: Sequence[int], checkpoints: int | Sequence[int] = CHECKPOINTS
) -> list[Cell]:
    """Return Tsallis-Switch with each of these numbers of best arms; the series are named by that number."""
    K, cost = settings.n_arms, settings.cost(TIES_COST)
    return [
        _cell(
            {str(best): TsallisSwitch(K, switching_cost=cost)}, _losses(kind, K, TIES_GAP, best), cost, T, checkpoints
        )
        for best in numbers
    ]


def _tied(kind: str) -> Cells:
    return lambda settings: _ties(kind, settings, settings.horizon, range(1, settings.n_arms))


def _varying(kind: str) -> Cells:
    return lambda settings: [
        _cell(
            {f"{alpha:g}": VaryingTsallisSwitch(settings.n_arms)},
            _losses(kind, settings.n_arms, EASY_GAP),
            Power(alpha),
            settings.horizon,
        )
        for alpha in ALPHAS
    ]


def _ranged(table: str) -> Cells:
    """Return Tsallis-INF on stochastic losses whose range is announced, and as if it were not."""

    def cells(settings: PaperSettings) -> list[Cell]:
        K = settings.n_arms
        losses = VaryingRanges((0.5 - EASY_GAP, *[0.5] * (K - 1)), RANGES[table])
        policies = {TOLD: TsallisInf(K, loss_bound="announced"), NOT_TOLD: TsallisInf(K)}
        return [_cell(policies, losses, 0.0, settings.horizon)]

    return cells


def _arms(policy: str) -> Cells:
    def cells(settings: PaperSettings) -> list[Cell]:
        places, cost = paper_settings(settings.horizon), settings.cost(HARD_COST)
        return [
            _cell(
                {str(K): six_policies(K, cost, settings.horizon)[policy]},
                places[f"arms-{K}"].environment,
                cost,
                settings.horizon,
            )
            for K in ARMS
        ]

    return cells


# ---- cells of the probes: long horizons, another tuning, other batches ----


def long_rounds(settings: PaperSettings) -> tuple[int, ...]:
    """Return ten rounds a decade, over the five decades up to the longest horizon."""
    top = settings.long_horizon
    return tuple(sorted({math.floor(top / 10 ** (i / 10) + 0.5) for i in range(51)} - {0}))


def horizons(settings: PaperSettings) -> tuple[int, ...]:
    """Return a horizon a decade, from a tenth of the figures' to the longest."""
    top, least = settings.long_horizon, max(100, settings.horizon // 10)
    return tuple(top // 10**i for i in reversed(range(20)) if top // 10**i >= least)


def long_ties(settings: PaperSettings) -> tuple[int, ...]:
    """Return the numbers of best arms in the long runs: one, the fewest ties, and the most."""
    return tuple(sorted({1, min(2, settings.n_arms - 1), settings.n_arms - 1}))


def _long_tied(kind: str) -> Cells:
    return lambda settings: _ties(kind, settings, settings.long_horizon, long_ties(settings), long_rounds(settings))


def _long_adversarial(settings: PaperSettings) -> list[Cell]:
    """Return a game for each horizon: the reversal comes later in a longer one."""
    K, cost = settings.n_arms, settings.cost(ADVERSARIAL_COST)
    return [
        _cell({"tsallis-switch": TsallisSwitch(K, switching_cost=cost)}, Reversal(K, T), cost, T, 1)
        for T in horizons(settings)
    ]


def _long_base(settings: PaperSettings) -> list[Cell]:
    K, losses = settings.n_arms, Bernoulli.with_gap(settings.n_arms, EASY_GAP)
    return [
        _cell({"base-geometric": BaSE(K, horizon=T, grid="geometric")}, losses, EASY_COST, T, 1)
        for T in horizons(settings)
    ]


def _long_varying(settings: PaperSettings) -> list[Cell]:
    K, T = settings.n_arms, settings.long_horizon
    losses = ConstrainedBernoulli(K, EASY_GAP)
    return [
        _cell({f"{alpha:g}": VaryingTsallisSwitch(K)}, losses, Power(alpha), T, long_rounds(settings))
        for alpha in LONG_ALPHAS
    ]


def _constant_cost(settings: PaperSettings) -> list[Cell]:
    """Return both tunings of Algorithm 1 where the cost is constant."""
    K, T = settings.n_arms, settings.horizon
    found = []
    for name, (gap, cost) in CASES.items():
        one, four = TsallisSwitch(K, switching_cost=cost), VaryingTsallisSwitch(K)
        policies = {f"{name}, Theorem 1": one, f"{name}, Theorem 4": four}
        found.append(_cell(policies, Bernoulli.with_gap(K, gap), cost, T))
    return found


def _geometric_batches(settings: PaperSettings) -> list[Cell]:
    """Return geometric BaSE with a few batches more or less, the best arm first; and with its arms in random order."""
    K, T = settings.n_arms, settings.horizon
    usual = BaSE(K, horizon=T, grid="geometric").batches
    policies = {f"{usual + more}": BaSE(K, horizon=T, grid="geometric", batches=usual + more) for more in BATCHES}
    policies[f"{usual}, random order"] = BaSE(K, horizon=T, grid="geometric", order="random")
    return [_cell(policies, ConstrainedBernoulli(K, EASY_GAP), EASY_COST, T)]


def _free_ties(settings: PaperSettings) -> list[Cell]:
    """Return Tsallis-INF without switching costs and with several best arms, as Zimmert and Seldin ran it."""
    K, T = settings.n_arms, settings.horizon
    return [
        _cell({str(best): TsallisInf(K)}, Bernoulli.with_gap(K, TIES_GAP, best_arms=best), 0.0, T)
        for best in range(1, K)
    ]


# ---- the figures ----


def _twice(setting: str) -> tuple[Row, ...]:
    """Return a constrained figure twice: as in the paper, and with the best arm anywhere."""
    return (
        Row(setting, _compared(setting), "best arm first, as in the paper"),
        Row(f"{setting}.shuffled", _compared(f"{setting}-shuffled"), "best arm's index at random"),
    )


_FIGURES = (
    Figure(
        name="stochastic-easy",
        title="Stochastic losses, large gap, cheap switches",
        place="Figure 2",
        facts={"gap Δ": "0.2", "switching cost λ": "0.025", "means": "0.3 for the best arm, 0.5 for the others"},
        rows=(Row("stochastic-easy", _compared("stochastic-easy")),),
        probes=(Row("long-base", _long_base, drawn=False, long=True),),
    ),
    Figure(
        name="stochastic-hard",
        title="Stochastic losses, small gap, costly switches",
        place="Figure 3",
        facts={"gap Δ": "0.05", "switching cost λ": "1", "means": "0.45 for the best arm, 0.5 for the others"},
        rows=(Row("stochastic-hard", _compared("stochastic-hard")),),
    ),
    Figure(
        name="stochastic-free",
        title="Stochastic losses, small gap, free switches",
        place="Figure 4",
        facts={"gap Δ": "0.05", "switching cost λ": "0", "means": "0.45 for the best arm, 0.5 for the others"},
        rows=(Row("stochastic-free", _compared("stochastic-free")),),
    ),
    Figure(
        name="constrained-easy",
        title="Losses that rise and fall together, large gap, cheap switches",
        place="Figure 5, Appendix E",
        facts={"gap Δ": "0.2", "switching cost λ": "0.025", "phases": "phase i starts at round ⌈1.6^i⌉"},
        rows=_twice("constrained-easy"),
        probes=(Row("geometric-batches", _geometric_batches, drawn=False),),
    ),
    Figure(
        name="constrained-hard",
        title="Losses that rise and fall together, small gap, costly switches",
        place="Figure 6, Appendix E",
        facts={"gap Δ": "0.05", "switching cost λ": "1", "phases": "phase i starts at round ⌈1.6^i⌉"},
        rows=_twice("constrained-hard"),
    ),
    Figure(
        name="adversarial",
        title="An adversary that reverses the losses",
        place="Figure 7, Appendix E",
        facts={
            "switching cost λ": "1",
            "reversal": "after ⌊√(KT ln(KT))⌋ rounds",
            "comparator": "the best arm up to each round",
        },
        rows=(Row("adversarial", _compared("adversarial")),),
        probes=(Row("long-adversarial", _long_adversarial, drawn=False, long=True),),
    ),
    Figure(
        name="ties-stochastic",
        title="Several best arms, stochastic losses",
        place="Figure 8, Appendix E",
        facts={"policy": "tsallis-switch", "gap Δ": "0.2", "switching cost λ": "1"},
        rows=(Row("ties-stochastic", _tied("stochastic")),),
        probes=(
            Row("long-ties-stochastic", _long_tied("stochastic"), drawn=False, long=True),
            Row("free-ties", _free_ties, drawn=False),
        ),
        series_label="best arms",
    ),
    Figure(
        name="ties-constrained",
        title="Several best arms, losses that rise and fall together",
        place="Figure 9, Appendix E",
        facts={"policy": "tsallis-switch", "gap Δ": "0.2", "switching cost λ": "1"},
        rows=(Row("ties-constrained", _tied("constrained")),),
        probes=(Row("long-ties-constrained", _long_tied("constrained"), drawn=False, long=True),),
        series_label="best arms",
    ),
    Figure(
        name="varying-ranges",
        title="Losses whose range is announced before each round",
        place="ours, for Theorem 2",
        facts={"policy": "tsallis-inf", "gap in round t": "0.2 b_t", "switching cost λ": "0", "losses": "0 or b_t"},
        rows=(
            Row("varying-ranges", _ranged("varying-ranges"), "b_t is 1 in every tenth round, else 0.1"),
            Row("varying-ranges.wave", _ranged("varying-ranges.wave"), "b_t rises and falls, from 0.05 to 1"),
        ),
        series_label="policy",
    ),
    Figure(
        name="varying-cost",
        title="A switching cost that rises from block to block",
        place="ours, for Theorem 4 and Corollary 5 (Section 5.1)",
        facts={"policy": "tsallis-switch-varying", "gap Δ": "0.2", "switching cost λ_n": "n^α"},
        rows=(
            Row("varying-cost", _varying("stochastic"), "stochastic losses"),
            Row("varying-cost.constrained", _varying("constrained"), "losses that rise and fall together"),
        ),
        probes=(
            Row("long-varying-cost", _long_varying, drawn=False, long=True),
            Row("constant-cost", _constant_cost, drawn=False),
        ),
        series_label="α",
    ),
    Figure(
        name="arms",
        title="From 2 to 32 arms",
        place="ours, for the remark on K in Appendix E",
        facts={"gap Δ": "0.05", "switching cost λ": "1", "arms K": "2 to 32", "losses": "constrained, best arm first"},
        rows=(
            Row("arms", _arms("tsallis-switch"), "tsallis-switch"),
            Row("arms.tsallis-inf", _arms("tsallis-inf"), "tsallis-inf"),
            Row("arms.exp3-blocks", _arms("exp3-blocks"), "exp3-blocks"),
        ),
        series_label="arms K",
    ),
)

FIGURES: Mapping[str, Figure] = {figure.name: figure for figure in _FIGURES}
"""Every figure by its name, in the paper's order."""


def chosen(names: object) -> tuple[Figure, ...]:
    """Return the figures of these names, each once and in the paper's order; all of them for None or none."""
    if isinstance(names, str):
        names = [names]
    wanted = list(names) if names is not None else []  # type: ignore[call-overload]  # any iterable of names
    for name in wanted:
        one_of("figure", name, FIGURES)
    return tuple(figure for figure in _FIGURES if not wanted or figure.name in wanted)


def rows_of(figures: Sequence[Figure]) -> list[Row]:
    """Return every table of these figures: the rows, then the probes."""
    return [row for figure in figures for row in figure.rows] + [row for figure in figures for row in figure.probes]


def paper_plan(figures: Sequence[Figure], settings: PaperSettings) -> Plan:
    """Return the plan of these figures and their probes."""
    return Plan("paper", tuple(cell for row in rows_of(figures) for cell in row.cells(settings)))


# ---- which proven bounds apply to which series ----


@dataclass(frozen=True)
class AppliedBound:
    """At round t the mean of `measure` in the series `series` is at most `value(horizon=t)`.

    That holds at every round t: the policies here do not know the horizon, so a game looked at in round t is a game of
    horizon t. (Block EXP3 and BaSE do know it, and nothing here is about them.)
    """

    series: str
    bound: str
    statement: str
    measure: str
    value: Callable[..., float]

    @property
    def each(self) -> bool:
        """True if it holds in every run, not of the mean alone."""
        return self.measure == SWITCHES

    def at(self, rounds: Array) -> Array:
        """Return the bound at each of these rounds."""
        return np.array([self.value(horizon=int(t)) for t in rounds])


def guarantees(cell: Cell) -> list[AppliedBound]:
    """Return every bound of `holdfast.bounds` that applies to a series of this cell."""
    gap = _gap(cell.environment)
    return [
        AppliedBound(series, *proved)
        for series, policy in cell.policies.items()
        for proved in _bounds(policy, cell.switching_cost, gap, cell.environment)
        if proved is not None
    ]


def _gap(environment: Environment) -> float | None:
    """Return the one gap, where the gaps are fixed and the best arm is unique."""
    if isinstance(environment, ConstrainedBernoulli):
        return environment.gap if environment.best_arms == 1 else None
    if isinstance(environment, Bernoulli):
        best, second, *_ = sorted(environment.mean_losses)
        return round(second - best, 15) or None
    return None


def _bounds(policy: Policy, cost: Any, gap: float | None, world: Environment) -> Iterator[Proved | None]:
    """Yield the bounds proved for this policy with this cost; none in units other than the theorems'."""
    if policy.units != (0.0, 1.0):
        return
    if isinstance(policy, TsallisSwitch):
        yield from _of_tsallis_switch(policy, cost, gap)
    elif isinstance(policy, TsallisInf):
        yield from _of_tsallis_inf(policy, gap) if policy.announces is None else _of_told(policy, world)
    elif isinstance(policy, Exp3):
        yield proved_regret(policy)
    elif isinstance(policy, VaryingTsallisSwitch):
        yield from _of_varying(policy.n_arms, cost, gap)
    elif isinstance(policy, AdaptiveTsallisSwitch) and not isinstance(cost, Power):
        yield proved_cost(policy, cost)


def _of_tsallis_switch(policy: TsallisSwitch, cost: float | Power, gap: float | None) -> Iterator[Proved | None]:
    """Yield Theorem 1's bounds, proved for its own schedule and for a game whose λ the schedule was made for."""
    K, own = policy.n_arms, policy.switching_cost
    if policy.block_lengths is not None or own is None:
        return
    yield Proved("blocks", "number of blocks", SWITCHES, partial(bounds.blocks, n_arms=K, switching_cost=own))
    if isinstance(cost, Power) or cost != own:
        return
    yield proved_cost(policy, cost)
    if gap is not None:
        value = partial(bounds.theorem_1_constrained, n_arms=K, switching_cost=cost, gaps=gap)
        yield Proved("theorem-1-unique", "Theorem 1, unique best arm", COST, value)


def _of_tsallis_inf(policy: TsallisInf, gap: float | None) -> Iterator[Proved]:
    """Yield Zimmert and Seldin's bound, which is proved where Corollary 3 is."""
    K, for_any_losses = policy.n_arms, proved_regret(policy)
    if for_any_losses is None:
        return
    yield for_any_losses
    if gap is not None:
        value = partial(bounds.corollary_3_constrained, n_arms=K, gaps=gap)
        yield Proved("corollary-3-unique", "Corollary 3, unique best arm", REGRET, value)
        value = partial(bounds.tsallis_inf_constrained, n_arms=K, gaps=gap)
        yield Proved("tsallis-inf-unique", "Zimmert and Seldin, unique best arm", REGRET, value)


def _of_told(policy: TsallisInf, world: Environment) -> Iterator[Proved]:
    """Yield Theorem 2's bounds for the rates 2/√(Σ b_s²)."""
    if policy.estimator != "importance-weighted" or not isinstance(world, VaryingRanges):
        return

    def inputs(horizon: int) -> dict[str, Any]:
        b = np.resize(world.ranges, horizon)
        return {"n_arms": policy.n_arms, "learning_rates": 2 / np.sqrt(np.cumsum(b * b)), "ranges": b}

    best, second, *_ = sorted(world.mean_losses)
    yield Proved("theorem-2", "Theorem 2", REGRET, lambda horizon: bounds.theorem_2(**inputs(horizon)))
    if second > best:
        gaps = round(second - best, 15)
        unique = lambda horizon: bounds.theorem_2_constrained(**inputs(horizon), gaps=gaps)  # noqa: E731
        yield Proved("theorem-2-unique", "Theorem 2, unique best arm", REGRET, unique)


def _of_varying(K: int, cost: float | Power, gap: float | None) -> Iterator[Proved]:
    yield Proved("theorem-4", "Theorem 4", COST, partial(bounds.theorem_4, n_arms=K, costs=cost))
    if gap is not None:
        value = partial(bounds.theorem_4_constrained, n_arms=K, costs=cost, gaps=gap)
        yield Proved("theorem-4-unique", "Theorem 4, unique best arm", COST, value)
        if isinstance(cost, Power) and cost.scale == 1.0:
            value = partial(bounds.corollary_5, n_arms=K, alpha=cost.alpha, gaps=gap)
            yield Proved("corollary-5", "Corollary 5", COST, value)
