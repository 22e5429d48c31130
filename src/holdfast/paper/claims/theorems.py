"""Section 5: the bounds, and the growth they promise."""

from __future__ import annotations

from collections.abc import Callable

from holdfast import bounds
from holdfast.numerics.layout import Array
from holdfast.paper.claims.thresholds import WITHIN
from holdfast.paper.figures import FIGURES
from holdfast.paper.guarantees import guarantees
from holdfast.paper.probes import CASES, LONG_ALPHAS, long_ties
from holdfast.text import three_digits
from holdfast.verdicts.comparisons import Between, Computed, Question, Under, slopes
from holdfast.verdicts.ledger import BOTH, Claim, Evidence

DECADES = 2
"""Exponents are fitted over the last decades of a long run."""


def _respected(*names: str) -> Callable[[Evidence], list[Question]]:
    """Are these bounds respected wherever they apply, in every figure that was run?"""

    def questions(evidence: Evidence) -> list[Question]:
        found: list[Question] = []
        for table, row in ((t, r) for experiment in FIGURES.values() for t, r in experiment.tables().items()):
            if table not in evidence:
                continue
            apply = [g for match in row.matches(evidence.settings) for g in guarantees(match)]
            for name in names:
                these = [guarantee for guarantee in apply if guarantee.bound == name]
                if these:
                    curves = [(g, *evidence.curve(table, g.series, g.measure)) for g in these]
                    series = tuple((values, g.at(rounds)) for g, rounds, values in curves)
                    which = f" ({these[0].statement})" if len(names) > 1 else ""
                    found.append(Under(f"in {table}{which}", series, these[0].each))
        return found

    return questions


def exponents(evidence: Evidence, table: str, series: str, measure: str = BOTH) -> Array:
    """The exponent of growth over the last decades, one number per replication."""
    rounds, values = evidence.curve(table, series, measure)
    late = rounds >= rounds[-1] / 10**DECADES * 0.999
    return slopes(rounds[late], values[:, late])


KINDS = ("stochastic", "constrained")


def _long_ties(evidence: Evidence) -> list[tuple[str, int, Array]]:
    """Kind of losses, number of best arms, and exponents, of the long runs that were made."""
    return [
        (kind, best, exponents(evidence, f"long-ties-{kind}", str(best)))
        for kind in KINDS
        if f"long-ties-{kind}" in evidence
        for best in long_ties(evidence.settings)
    ]


def _worst_case(evidence: Evidence) -> list[Question]:
    most = 2 / 3 + WITHIN
    found: list[Question] = []
    if "long-adversarial" in evidence:
        values = exponents(evidence, "long-adversarial", "tsallis-switch", "switches")
        found.append(Between("for the switches against the adversary", values, high=most))
    for kind, best, values in _long_ties(evidence):
        found.append(Between(f"for {best} best arm{'s' * (best > 1)} ({kind})", values, high=most))
    return found


def _unique(evidence: Evidence) -> list[Question]:
    return [
        Between(f"for {kind} losses", values, 1 / 3 - WITHIN, 1 / 3 + WITHIN)
        for kind, best, values in _long_ties(evidence)
        if best == 1
    ]


def _ties_break_it(evidence: Evidence) -> list[Question]:
    return [
        Between(f"for {best} best arms ({kind})", values, low=1 / 3 + WITHIN)
        for kind, best, values in _long_ties(evidence)
        if best > 1
    ]


def _sublinear(evidence: Evidence) -> list[Question]:
    table = "long-varying-cost"
    return [Between(f"for α = {alpha:g}", exponents(evidence, table, f"{alpha:g}"), high=1.0) for alpha in LONG_ALPHAS]


def _corollary_5(evidence: Evidence) -> list[Question]:
    found: list[Question] = []
    for alpha in LONG_ALPHAS:
        promised = bounds.corollary_5_exponents(alpha=alpha)
        most = max(promised.blocks.horizon, promised.last_block.horizon)
        values = exponents(evidence, "long-varying-cost", f"{alpha:g}")
        found.append(Between(f"for α = {alpha:g} (there {most:.3f})", values, high=most + WITHIN))
    return found


def _tuning(evidence: Evidence) -> list[Question]:
    return [evidence.less(f"for {name}", "constant-cost", f"{name}, Theorem 1", f"{name}, Theorem 4") for name in CASES]


def _matches_tsallis_inf(evidence: Evidence) -> list[Question]:
    K = evidence.settings.n_arms
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


def _improves(evidence: Evidence) -> list[Question]:
    K, found = evidence.settings.n_arms, []
    for name, (gap, cost) in CASES.items():

        def ratio(T: float, gap: float = gap, cost: float = cost) -> float:
            unique = bounds.theorem_1_constrained(n_arms=K, switching_cost=cost, horizon=round(T), gaps=gap)
            return unique / bounds.theorem_1(n_arms=K, switching_cost=cost, horizon=round(T))

        value, low, high = ratio(evidence.settings.horizon), 2.0, 30.0
        at = f"at T = {three_digits(evidence.settings.horizon)} ({name})"
        found.append(Computed(at, value < 1, value, f"{value:.3g} times the other"))
        for _ in range(50):  # the ratio falls with T
            middle = (low + high) / 2
            low, high = (middle, high) if ratio(10**middle) > 1 else (low, middle)
        enough = f"at T above 10^{{{high:.1f}}} ({name})"
        found.append(Computed(enough, ratio(10 ** (high + 0.1)) < 1, 10**high, "the smaller one from there"))
    return list[Question](found)


def _bound(id: str, sentence: str, place: str, names: tuple[str, ...], rule: str) -> Claim:
    return Claim(id, sentence, place, rule, _respected(*names))


MEAN = "largest part of the bound that the mean uses at any checkpoint; the rest is slack"

CLAIMS = (
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
        sentence="The regret with switching of Tsallis-Switch never grows faster than T^{2/3}.",
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
