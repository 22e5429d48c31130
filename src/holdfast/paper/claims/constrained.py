"""Appendix E, Figures 5 and 6: losses that rise and fall together; and the remark on other numbers of arms."""

from __future__ import annotations

from holdfast.paper.claims.thresholds import BASE, FAR, NO_BLOCKS, SIMILAR, cheaper_in
from holdfast.paper.figures import ARMS, EASY_GAP, HARD_GAP
from holdfast.verdicts.comparisons import Less, Near, Never, Often, Question, Sometimes
from holdfast.verdicts.ledger import Claim, Evidence

EASY, HARD = "constrained-easy", "constrained-hard"
ROWS = {
    EASY: ("easy, best arm first", EASY_GAP),
    HARD: ("hard, best arm first", HARD_GAP),
    f"{EASY}.shuffled": ("easy, best arm anywhere", EASY_GAP),
    f"{HARD}.shuffled": ("hard, best arm anywhere", HARD_GAP),
}


def _not_robust(evidence: Evidence) -> list[Question]:
    return [
        Often(f"for {name}", *evidence.lost_runs(table, "base-arithmetic", gap)) for table, (name, gap) in ROWS.items()
    ]


def _some_not_all(evidence: Evidence) -> list[Question]:
    return [Sometimes("for base-arithmetic", *evidence.lost_runs(EASY, "base-arithmetic", EASY_GAP))]


def _geometric_well(evidence: Evidence) -> list[Question]:
    found: list[Question] = []
    for table, (name, gap) in ROWS.items():
        found.append(
            Never(f"for never dropping the best arm ({name})", *evidence.lost_runs(table, "base-geometric", gap))
        )
        less = f"for less than tsallis-switch ({name})"
        found.append(evidence.less(less, table, "base-geometric", "tsallis-switch"))
    return found


def _geometric_batches(evidence: Evidence) -> list[Question]:
    table = "geometric-batches"
    return [
        Never(
            f"for {series.replace(',', ' batches,') if ',' in series else f'{series} batches'}",
            *evidence.lost_runs(table, series, EASY_GAP),
        )
        for series in evidence.tables[table].policies
    ]


def _close(evidence: Evidence) -> list[Question]:
    own = evidence.final(EASY, "tsallis-switch")
    return [Near(f"for {other}", own, evidence.final(EASY, other), SIMILAR) for other in NO_BLOCKS]


def _other_arms(evidence: Evidence) -> list[Question]:
    return [
        Less(f"for K = {K}", evidence.final("arms", str(K)), evidence.final("arms.tsallis-inf", str(K)), FAR)
        for K in ARMS
    ]


CLAIMS = (
    Claim(
        id="constrained-arithmetic-fragile",
        sentence="BaSE with arithmetic batches is not robust to constrained losses: it drops the best arm.",
        place="Appendix E, Figures 5 and 6",
        rule="runs whose regret grows by Δ in every round of the last tenth; their share above 1 %",
        questions=_not_robust,
        figure=HARD,
        thresholds={"share of the runs": 0.01},
    ),
    Claim(
        id="constrained-arithmetic-some-runs",
        sentence="In the easy setting arithmetic BaSE drops the best arm in some of the runs, but not in all.",
        place="Appendix E, caption of Figure 5",
        rule="runs whose regret grows by Δ in every round of the last tenth; more than none, fewer than all",
        questions=_some_not_all,
        figure=EASY,
    ),
    Claim(
        id="constrained-geometric-well",
        sentence="BaSE with geometric batches performs really well against constrained losses.",
        place="Appendix E, Figures 5 and 6",
        rule="it keeps the best arm in every run, and its final regret with switching is below that of tsallis-switch",
        questions=_geometric_well,
        figure=EASY,
        thresholds={"share of the runs": 0.01},
    ),
    Claim(
        id="constrained-geometric-batches",
        sentence="That geometric BaSE keeps the best arm does not depend on its number of batches or the order "
        "of arms.",
        place="ours, on Appendix E, Figure 5",
        rule="runs that drop the best arm in the easy setting, the best arm first",
        questions=_geometric_batches,
        figure=EASY,
        thresholds={"share of the runs": 0.01},
    ),
    Claim(
        id="constrained-close-when-cheap",
        sentence="Where switches are cheap, Tsallis-Switch has about the same regret with switching as "
        "the policies without blocks.",
        place="Appendix E, Figure 5",
        rule=f"final regret with switching within a factor of {SIMILAR:g} of each other",
        questions=_close,
        figure=EASY,
        thresholds={"factor": SIMILAR},
    ),
    Claim(
        id="constrained-better-when-costly",
        sentence="Where switches are costly, Tsallis-Switch is much better than the policies without blocks.",
        place="Appendix E, Figure 6",
        rule=f"final regret with switching of tsallis-switch below {FAR:g} times theirs",
        questions=cheaper_in({HARD: ""}, "tsallis-switch", NO_BLOCKS, FAR),
        figure=HARD,
        thresholds={"factor": FAR},
    ),
    Claim(
        id="constrained-beats-base",
        sentence="Tsallis-Switch outperforms BaSE in the stochastically constrained adversarial regime.",
        place="Section 7, on Appendix E",
        rule="final regret with switching of tsallis-switch below that of each BaSE",
        questions=cheaper_in({table: name for table, (name, _) in ROWS.items()}, "tsallis-switch", BASE),
        figure=HARD,
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
