"""Section 7, Figures 2 to 4, and what Section 8 concludes from them."""

from __future__ import annotations

import numpy as np

from holdfast.paper.claims.thresholds import BASE, COMPETITIVE, FEW, NO_BLOCKS, SIMILAR, cheaper, cheaper_in
from holdfast.paper.figures import HARD_COST, POLICIES
from holdfast.paper.probes import horizons
from holdfast.verdicts.comparisons import Less, Near, Question, Under
from holdfast.verdicts.ledger import Claim, Evidence

EASY, HARD, FREE = "stochastic-easy", "stochastic-hard", "stochastic-free"
STOCHASTIC = {EASY: "easy", HARD: "hard", FREE: "free"}


def _base_switches(evidence: Evidence) -> list[Question]:
    rounds, switches = evidence.curve("long-base", "base-geometric", "switches")
    batches = np.ceil(np.log(np.array(horizons(evidence.settings), dtype=np.float64)))
    most = evidence.settings.n_arms * batches[-len(rounds) :]
    return [Under("up to the longest horizon", ((switches, most),), each=True)]


def _few_switches(evidence: Evidence) -> list[Question]:
    rounds = float(evidence.settings.horizon)
    return [Less(f"for {policy}", evidence.final(EASY, policy, "switches"), rounds, FEW) for policy in NO_BLOCKS]


def _trade_off(evidence: Evidence) -> list[Question]:
    found: list[Question] = []
    for blocks, none in (("tsallis-switch", "tsallis-inf"), ("exp3-blocks", "exp3")):
        found += [
            evidence.less(f"for the regret of {none} and {blocks}", HARD, none, blocks, "pseudo_regret"),
            evidence.less(f"for the switches of {blocks} and {none}", HARD, blocks, none, "switches"),
        ]
    return found


def _small_gap(evidence: Evidence) -> list[Question]:
    return [
        Less(f"for {policy}", evidence.final(EASY, policy, "switches"), evidence.final(HARD, policy, "switches"))
        for policy in NO_BLOCKS
    ]


def _dominance(evidence: Evidence) -> list[Question]:
    return [
        Less(
            f"for {policy}",
            evidence.final(HARD, policy, "pseudo_regret"),
            HARD_COST * evidence.final(HARD, policy, "switches"),
        )
        for policy in POLICIES
    ]


def _free_best(evidence: Evidence) -> list[Question]:
    return [
        question
        for policy in ("tsallis-inf", "tsallis-switch")
        for question in cheaper(evidence, FREE, policy, ("exp3", *BASE), where=policy)
    ]


def _free_alike(evidence: Evidence) -> list[Question]:
    first, second = (evidence.final(FREE, policy) for policy in ("tsallis-switch", "tsallis-inf"))
    return [Near("at the horizon", first, second, SIMILAR)]


CLAIMS = (
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
