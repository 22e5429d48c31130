"""Appendix E, Figures 7 to 9: the adversary that reverses the losses, and several best arms."""

from __future__ import annotations

import itertools

from holdfast.paper.claims.thresholds import BASE, COINCIDE, FAR, FEW, LOW, cheaper
from holdfast.paper.figures import POLICIES
from holdfast.verdicts.comparisons import Between, Less, Near, Question
from holdfast.verdicts.ledger import Claim, Evidence

ADVERSARIAL = "adversarial"
LINEAR = 0.9


def linear(evidence: Evidence) -> list[Question]:
    """Do both BaSE still lose about a whole loss per round in the second half?"""
    return [
        Between(f"for {policy}", evidence.late_growth(ADVERSARIAL, policy, since=0.5), low=LINEAR) for policy in BASE
    ]


def _coincide(evidence: Evidence) -> list[Question]:
    first, second = (evidence.final(ADVERSARIAL, policy) for policy in BASE)
    return [Near("at the horizon", first, second, COINCIDE)]


def _highest(evidence: Evidence) -> list[Question]:
    return [
        evidence.less(f"for {base} above {other}", ADVERSARIAL, other, base)
        for base in BASE
        for other in POLICIES
        if other not in BASE
    ]


def _low(evidence: Evidence) -> list[Question]:
    regret, switches = (
        evidence.final(ADVERSARIAL, "tsallis-switch", measure) for measure in ("pseudo_regret", "switches")
    )
    worst = evidence.final(ADVERSARIAL, "base-geometric", "pseudo_regret")
    found: list[Question] = [
        Less("for the regret against base-geometric's", regret, worst, LOW),
        Less("for the switches against the rounds", switches, float(evidence.settings.horizon), FEW),
    ]
    for other in ("tsallis-inf", "exp3", "exp3-blocks"):
        theirs = evidence.final(ADVERSARIAL, other, "switches")
        found.append(Less(f"for the switches against {other}'s", switches, theirs))
    return found


def _adversarial_competitive(evidence: Evidence) -> list[Question]:
    found = cheaper(evidence, ADVERSARIAL, "tsallis-switch", ("tsallis-inf", "exp3", "exp3-blocks"))
    return found + cheaper(evidence, ADVERSARIAL, "tsallis-switch", BASE, factor=FAR)


def steps(evidence: Evidence, table: str, measure: str, *, rising: bool) -> list[Question]:
    """From each number of best arms to the next."""
    names = [str(best) for best in range(1, evidence.settings.n_arms)]
    found: list[Question] = []
    for fewer, more in itertools.pairwise(names):
        low, high = (fewer, more) if rising else (more, fewer)
        found.append(evidence.less(f"from {fewer} to {more}", table, low, high, measure))
    return found


def more_than_one(table: str, evidence: Evidence) -> list[Question]:
    """Does every tie cost more than a single best arm?"""
    return [evidence.less(f"with {name}", table, "1", name) for name in evidence.tables[table].policies[1:]]


def _tied(kind: str, place: str) -> tuple[Claim, ...]:
    table, losses = f"ties-{kind}", f"under {kind} losses"
    long = f"long-{table}"
    return (
        Claim(
            id=f"{table}-cost",
            sentence=f"The regret with switching clearly rises as the number of best arms grows beyond one, {losses}.",
            place=f"Appendix E, {place}",
            rule="final regret with switching with one best arm below that with more",
            questions=lambda evidence: more_than_one(table, evidence),
            figure=table,
        ),
        Claim(
            id=f"{table}-cost-long",
            sentence=f"The same on a horizon a thousand times as long (10⁸ at most), {losses}.",
            place=f"ours, on Appendix E, {place}",
            rule="final regret with switching with one best arm below that with more",
            questions=lambda evidence: more_than_one(long, evidence),
            figure=table,
        ),
        Claim(
            id=f"{table}-switches",
            sentence=f"Each further best arm brings more switches, between arms that are equally good, {losses}.",
            place=f"Appendix E, {place}",
            rule="switches at the horizon, each number of best arms against the next",
            questions=lambda evidence: steps(evidence, table, "switches", rising=True),
            figure=table,
        ),
    )


CLAIMS = (
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
        questions=lambda evidence: steps(evidence, "free-ties", "pseudo_regret", rising=False),
        figure="ties-stochastic",
    ),
    *_tied("stochastic", "Figure 8"),
    *_tied("constrained", "Figure 9"),
)
