"""The claims: each checkable sentence of the paper's experiments and of its theorems, as one entry.

The words that a sentence leaves open are thresholds here, the same wherever they are used.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property

import numpy as np

from holdfast import bounds
from holdfast.lab.judge import (
    COST,
    Between,
    Claim,
    Computed,
    Less,
    Near,
    Never,
    Often,
    Question,
    Sometimes,
    Under,
    Verdict,
    judge,
    slopes,
)
from holdfast.lab.paper.plan import (
    CASES,
    FIGURES,
    LONG_ALPHAS,
    NOT_TOLD,
    POLICIES,
    RANGES,
    TOLD,
    PaperTables,
    guarantees,
    horizons,
    long_ties,
)
from holdfast.lab.plan import ARMS, EASY_GAP, HARD_COST, HARD_GAP
from holdfast.numerics.layout import Array
from holdfast.text import three_digits

Asks = Callable[[PaperTables], Sequence[Question]]

NO_BLOCKS = ("tsallis-inf", "exp3")
BASE = ("base-arithmetic", "base-geometric")

SIMILAR = 1.25
""""Similar", "nearly the same": within a quarter of each other."""

COINCIDE = 1.05
"""Curves that "almost coincide": within a twentieth of each other."""

COMPETITIVE = 2.0
""""Competitive": at most twice the other's."""

FAR = 0.5
""""Much better": less than half the other's."""

FEW = 0.1
""""Few switches": in fewer than a tenth of the rounds."""

OURS = "ours"
"""Beginning of the place of a claim that is not the paper's."""

LOW = 0.05
""""Very low" regret: less than a twentieth of the worst policy's."""

WITHIN = 0.05
"""An exponent is met when the fitted one is at most this far from it."""

LINEAR = 0.9
""""Linear" regret: about a whole loss per round."""

DECADES = 2
"""Exponents are fitted over the last decades of a long run."""


# ---- comparisons that most claims are made of ----


def cheaper(
    tables: PaperTables, table: str, policy: str, others: Iterable[str], *, factor: float = 1.0, where: str = ""
) -> list[Question]:
    """Ask whether the final regret with switching of `policy` is below `factor` times that of each other."""
    at = f" ({where})" if where else ""
    return [tables.less(f"against {other}{at}", table, policy, other, factor=factor) for other in others]


def cheaper_in(settings: Mapping[str, str], policy: str, others: Collection[str], factor: float = 1.0) -> Asks:
    """Ask the same in each of these tables, which are called by their values."""
    return lambda tables: [
        question
        for table, name in settings.items()
        for question in cheaper(tables, table, policy, others, factor=factor, where=name)
    ]


# ---- Section 7, Figures 2 to 4, and what Section 8 concludes from them ----

EASY, HARD, FREE = "stochastic-easy", "stochastic-hard", "stochastic-free"
STOCHASTIC = {EASY: "easy", HARD: "hard", FREE: "free"}


def _base_switches(tables: PaperTables) -> list[Question]:
    rounds, switches = tables.curve("long-base", "base-geometric", "switches")
    batches = np.ceil(np.log(np.array(horizons(tables.settings), dtype=np.float64)))
    most = tables.settings.n_arms * batches[-len(rounds) :]
    return [Under("up to the longest horizon", ((switches, most),), each=True)]


def _few_switches(tables: PaperTables) -> list[Question]:
    rounds = float(tables.settings.horizon)
    return [Less(f"for {policy}", tables.final(EASY, policy, "switches"), rounds, FEW) for policy in NO_BLOCKS]


def _trade_off(tables: PaperTables) -> list[Question]:
    found: list[Question] = []
    for blocks, none in (("tsallis-switch", "tsallis-inf"), ("exp3-blocks", "exp3")):
        found += [
            tables.less(f"for the regret of {none} and {blocks}", HARD, none, blocks, "pseudo_regret"),
            tables.less(f"for the switches of {blocks} and {none}", HARD, blocks, none, "switches"),
        ]
    return found


def _small_gap(tables: PaperTables) -> list[Question]:
    return [
        Less(f"for {policy}", tables.final(EASY, policy, "switches"), tables.final(HARD, policy, "switches"))
        for policy in NO_BLOCKS
    ]


def _dominance(tables: PaperTables) -> list[Question]:
    return [
        Less(
            f"for {policy}",
            tables.final(HARD, policy, "pseudo_regret"),
            HARD_COST * tables.final(HARD, policy, "switches"),
        )
        for policy in POLICIES
    ]


def _free_best(tables: PaperTables) -> list[Question]:
    return [
        question
        for policy in ("tsallis-inf", "tsallis-switch")
        for question in cheaper(tables, FREE, policy, ("exp3", *BASE), where=policy)
    ]


def _free_alike(tables: PaperTables) -> list[Question]:
    first, second = (tables.final(FREE, policy) for policy in ("tsallis-switch", "tsallis-inf"))
    return [Near("at the horizon", first, second, SIMILAR)]


STOCHASTIC_CLAIMS: tuple[Claim[PaperTables], ...] = (
    Claim(
        id="easy-few-switches",
        sentence="Where the gap is large, even the policies without blocks do not switch much.",
        place="Section 7, Figure 2",
        rule=f"switches at the horizon below {FEW:g} of the rounds",
        questions=_few_switches,
        figure=EASY,
        thresholds={"share of the rounds": FEW},
    ),
    Claim(
        id="easy-tsallis-inf-best",
        sentence="In the easy setting Tsallis-INF without blocks performs best.",
        place="Section 7, Figure 2",
        rule="final regret with switching of tsallis-inf below that of each other policy",
        questions=cheaper_in({EASY: ""}, "tsallis-inf", [policy for policy in POLICIES if policy != "tsallis-inf"]),
        figure=EASY,
    ),
    Claim(
        id="hard-trade-off",
        sentence="In the hard setting small regret and few switches are at odds.",
        place="Section 7, Figure 3",
        rule="each block policy has more regret and fewer switches than its version without blocks",
        questions=_trade_off,
        figure=HARD,
    ),
    Claim(
        id="hard-more-switches",
        sentence="A small gap forces more switches.",
        place="Section 7, Figures 2 and 3",
        rule="switches of the policies that ignore λ, easy below hard",
        questions=_small_gap,
        figure=HARD,
    ),
    Claim(
        id="hard-switching-dominates",
        sentence="In the hard setting the switching cost is the larger part of the regret with switching.",
        place="Section 7, Figure 3",
        rule="final pseudo-regret below λ times the switches",
        questions=_dominance,
        figure=HARD,
    ),
    Claim(
        id="free-best",
        sentence="With free switches Tsallis-INF and Tsallis-Switch outperform EXP3 and both BaSE.",
        place="Section 7, Figure 4",
        rule="final regret with switching below that of each of the three",
        questions=_free_best,
        figure=FREE,
    ),
    Claim(
        id="free-alike",
        sentence="With free switches Tsallis-Switch and Tsallis-INF perform very similarly.",
        place="Section 7, Figure 4",
        rule=f"final regret with switching within a factor of {SIMILAR:g} of each other",
        questions=_free_alike,
        figure=FREE,
        thresholds={"factor": SIMILAR},
    ),
    Claim(
        id="stochastic-competitive",
        sentence="In the stochastic setting Tsallis-Switch is competitive with the best stochastic policies.",
        place="Section 8",
        rule=f"final regret with switching of tsallis-switch below {COMPETITIVE:g} times that of each "
        "BaSE, in Figures 2 to 4",
        questions=cheaper_in(STOCHASTIC, "tsallis-switch", BASE, COMPETITIVE),
        thresholds={"factor": COMPETITIVE},
    ),
    Claim(
        id="stochastic-beats-adversarial",
        sentence="In the stochastic setting Tsallis-Switch outperforms the adversarial policies.",
        place="Section 8",
        rule="final regret with switching of tsallis-switch below that of EXP3 with and without blocks, "
        "in Figures 2 to 4",
        questions=cheaper_in(STOCHASTIC, "tsallis-switch", ("exp3", "exp3-blocks")),
    ),
    Claim(
        id="base-log-switches",
        sentence="In the stochastic regime geometric BaSE needs only O(log T) switches.",
        place="Section 7",
        rule="switches of every run at most K⌈ln T⌉, a game for each power of ten",
        questions=_base_switches,
        figure=EASY,
    ),
)


# ---- Appendix E, Figures 5 and 6: losses that rise and fall together; the remark on other numbers of arms ----

ROWS = {
    "constrained-easy": ("easy, best arm first", EASY_GAP),
    "constrained-hard": ("hard, best arm first", HARD_GAP),
    "constrained-easy.shuffled": ("easy, best arm anywhere", EASY_GAP),
    "constrained-hard.shuffled": ("hard, best arm anywhere", HARD_GAP),
}


def _not_robust(tables: PaperTables) -> list[Question]:
    return [
        Often(f"for {name}", *tables.lost_runs(table, "base-arithmetic", gap)) for table, (name, gap) in ROWS.items()
    ]


def _some_not_all(tables: PaperTables) -> list[Question]:
    return [Sometimes("for base-arithmetic", *tables.lost_runs("constrained-easy", "base-arithmetic", EASY_GAP))]


def _geometric_well(tables: PaperTables) -> list[Question]:
    found: list[Question] = []
    for table, (name, gap) in ROWS.items():
        found.append(
            Never(f"for never dropping the best arm ({name})", *tables.lost_runs(table, "base-geometric", gap))
        )
        less = f"for less than tsallis-switch ({name})"
        found.append(tables.less(less, table, "base-geometric", "tsallis-switch"))
    return found


def _geometric_batches(tables: PaperTables) -> list[Question]:
    table = "geometric-batches"
    return [
        Never(
            f"for {series.replace(',', ' batches,') if ',' in series else f'{series} batches'}",
            *tables.lost_runs(table, series, EASY_GAP),
        )
        for series in tables[table].policies
    ]


def _close(tables: PaperTables) -> list[Question]:
    own = tables.final("constrained-easy", "tsallis-switch")
    return [Near(f"for {other}", own, tables.final("constrained-easy", other), SIMILAR) for other in NO_BLOCKS]


def _other_arms(tables: PaperTables) -> list[Question]:
    return [
        Less(f"for K = {K}", tables.final("arms", str(K)), tables.final("arms.tsallis-inf", str(K)), FAR) for K in ARMS
    ]


CONSTRAINED_CLAIMS: tuple[Claim[PaperTables], ...] = (
    Claim(
        id="constrained-arithmetic-fragile",
        sentence="BaSE with arithmetic batches is not robust to constrained losses: it drops the best arm.",
        place="Appendix E, Figures 5 and 6",
        rule="runs whose regret grows by Δ in every round of the last tenth; their share above 1 %",
        questions=_not_robust,
        figure="constrained-hard",
        thresholds={"share of the runs": 0.01},
    ),
    Claim(
        id="constrained-arithmetic-some-runs",
        sentence="In the easy setting arithmetic BaSE drops the best arm in some of the runs, but not in all.",
        place="Appendix E, caption of Figure 5",
        rule="runs whose regret grows by Δ in every round of the last tenth; more than none, fewer than all",
        questions=_some_not_all,
        figure="constrained-easy",
    ),
    Claim(
        id="constrained-geometric-well",
        sentence="BaSE with geometric batches performs really well against constrained losses.",
        place="Appendix E, Figures 5 and 6",
        rule="it keeps the best arm in every run, and its final regret with switching is below that of tsallis-switch",
        questions=_geometric_well,
        figure="constrained-easy",
        thresholds={"share of the runs": 0.01},
    ),
    Claim(
        id="constrained-geometric-batches",
        sentence="That geometric BaSE keeps the best arm does not depend on its number of batches or the order "
        "of arms.",
        place="ours, on Appendix E, Figure 5",
        rule="runs that drop the best arm in the easy setting, the best arm first",
        questions=_geometric_batches,
        figure="constrained-easy",
        thresholds={"share of the runs": 0.01},
    ),
    Claim(
        id="constrained-close-when-cheap",
        sentence="Where switches are cheap, Tsallis-Switch has about the same regret with switching as "
        "the policies without blocks.",
        place="Appendix E, Figure 5",
        rule=f"final regret with switching within a factor of {SIMILAR:g} of each other",
        questions=_close,
        figure="constrained-easy",
        thresholds={"factor": SIMILAR},
    ),
    Claim(
        id="constrained-better-when-costly",
        sentence="Where switches are costly, Tsallis-Switch is much better than the policies without blocks.",
        place="Appendix E, Figure 6",
        rule=f"final regret with switching of tsallis-switch below {FAR:g} times theirs",
        questions=cheaper_in({"constrained-hard": ""}, "tsallis-switch", NO_BLOCKS, FAR),
        figure="constrained-hard",
        thresholds={"factor": FAR},
    ),
    Claim(
        id="constrained-beats-base",
        sentence="Tsallis-Switch outperforms BaSE in the stochastically constrained adversarial regime.",
        place="Section 7, on Appendix E",
        rule="final regret with switching of tsallis-switch below that of each BaSE",
        questions=cheaper_in({table: name for table, (name, _) in ROWS.items()}, "tsallis-switch", BASE),
        figure="constrained-hard",
    ),
    Claim(
        id="other-arms",
        sentence="Other numbers of arms give similar results.",
        place="Appendix E",
        rule=f"hard constrained setting: final regret with switching of tsallis-switch below {FAR:g} times "
        "tsallis-inf's, as for K = 8",
        questions=_other_arms,
        figure="arms",
        thresholds={"factor": FAR},
    ),
)


# ---- Appendix E, Figures 7 to 9: the adversary that reverses the losses, and several best arms ----

ADVERSARIAL = "adversarial"


def linear(tables: PaperTables) -> list[Question]:
    """Ask whether both BaSE still lose about a whole loss per round in the second half."""
    return [Between(f"for {policy}", tables.late_growth(ADVERSARIAL, policy, since=0.5), low=LINEAR) for policy in BASE]


def _coincide(tables: PaperTables) -> list[Question]:
    first, second = (tables.final(ADVERSARIAL, policy) for policy in BASE)
    return [Near("at the horizon", first, second, COINCIDE)]


def _highest(tables: PaperTables) -> list[Question]:
    return [
        tables.less(f"for {base} above {other}", ADVERSARIAL, other, base)
        for base in BASE
        for other in POLICIES
        if other not in BASE
    ]


def _low(tables: PaperTables) -> list[Question]:
    regret, switches = (
        tables.final(ADVERSARIAL, "tsallis-switch", measure) for measure in ("pseudo_regret", "switches")
    )
    worst = tables.final(ADVERSARIAL, "base-geometric", "pseudo_regret")
    found: list[Question] = [
        Less("for the regret against base-geometric's", regret, worst, LOW),
        Less("for the switches against the rounds", switches, float(tables.settings.horizon), FEW),
    ]
    for other in ("tsallis-inf", "exp3", "exp3-blocks"):
        theirs = tables.final(ADVERSARIAL, other, "switches")
        found.append(Less(f"for the switches against {other}'s", switches, theirs))
    return found


def _adversarial_competitive(tables: PaperTables) -> list[Question]:
    found = cheaper(tables, ADVERSARIAL, "tsallis-switch", ("tsallis-inf", "exp3", "exp3-blocks"))
    return found + cheaper(tables, ADVERSARIAL, "tsallis-switch", BASE, factor=FAR)


def steps(tables: PaperTables, table: str, measure: str, *, rising: bool) -> list[Question]:
    """Compare each number of best arms with the next."""
    names = [str(best) for best in range(1, tables.settings.n_arms)]
    found: list[Question] = []
    for fewer, more in itertools.pairwise(names):
        low, high = (fewer, more) if rising else (more, fewer)
        found.append(tables.less(f"from {fewer} to {more}", table, low, high, measure))
    return found


def more_than_one(table: str, tables: PaperTables) -> list[Question]:
    """Ask whether every tie costs more than a single best arm."""
    return [tables.less(f"with {name}", table, "1", name) for name in tables[table].policies[1:]]


def _tied(kind: str, place: str) -> tuple[Claim[PaperTables], ...]:
    table, losses = f"ties-{kind}", f"under {kind} losses"
    long = f"long-{table}"
    return (
        Claim(
            id=f"{table}-cost",
            sentence=f"The regret with switching clearly rises as the number of best arms grows beyond one, {losses}.",
            place=f"Appendix E, {place}",
            rule="final regret with switching with one best arm below that with more",
            questions=lambda tables: more_than_one(table, tables),
            figure=table,
        ),
        Claim(
            id=f"{table}-cost-long",
            sentence=f"The same on a horizon a thousand times as long (10⁸ at most), {losses}.",
            place=f"ours, on Appendix E, {place}",
            rule="final regret with switching with one best arm below that with more",
            questions=lambda tables: more_than_one(long, tables),
            figure=table,
        ),
        Claim(
            id=f"{table}-switches",
            sentence=f"Each further best arm brings more switches, between arms that are equally good, {losses}.",
            place=f"Appendix E, {place}",
            rule="switches at the horizon, each number of best arms against the next",
            questions=lambda tables: steps(tables, table, "switches", rising=True),
            figure=table,
        ),
    )


WORST_CASE_CLAIMS: tuple[Claim[PaperTables], ...] = (
    Claim(
        id="adversarial-base-linear",
        sentence="Both BaSE suffer linear regret against the adversary: they have dropped every good arm.",
        place="Appendix E, Figure 7",
        rule=f"pseudo-regret per round over the second half above {LINEAR:g}",
        questions=linear,
        figure=ADVERSARIAL,
        thresholds={"regret per round": LINEAR},
    ),
    Claim(
        id="adversarial-base-coincide",
        sentence="The two BaSE curves almost coincide against the adversary.",
        place="Appendix E, caption of Figure 7",
        rule=f"final regret with switching within a factor of {COINCIDE:g} of each other",
        questions=_coincide,
        figure=ADVERSARIAL,
        thresholds={"factor": COINCIDE},
    ),
    Claim(
        id="adversarial-base-highest",
        sentence="The two BaSE curves are the highest ones against the adversary.",
        place="Appendix E, caption of Figure 7",
        rule="final regret with switching of each other policy below theirs",
        questions=_highest,
        figure=ADVERSARIAL,
    ),
    Claim(
        id="adversarial-switch-low",
        sentence="Tsallis-Switch has both a very low regret and few switches against the adversary.",
        place="Appendix E, Figure 7",
        rule=f"final regret below {LOW:g} of BaSE's; switches below {FEW:g} of the rounds and below the others'",
        questions=_low,
        figure=ADVERSARIAL,
        thresholds={"share of BaSE's regret": LOW, "share of the rounds": FEW},
    ),
    Claim(
        id="adversarial-competitive",
        sentence="In the adversarial setting Tsallis-Switch competes with the adversarial policies and is far better "
        "than the stochastic ones.",
        place="Section 8",
        rule="final regret with switching of tsallis-switch below that of each adversarial policy, and "
        f"below {FAR:g} times each BaSE's",
        questions=_adversarial_competitive,
        figure=ADVERSARIAL,
        thresholds={"factor": FAR},
    ),
    Claim(
        id="ties-free-regret-falls",
        sentence="Without switching costs the regret of Tsallis-INF falls as best arms are added.",
        place="Appendix E, quoting Zimmert and Seldin",
        rule="final pseudo-regret, each number of best arms against the next",
        questions=lambda tables: steps(tables, "free-ties", "pseudo_regret", rising=False),
        figure="ties-stochastic",
    ),
    *_tied("stochastic", "Figure 8"),
    *_tied("constrained", "Figure 9"),
)


# ---- Section 5: the bounds, and the growth they promise ----


def _respected(*names: str) -> Asks:
    """Ask whether these bounds are respected wherever they apply, in every figure that was run."""

    def questions(tables: PaperTables) -> list[Question]:
        found: list[Question] = []
        for row in (row for figure in FIGURES.values() for row in figure.rows):
            if row.table not in tables:
                continue
            apply = [g for cell in row.cells(tables.settings) for g in guarantees(cell)]
            for name in names:
                these = [guarantee for guarantee in apply if guarantee.bound == name]
                if these:
                    curves = [(g, *tables.curve(row.table, g.series, g.measure)) for g in these]
                    series = tuple((values, g.at(rounds)) for g, rounds, values in curves)
                    which = f" ({these[0].statement})" if len(names) > 1 else ""
                    found.append(Under(f"in {row.table}{which}", series, these[0].each))
        return found

    return questions


def exponents(tables: PaperTables, table: str, series: str, measure: str = COST) -> Array:
    """Return the exponent of growth over the last decades, one number per replication."""
    rounds, values = tables.curve(table, series, measure)
    late = rounds >= rounds[-1] / 10**DECADES * 0.999
    return slopes(rounds[late], values[:, late])


KINDS = ("stochastic", "constrained")


def _long_ties(tables: PaperTables) -> list[tuple[str, int, Array]]:
    """Return kind of losses, number of best arms, and exponents of the long runs that were played."""
    return [
        (kind, best, exponents(tables, f"long-ties-{kind}", str(best)))
        for kind in KINDS
        if f"long-ties-{kind}" in tables
        for best in long_ties(tables.settings)
    ]


def _worst_case(tables: PaperTables) -> list[Question]:
    most = 2 / 3 + WITHIN
    found: list[Question] = []
    if "long-adversarial" in tables:
        values = exponents(tables, "long-adversarial", "tsallis-switch", "switches")
        found.append(Between("for the switches against the adversary", values, high=most))
    for kind, best, values in _long_ties(tables):
        found.append(Between(f"for {best} best arm{'s' * (best > 1)} ({kind})", values, high=most))
    return found


def _unique(tables: PaperTables) -> list[Question]:
    return [
        Between(f"for {kind} losses", values, 1 / 3 - WITHIN, 1 / 3 + WITHIN)
        for kind, best, values in _long_ties(tables)
        if best == 1
    ]


def _ties_break_it(tables: PaperTables) -> list[Question]:
    return [
        Between(f"for {best} best arms ({kind})", values, low=1 / 3 + WITHIN)
        for kind, best, values in _long_ties(tables)
        if best > 1
    ]


def _sublinear(tables: PaperTables) -> list[Question]:
    table = "long-varying-cost"
    return [Between(f"for α = {alpha:g}", exponents(tables, table, f"{alpha:g}"), high=1.0) for alpha in LONG_ALPHAS]


def _corollary_5(tables: PaperTables) -> list[Question]:
    found: list[Question] = []
    for alpha in LONG_ALPHAS:
        promised = bounds.corollary_5_exponents(alpha=alpha)
        most = max(promised.blocks.horizon, promised.last_block.horizon)
        values = exponents(tables, "long-varying-cost", f"{alpha:g}")
        found.append(Between(f"for α = {alpha:g} (there {most:.3f})", values, high=most + WITHIN))
    return found


def _worth_telling(tables: PaperTables) -> list[Question]:
    return [tables.less(f"in {table}", table, TOLD, NOT_TOLD, "pseudo_regret") for table in RANGES]


def _tuning(tables: PaperTables) -> list[Question]:
    return [tables.less(f"for {name}", "constant-cost", f"{name}, Theorem 1", f"{name}, Theorem 4") for name in CASES]


def _matches_tsallis_inf(tables: PaperTables) -> list[Question]:
    K = tables.settings.n_arms
    horizons = [10**power for power in range(2, 16)]
    adversarial = [
        bounds.theorem_1(n_arms=K, switching_cost=0.0, horizon=T) / bounds.tsallis_inf(n_arms=K, horizon=T)
        for T in horizons
    ]
    unique = [
        bounds.theorem_1_constrained(n_arms=K, switching_cost=0.0, horizon=T, gaps=gap)
        / bounds.tsallis_inf_constrained(n_arms=K, horizon=T, gaps=gap)
        for T in horizons
        for gap, _ in CASES.values()
    ]
    return [
        Computed(f"for {name}", max(ratios) < 10, max(ratios), f"at most {max(ratios):.3g} times as large")
        for name, ratios in (("any losses", adversarial), ("a unique best arm", unique))
    ]


def _improves(tables: PaperTables) -> list[Question]:
    K, found = tables.settings.n_arms, []
    for name, (gap, cost) in CASES.items():

        def ratio(T: float, gap: float = gap, cost: float = cost) -> float:
            unique = bounds.theorem_1_constrained(n_arms=K, switching_cost=cost, horizon=round(T), gaps=gap)
            return unique / bounds.theorem_1(n_arms=K, switching_cost=cost, horizon=round(T))

        value, low, high = ratio(tables.settings.horizon), 2.0, 30.0
        at = f"at T = {three_digits(tables.settings.horizon)} ({name})"
        found.append(Computed(at, value < 1, value, f"{value:.3g} times the other"))
        for _ in range(50):  # the ratio falls with T
            middle = (low + high) / 2
            low, high = (middle, high) if ratio(10**middle) > 1 else (low, middle)
        enough = f"at T above 10^{{{high:.1f}}} ({name})"
        found.append(Computed(enough, ratio(10 ** (high + 0.1)) < 1, 10**high, "the smaller one from there"))
    return list[Question](found)


def _bound(id: str, sentence: str, place: str, names: tuple[str, ...], rule: str) -> Claim[PaperTables]:
    return Claim(id, sentence, place, rule, _respected(*names))


MEAN = "largest part of the bound that the mean uses at any checkpoint; the rest is slack"

THEOREM_CLAIMS: tuple[Claim[PaperTables], ...] = (
    _bound(
        "bound-theorem-1",
        "Tsallis-Switch's regret with switching respects Theorem 1's bound for any losses.",
        "Theorem 1",
        ("theorem-1",),
        MEAN,
    ),
    _bound(
        "bound-theorem-1-unique",
        "With a unique best arm it also respects Theorem 1's second bound.",
        "Theorem 1",
        ("theorem-1-unique",),
        MEAN,
    ),
    _bound(
        "bound-blocks",
        "Tsallis-Switch plays, and so switches, at most K^{1/3}(T/λ)^{2/3} + 1 times.",
        "Section 6, proof of Theorem 1",
        ("blocks",),
        "largest part of the bound that any run uses at any checkpoint; the rest is slack",
    ),
    Claim(
        id="theorem-1-free",
        sentence="At λ = 0 both bounds of Theorem 1 are those of Tsallis-INF up to constants.",
        place="Section 5, after Theorem 1",
        rule="ratio of the bounds for T from 10² to 10¹⁵ below 10",
        questions=_matches_tsallis_inf,
        thresholds={"ratio": 10.0},
    ),
    Claim(
        id="theorem-1-unique-better",
        sentence="With a unique best arm Theorem 1 improves on its own bound for any losses.",
        place="Section 5, after Theorem 1; Section 8",
        rule="second bound below the first",
        questions=_improves,
    ),
    Claim(
        id="growth-worst-case",
        sentence="Tsallis-Switch's regret with switching never grows faster than T^{2/3}, within 0.05 of the exponent.",
        place="Theorem 1",
        rule=f"exponent fitted over the last {DECADES} decades of the long runs below 2/3 + {WITHIN:g} (against the "
        "adversary that of the switches: the regret there is negative)",
        questions=_worst_case,
        thresholds={"tolerance": WITHIN},
    ),
    Claim(
        id="growth-unique",
        sentence="With a unique best arm the regret with switching of Tsallis-Switch grows as T^{1/3}.",
        place="Theorem 1; Section 8",
        rule=f"exponent fitted over the last {DECADES} decades of the long runs within {WITHIN:g} of 1/3",
        questions=_unique,
        thresholds={"tolerance": WITHIN},
    ),
    Claim(
        id="growth-ties",
        sentence="Growth as T^{1/3} needs a unique best arm: with several the regret with switching grows faster.",
        place="Appendix E, after Figure 7",
        rule=f"exponent fitted over the last {DECADES} decades of the long runs above 1/3 + {WITHIN:g}",
        questions=_ties_break_it,
        thresholds={"tolerance": WITHIN},
    ),
    _bound(
        "bound-corollary-3",
        "Tsallis-INF's regret respects the bounds of Corollary 3.",
        "Corollary 3",
        ("corollary-3", "corollary-3-unique"),
        MEAN,
    ),
    _bound(
        "bound-theorem-2",
        "Where the range of each round is announced, Tsallis-INF's regret respects both bounds of Theorem 2.",
        "Theorem 2",
        ("theorem-2", "theorem-2-unique"),
        MEAN,
    ),
    Claim(
        id="ranges-worth-telling",
        sentence="Told the range of each round, Tsallis-INF has less regret than told only the largest.",
        place="ours, on Theorem 2",
        rule="final pseudo-regret below that of the other",
        questions=_worth_telling,
        figure="varying-ranges",
    ),
    _bound(
        "bound-baselines",
        "Tsallis-INF and EXP3 respect the bounds of their own papers.",
        "ours, from the works the paper compares with",
        ("tsallis-inf-unique", "exp3"),
        MEAN,
    ),
    _bound(
        "bound-theorem-4",
        "With rising costs the regret with switching respects Theorem 4's bound for any losses.",
        "Theorem 4",
        ("theorem-4",),
        MEAN,
    ),
    _bound(
        "bound-theorem-4-unique",
        "With a unique best arm it also respects Theorem 4's second bound and Corollary 5.",
        "Theorem 4, Corollary 5",
        ("theorem-4-unique", "corollary-5"),
        MEAN,
    ),
    Claim(
        id="varying-sublinear",
        sentence="For λ_n = n^α the regret with switching stays sublinear in T: as the paper says for α < "
        "3/2, and beyond.",
        place="Section 5.1, after Corollary 5",
        rule=f"exponent fitted over the last {DECADES} decades of the long runs below 1",
        questions=_sublinear,
        figure="varying-cost",
    ),
    Claim(
        id="varying-exponent",
        sentence="For λ_n = n^α the regret with switching grows no faster than Corollary 5 says, already "
        "on the horizons we can run.",
        place="ours, on Corollary 5",
        rule=f"exponent fitted over the last {DECADES} decades of the long runs below the corollary's + {WITHIN:g}",
        questions=_corollary_5,
        figure="varying-cost",
        thresholds={"tolerance": WITHIN},
    ),
    Claim(
        id="varying-tuning-loses",
        sentence="At a constant cost the tuning of Theorem 4 loses to that of Theorem 1.",
        place="ours, on Section 5.1, after Theorem 4",
        rule="final regret with switching with Theorem 1's tuning below that with Theorem 4's, in the "
        "settings of Figures 2 to 4",
        questions=_tuning,
        figure="varying-cost",
    ),
)

EXPERIMENT_CLAIMS = (*STOCHASTIC_CLAIMS, *CONSTRAINED_CLAIMS, *WORST_CASE_CLAIMS)
"""Claims about what was played: "cheap" and "costly" are the paper's λ, so with another one they are not judged."""

CLAIMS = (*EXPERIMENT_CLAIMS, *THEOREM_CLAIMS)


class Findings(PaperTables):
    """The tables of a run, and the verdicts they give."""

    @cached_property
    def verdicts(self) -> Sequence[Verdict]:
        """A verdict on each claim whose tables are there, played with the λ that it is about."""
        return [*judge(EXPERIMENT_CLAIMS, self.with_papers_cost()), *judge(THEOREM_CLAIMS, self)]

    @cached_property
    def not_judged(self) -> Sequence[str]:
        """Claims whose tables are there, but played with another λ than the paper's."""
        if self.settings.switching_cost is None:
            return []
        judged = {verdict.id for verdict in self.verdicts}
        return [verdict.id for verdict in judge(EXPERIMENT_CLAIMS, self) if verdict.id not in judged]
