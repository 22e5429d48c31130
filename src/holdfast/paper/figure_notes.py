"""What each figure shows: a sentence appears only where the tables of the run support it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from holdfast.paper.claims import worst_case
from holdfast.paper.claims.thresholds import cheaper
from holdfast.paper.figures import ALPHAS, ARMS, EASY_GAP, HARD_GAP, POLICIES
from holdfast.paper.guarantees import REGRET, SWITCHES
from holdfast.verdicts.comparisons import Between, Less, Near, Question
from holdfast.verdicts.ledger import Evidence, agree, answers

Asks = Callable[[Evidence], Sequence[Question]]
SWITCH, INF, EXP3, BLOCKS, ARITHMETIC, GEOMETRIC = POLICIES


@dataclass(frozen=True)
class FigureNote:
    """Words, and the questions whose answers must all be yes for them to be true; none where they are by definition."""

    words: str
    asks: Asks | None = None


def figure_notes(figure: str, evidence: Evidence) -> list[str]:
    """The notes on a figure that are true of this run."""
    notes = FIGURE_NOTES[figure]
    return [note.words for note in notes if note.asks is None or agree(answers(note.asks(evidence)))]


def _others(policy: str) -> list[str]:
    return [other for other in POLICIES if other != policy]


def _mostly_lost(evidence: Evidence, table: str, policy: str, gap: float) -> Question:
    count, runs = evidence.lost_runs(table, policy, gap)
    return Between("runs that lose the best arm", np.repeat([1.0, 0.0], [count, runs - count]), low=0.5)


def _easy(evidence: Evidence) -> list[Question]:
    few = Less("switches", evidence.final("stochastic-easy", INF, SWITCHES), float(evidence.settings.horizon), 0.1)
    return [evidence.less("regret with switching", "stochastic-easy", INF, SWITCH), few]


def _easy_base(evidence: Evidence) -> list[Question]:
    found: list[Question] = []
    for base in (ARITHMETIC, GEOMETRIC):
        found.append(evidence.less(base, "stochastic-easy", base, INF, factor=2.0))
        found.append(Less("switches", evidence.final("stochastic-easy", base, SWITCHES), 100.0))
    return found


def _hard(evidence: Evidence) -> list[Question]:
    table = "stochastic-hard"
    found: list[Question] = []
    for blocks, none in ((SWITCH, INF), (BLOCKS, EXP3)):
        found += [
            evidence.less("regret", table, none, blocks, REGRET),
            evidence.less("switches", table, blocks, none, SWITCHES, factor=0.2),
            evidence.less("both", table, blocks, none),
        ]
    return found


def _hard_parts(evidence: Evidence) -> list[Question]:
    def parts(policy: str) -> tuple[np.ndarray, np.ndarray]:
        return (
            evidence.final("stochastic-hard", policy, REGRET),
            evidence.final("stochastic-hard", policy, SWITCHES),
        )

    return [*(Less(p, *parts(p), 0.1) for p in (INF, EXP3)), *(Near(p, *parts(p), 2.0) for p in (SWITCH, BLOCKS))]


def _free(evidence: Evidence) -> list[Question]:
    return [
        question
        for policy in (SWITCH, INF)
        for question in cheaper(evidence, "stochastic-free", policy, (EXP3, BLOCKS, ARITHMETIC, GEOMETRIC))
    ]


def _aligned(evidence: Evidence) -> list[Question]:
    table = "constrained-easy"
    first = cheaper(evidence, table, GEOMETRIC, _others(GEOMETRIC))
    return [*first, _mostly_lost(evidence, f"{table}.shuffled", GEOMETRIC, EASY_GAP)]


def _worth(evidence: Evidence) -> list[Question]:
    return [
        evidence.less(none, "constrained-hard", blocks, none, factor=1 / 3)
        for blocks, none in ((SWITCH, INF), (BLOCKS, EXP3))
    ]


def _capped(evidence: Evidence) -> list[Question]:
    table = "constrained-hard"
    below = cheaper(evidence, table, ARITHMETIC, (SWITCH, BLOCKS))
    return [*below, _mostly_lost(evidence, table, ARITHMETIC, HARD_GAP)]


def _recover(evidence: Evidence) -> list[Question]:
    return [Less(policy, evidence.final("adversarial", policy, REGRET), 0.0) for policy in (SWITCH, INF, EXP3, BLOCKS)]


def _fewest(evidence: Evidence) -> list[Question]:
    return [evidence.less(other, "adversarial", SWITCH, other, SWITCHES) for other in (INF, EXP3, BLOCKS)]


def _fall_and_rise(table: str) -> Asks:
    return lambda evidence: [
        *worst_case.steps(evidence, table, REGRET, rising=False),
        *worst_case.steps(evidence, table, SWITCHES, rising=True),
    ]


def _sum_does_not_rise(evidence: Evidence) -> list[Question]:
    most = str(evidence.settings.n_arms - 1)
    return [evidence.less("the most", "ties-constrained", most, "1")]


def _faster_fewer(evidence: Evidence) -> list[Question]:
    return [
        evidence.less(f"{fast:g}", table, f"{fast:g}", f"{slow:g}", SWITCHES)
        for table in ("varying-cost", "varying-cost.constrained")
        for slow, fast in itertools.pairwise(ALPHAS)
    ]


def _more_arms(evidence: Evidence) -> list[Question]:
    return [
        evidence.less(f"{fewer} arms", table, str(fewer), str(more))
        for table in ("arms", "arms.tsallis-inf", "arms.exp3-blocks")
        for fewer, more in itertools.pairwise(ARMS)
    ]


def _factor(other: str, *, grows: bool) -> Asks:
    """Does the factor between another policy and Tsallis-Switch grow from the fewest arms to the most?"""

    def asks(evidence: Evidence) -> list[Question]:
        (own_few, few), (own_many, many) = (
            (evidence.final("arms", str(K)), evidence.final(f"arms.{other}", str(K))) for K in (ARMS[0], ARMS[-1])
        )
        factor = float(few.mean() / own_few.mean())
        return [Less("factor", factor * own_many, many) if grows else Less("factor", many, factor * own_many)]

    return asks


FIGURE_NOTES: dict[str, tuple[FigureNote, ...]] = {
    "stochastic-easy": (
        FigureNote(
            "With a gap of 0.2 the best arm is soon known, and a switch costs next to nothing. Blocks only delay "
            "learning here: Tsallis-INF ends below Tsallis-Switch.",
            _easy,
        ),
        FigureNote("BaSE, made for these losses and given the horizon, competes with few switches.", _easy_base),
    ),
    "stochastic-hard": (
        FigureNote(
            "Read the panels from left to right: Tsallis-INF and EXP3 have the lower regret, the two block policies "
            "less than a fifth of their switches, and where a switch costs a whole loss that decides the sum.",
            _hard,
        ),
        FigureNote(
            "The policies without blocks pay almost only for switching; those with blocks pay for both in similar "
            "parts, as their block lengths are meant to make them.",
            _hard_parts,
        ),
    ),
    "stochastic-free": (
        FigureNote(
            "Without a switching cost Tsallis-Switch plays blocks of one round: it is Tsallis-INF with a learning rate"
            " √2 times as high. The first and the last panel are the same."
        ),
        FigureNote("These two stay below all others.", _free),
    ),
    "constrained-easy": (
        FigureNote(
            "All means jump between the bottom and the top of the range, and only the gap stays. An arm looks bad if "
            "BaSE happens to try it in a bad phase; once it has dropped the best arm, its regret grows by Δ in every "
            "round."
        ),
        FigureNote(
            "In the first row geometric BaSE is the best of all. In the second, where only the index of the best arm "
            "is drawn anew in each run, it loses that arm in most runs: its batches and the phases happened to be "
            "aligned.",
            _aligned,
        ),
    ),
    "constrained-hard": (
        FigureNote("Where a switch costs a whole loss, blocks are worth a factor of three and more.", _worth),
        FigureNote(
            "A gap of 0.05 limits what a policy can lose by holding one wrong arm for ever: in the first row "
            "arithmetic BaSE drops the best arm in most runs and still ends below the block policies. Its line is "
            "straight: on a longer horizon it would not.",
            _capped,
        ),
    ),
    "adversarial": (
        FigureNote(
            "One arm is perfect just long enough for BaSE to drop the others; then it is the only bad one, and both "
            "BaSE lose a whole loss in every round.",
            worst_case.linear,
        ),
        FigureNote(
            "The others recover. Their regret even ends below zero: they profited from the first arm before the "
            "reversal, when the arm that is best in the end was still losing.",
            _recover,
        ),
        FigureNote("Of these four, Tsallis-Switch has the fewest switches.", _fewest),
    ),
    "ties-stochastic": (
        FigureNote(
            "With more best arms there is less to lose and more to choose from: the regret falls, the switches rise.",
            _fall_and_rise("ties-stochastic"),
        ),
        FigureNote(
            "On the long horizons of the ledger the switches decide, and every tie costs more than none.",
            lambda evidence: worst_case.more_than_one("long-ties-stochastic", evidence),
        ),
    ),
    "ties-constrained": (
        FigureNote(
            "As with stochastic losses regret falls and switches rise with each further best arm.",
            _fall_and_rise("ties-constrained"),
        ),
        FigureNote("At this horizon their sum is lower with the most best arms than with one.", _sum_does_not_rise),
        FigureNote(
            "The increase that the paper describes comes on the long horizons of the ledger.",
            lambda evidence: worst_case.more_than_one("long-ties-constrained", evidence),
        ),
    ),
    "varying-cost": (
        FigureNote("Block n costs n^α if the arm changes, and Theorem 4's blocks grow with the announced cost."),
        FigureNote("The faster the cost rises, the fewer switches are made.", _faster_fewer),
    ),
    "arms": (
        FigureNote("The hard constrained setting with other numbers of arms."),
        FigureNote("More arms cost every policy more.", _more_arms),
        FigureNote("The factor that Tsallis-Switch gains on Tsallis-INF grows with K.", _factor(INF, grows=True)),
        FigureNote("Its lead over block EXP3 shrinks with K.", _factor(BLOCKS, grows=False)),
    ),
}
"""The notes on each figure."""
