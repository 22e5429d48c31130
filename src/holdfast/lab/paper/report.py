"""Report of a reproduction: sentences that follow from its tables, the report page, and lines for a terminal."""

from __future__ import annotations

import itertools
import platform
import shutil
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from holdfast.lab.judge import (
    CONFIDENCE,
    JUDGEMENTS,
    Answer,
    Between,
    Judgement,
    Less,
    Near,
    Question,
    Verdict,
    agree,
    answers,
    judgements,
    order,
)
from holdfast.lab.paper.claims import OURS, Asks, Findings, cheaper, linear, more_than_one, steps
from holdfast.lab.paper.plan import (
    ALPHAS,
    FIGURES,
    NOT_TOLD,
    POLICIES,
    RANGES,
    REGRET,
    SWITCHES,
    TOLD,
    Figure,
    PaperSettings,
    PaperTables,
    Row,
    guarantees,
)
from holdfast.lab.plan import ARMS, EASY_GAP, HARD_GAP
from holdfast.numerics.layout import Array
from holdfast.numerics.regret import MEASURES
from holdfast.report.charts import DRAWN, HeatMap, LineChart, result_chart
from holdfast.report.html import (
    Column,
    Html,
    Section,
    code,
    element,
    folded,
    heading,
    heat_map,
    joined,
    line_chart,
    listed,
    mark,
    page,
    pairs,
    paragraph,
    plain_powers,
    raised,
    table,
)
from holdfast.text import counted, decimals, listed_words, number, three_digits

SWITCH, INF, EXP3, BLOCKS, ARITHMETIC, GEOMETRIC = POLICIES
WHOLE = "regret with switching"
LETTERS = {"K": "arms K", "T": "rounds T", "λ": "switching cost λ"}
"""The fact behind each letter."""
TITLE = "Bandits with switching costs, reproduced"
LEAD = (
    "The experiments of Rouyer, Seldin and Cesa-Bianchi, An Algorithm for Stochastic and Adversarial Bandits with "
    "Switching Costs (ICML 2021), run again, and their claims judged by measurement."
)
MARKS: dict[Judgement, str] = {"fails": "bad", "conditional": "partial", "holds": "good"}
ANSWERS = {"yes": "✓", "no": "✗", "open": "?"}
MOST_CLAIMS = 30
"""Lines for claims without ``--verbose``: with the other lines they fit a screen of forty."""


# ---- notes on figures: a sentence appears only where the tables of the run support it ----


@dataclass(frozen=True)
class FigureNote:
    """A sentence, and the questions that must all be answered yes for it to appear; none if true by definition."""

    words: str
    asks: Asks | None = None


def figure_notes(figure: str, tables: PaperTables) -> list[str]:
    """Return the notes on a figure that are true of this run; none, where λ is not the one that they are about."""
    if "λ" in FIGURES[figure].changes(tables.settings):
        return []
    notes = FIGURE_NOTES[figure]
    return [note.words for note in notes if note.asks is None or agree(answers(note.asks(tables)))]


def _others(policy: str) -> list[str]:
    return [other for other in POLICIES if other != policy]


def _mostly_lost(tables: PaperTables, table: str, policy: str, gap: float) -> Question:
    count, runs = tables.lost_runs(table, policy, gap)
    return Between("runs that lose the best arm", np.repeat([1.0, 0.0], [count, runs - count]), low=0.5)


def _easy(tables: PaperTables) -> list[Question]:
    few = Less("switches", tables.final("stochastic-easy", INF, SWITCHES), float(tables.settings.horizon), 0.1)
    return [tables.less("regret with switching", "stochastic-easy", INF, SWITCH), few]


def _easy_base(tables: PaperTables) -> list[Question]:
    found: list[Question] = []
    for base in (ARITHMETIC, GEOMETRIC):
        found.append(tables.less(base, "stochastic-easy", base, INF, factor=2.0))
        found.append(Less("switches", tables.final("stochastic-easy", base, SWITCHES), 100.0))
    return found


def _hard(tables: PaperTables) -> list[Question]:
    table = "stochastic-hard"
    found: list[Question] = []
    for blocks, none in ((SWITCH, INF), (BLOCKS, EXP3)):
        found += [
            tables.less("regret", table, none, blocks, REGRET),
            tables.less("switches", table, blocks, none, SWITCHES, factor=0.2),
            tables.less("both", table, blocks, none),
        ]
    return found


def _hard_parts(tables: PaperTables) -> list[Question]:
    def parts(policy: str) -> tuple[np.ndarray, np.ndarray]:
        return (
            tables.final("stochastic-hard", policy, REGRET),
            tables.final("stochastic-hard", policy, SWITCHES),
        )

    return [*(Less(p, *parts(p), 0.1) for p in (INF, EXP3)), *(Near(p, *parts(p), 2.0) for p in (SWITCH, BLOCKS))]


def _free(tables: PaperTables) -> list[Question]:
    return [
        question
        for policy in (SWITCH, INF)
        for question in cheaper(tables, "stochastic-free", policy, (EXP3, BLOCKS, ARITHMETIC, GEOMETRIC))
    ]


def _aligned(tables: PaperTables) -> list[Question]:
    table = "constrained-easy"
    first = cheaper(tables, table, GEOMETRIC, _others(GEOMETRIC))
    return [*first, _mostly_lost(tables, f"{table}.shuffled", GEOMETRIC, EASY_GAP)]


def _worth(tables: PaperTables) -> list[Question]:
    return [
        tables.less(none, "constrained-hard", blocks, none, factor=1 / 3)
        for blocks, none in ((SWITCH, INF), (BLOCKS, EXP3))
    ]


def _capped(tables: PaperTables) -> list[Question]:
    table = "constrained-hard"
    below = cheaper(tables, table, ARITHMETIC, (SWITCH, BLOCKS))
    return [*below, _mostly_lost(tables, table, ARITHMETIC, HARD_GAP)]


def _recover(tables: PaperTables) -> list[Question]:
    return [Less(policy, tables.final("adversarial", policy, REGRET), 0.0) for policy in (SWITCH, INF, EXP3, BLOCKS)]


def _fewest(tables: PaperTables) -> list[Question]:
    return [tables.less(other, "adversarial", SWITCH, other, SWITCHES) for other in (INF, EXP3, BLOCKS)]


def _fall_and_rise(table: str) -> Asks:
    return lambda tables: [
        *steps(tables, table, REGRET, rising=False),
        *steps(tables, table, SWITCHES, rising=True),
    ]


def _sum_does_not_rise(tables: PaperTables) -> list[Question]:
    most = str(tables.settings.n_arms - 1)
    return [tables.less("the most", "ties-constrained", most, "1")]


def _faster_fewer(tables: PaperTables) -> list[Question]:
    return [
        tables.less(f"{fast:g}", table, f"{fast:g}", f"{slow:g}", SWITCHES)
        for table in ("varying-cost", "varying-cost.constrained")
        for slow, fast in itertools.pairwise(ALPHAS)
    ]


def _more_arms(tables: PaperTables) -> list[Question]:
    return [
        tables.less(f"{fewer} arms", table, str(fewer), str(more))
        for table in ("arms", "arms.tsallis-inf", "arms.exp3-blocks")
        for fewer, more in itertools.pairwise(ARMS)
    ]


def _factor(other: str, *, grows: bool) -> Asks:
    """Ask whether the factor between another policy and Tsallis-Switch grows from the fewest arms to the most."""

    def asks(tables: PaperTables) -> list[Question]:
        (own_few, few), (own_many, many) = (
            (tables.final("arms", str(K)), tables.final(f"arms.{other}", str(K))) for K in (ARMS[0], ARMS[-1])
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
            "is drawn afresh in each run, it loses that arm in most runs: its batches and the phases happened to be "
            "aligned.",
            _aligned,
        ),
    ),
    "constrained-hard": (
        FigureNote("Where a switch costs a whole loss, blocks are worth a factor of three and more.", _worth),
        FigureNote(
            "A gap of 0.05 limits what a policy can lose by holding one wrong arm forever: in the first row "
            "arithmetic BaSE drops the best arm in most runs and still ends below the block policies. Its line is "
            "straight: on a longer horizon it would not.",
            _capped,
        ),
    ),
    "adversarial": (
        FigureNote(
            "One arm is perfect just long enough for BaSE to drop the others; then it is the only bad one, and both "
            "BaSE lose a whole loss in every round.",
            linear,
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
            lambda tables: more_than_one("long-ties-stochastic", tables),
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
            lambda tables: more_than_one("long-ties-constrained", tables),
        ),
    ),
    "varying-ranges": (
        FigureNote("Nothing is paid for switches here: the theorem is about regret, the first panel."),
        FigureNote(
            "A learning rate for the largest range alone is made for losses that large in every round: it is too low.",
            lambda tables: [tables.less(table, table, TOLD, NOT_TOLD, REGRET) for table in RANGES],
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


# ---- conclusions ----


def conclusions(findings: Findings) -> list[str]:
    """Return at most five sentences, one for each question that the run has tables for."""
    tables = findings.with_papers_cost()
    measured = [ask(tables) for ask in (_costly_switches, _adversary, _against_base)]
    return [sentence for sentence in (*measured, _bound(findings), _growth(findings)) if sentence]


def changes(findings: Findings) -> list[str]:
    """Say what was played otherwise than in the paper, and what that does to the verdicts; nothing if nothing was."""
    found: dict[str, tuple[str, list[str]]] = {}
    for figure in findings.figures:
        for letter, (here, there) in figure.changes(findings.settings).items():
            found.setdefault(letter, (here, []))[1].append(there)
    if not found:
        return []
    said = listed_words([f"{letter} = {here}" for letter, (here, _) in found.items()])
    paper = listed_words([f"{letter} = {' or '.join(dict.fromkeys(there))}" for letter, (_, there) in found.items()])
    lines = [f"Played with {said}; the paper has {paper}. The verdicts are about what was played."]
    if findings.not_judged:
        many = counted(len(findings.not_judged), "claim is", "claims are")
        lines.append(f"{many} not judged, being about the paper's λ: {', '.join(findings.not_judged)}.")
    return lines


def overview(findings: Findings) -> HeatMap | None:
    """Compare the final regret with switching of each policy with Tsallis-Switch's, in each table that has all six.

    Colour says by what factor they differ, and is left out where the difference is not decided.
    """
    names = [name for name, result in findings.items() if set(result.policies) >= set(POLICIES)]
    if not names:
        return None
    policies = findings[names[0]].policies
    finals = {(policy, name): findings.final(name, policy) for policy in policies for name in names}
    values = np.array([[_decided_ratio(finals[p, n], finals[SWITCH, n]) for n in names] for p in policies])
    shown = [[three_digits(float(finals[p, n].mean())) for n in names] for p in policies]
    return HeatMap(policies, [name.replace(".", ", ") for name in names], values, shown, corner="policy")


def _decided_ratio(own: Array, other: Array) -> float:
    """Return the ratio of the means; NaN where it is undecided which is lower, or where a ratio is meaningless."""
    means = float(own.mean()), float(other.mean())
    if min(means) <= 0 or order(own, other) == "open":
        return float("nan")
    return means[0] / means[1]


def _times(large: float, small: float) -> str:
    return f"{three_digits(large / small)} times" if small > 0 else "many times"


def _costly_switches(findings: PaperTables) -> str:
    table = "stochastic-hard"
    if table not in findings:
        return ""
    own, inf, exp3 = (findings.final(table, policy) for policy in (SWITCH, INF, EXP3))
    means = [three_digits(float(values.mean())) for values in (own, inf, exp3)]
    said = (
        f"Where switches are costly and losses stochastic ({table}), Tsallis-Switch ends with a {WHOLE} of {means[0]}, "
        f"Tsallis-INF with {means[1]} and EXP3 with {means[2]}: "
    )
    found = order(own, inf)
    if found == "open":
        return f"{said}whether blocks pay is not decided at {len(own)} replications."
    factor = _times(*sorted((float(inf.mean()), float(own.mean())), reverse=True))
    if found == "lower":
        return f"{said}without blocks Tsallis-INF pays {factor} as much."
    return f"{said}blocks do not pay here, Tsallis-Switch pays {factor} as much as Tsallis-INF."


def _adversary(findings: PaperTables) -> str:
    table = "adversarial"
    if table not in findings:
        return ""
    own, *bases = (findings.final(table, policy) for policy in (SWITCH, ARITHMETIC, GEOMETRIC))
    orders = {order(own, base) for base in bases}
    numbers = " and ".join(three_digits(float(base.mean())) for base in bases)
    said = (
        f"Against an adversary that reverses the losses, the two BaSE end with {numbers}, "
        f"Tsallis-Switch with {three_digits(float(own.mean()))}: "
    )
    if orders == {"lower"} and agree(answers(linear(findings))):
        return f"{said}policies that rely on stochastic losses still lose a whole loss per round in the second half."
    if orders == {"lower"}:
        return f"{said}policies that rely on stochastic losses pay more."
    return f"{said}" + ("elimination still wins here." if orders == {"higher"} else "which is lower is not decided.")


def _against_base(findings: PaperTables) -> str:
    names = [name for name in FIGURES if name.startswith("stochastic-") and name in findings]
    if not names:
        return ""
    lower: dict[str, float] = {}
    for name in names:
        own = findings.final(name, SWITCH)
        base = min((findings.final(name, p) for p in (ARITHMETIC, GEOMETRIC)), key=lambda values: values.mean())
        if order(base, own) == "lower":
            lower[name] = float(base.mean() / own.mean())
    said = "Where losses are stochastic, the better BaSE, which knows the horizon, ends below Tsallis-Switch in "
    if not lower:
        return f"{said}none of {len(names)} settings."
    shares = ", ".join(f"{100 * share:.0f} % of it in {name}" for name, share in lower.items())
    return f"{said}{len(lower)} of {len(names)} settings: with {shares}."


def _judged(findings: Findings, id: str) -> Verdict | None:
    return next((verdict for verdict in findings.verdicts if verdict.id == id), None)


def _bound(findings: Findings) -> str:
    verdict = _judged(findings, "bound-theorem-1")
    if verdict is None:
        return ""
    most = max(verdict.parts, key=lambda part: part.estimate or 0.0)
    used = f"the mean uses at most {100 * (most.estimate or 0.0):.0f} % of it (figure {most.what.removeprefix('in ')})"
    if verdict.verdict == "holds":
        return f"Theorem 1's bound is respected at every checkpoint of every figure it applies to: {used}."
    return f"Theorem 1's bound is not confirmed everywhere: {used}."


def _growth(findings: Findings) -> str:
    one, several = _judged(findings, "growth-unique"), _judged(findings, "growth-ties")
    if one is None:
        return ""
    said = (
        f"Up to T = {number(findings.settings.long_horizon)} the {WHOLE} of Tsallis-Switch grows with an exponent of "
    )
    said += f"{_range(one.parts)} with one best arm, where the paper has 1/3"
    if several is not None:
        said += f", and of {_range(several.parts)} with several, where it promises no more than 2/3"
    return f"{said}."


def _range(parts: Sequence[Answer]) -> str:
    found = sorted(part.estimate for part in parts if part.estimate is not None)
    if not found:
        return "?"
    low, high = f"{found[0]:.2f}", f"{found[-1]:.2f}"
    return low if low == high else f"{low} to {high}"


# ---- the page ----


def report_of(findings: Findings) -> str:
    """Return the page of these findings: conclusions, figures, the ledger, and how it was made."""
    figures = [_figure(figure, findings) for figure in findings.figures]
    return page(
        title=TITLE,
        lead=LEAD,
        opening=_opening(findings),
        sections=[*figures, _ledger(findings), _provenance(findings)],
    )


def chart_of(figure: Figure, findings: Findings) -> LineChart:
    """Chart a figure of the paper: three panels for each of its rows."""
    frames = {row.label: findings.shown(row.table).frame for row in figure.rows}
    return result_chart(frames, series_label=figure.series_label)


def facts_of(figure: Figure, settings: PaperSettings) -> dict[str, str]:
    """Return the settings a figure was played with, and the paper's where they differ."""
    facts = dict(figure.facts)
    facts.setdefault("arms K", str(settings.n_arms))
    facts["rounds T"] = number(settings.horizon)
    for letter, (here, there) in figure.changes(settings).items():
        facts[LETTERS[letter]] = f"{here} (the paper: {there})"
    return facts | {"replications": number(settings.replications), "seed": str(settings.seed)}


def title_of(figure: Figure, settings: PaperSettings) -> str:
    """Return the title of a figure as it was played: another λ takes the place of "cheap" or "costly"."""
    changed = {letter: f"{letter} = {here}" for letter, (here, _) in figure.changes(settings).items()}
    title = figure.title
    if "λ" in changed:
        title = title.removesuffix(", cheap switches").removesuffix(", costly switches")
    return f"{title} ({', '.join(changed.values())})" if changed else title


def command_of(names: Sequence[str], settings: PaperSettings) -> str:
    """Return the command that plays these figures, or all of them for none, with these settings."""
    return " ".join(
        [
            "holdfast reproduce",
            *names,
            f"--replications {settings.replications} --horizon {settings.horizon}",
            f"--arms {settings.n_arms} --seed {settings.seed}",
            *([f"--switching-cost {settings.switching_cost:g}"] if settings.switching_cost is not None else []),
            *(f"--with {name}" for name in settings.further),
        ]
    )


# ---- opening ----


def _opening(findings: Findings) -> list[Html]:
    parts = [
        *(paragraph(line) for line in changes(findings)),
        listed([raised(sentence) for sentence in conclusions(findings)], "conclusions", numbered=True),
        _counts(findings),
    ]
    seen = overview(findings)
    if seen is not None:
        caption = (
            f"Mean regret with switching at round {number(findings.settings.horizon)}, of "
            f"{counted(findings.settings.judged, 'game')}. Colour compares with "
            "tsallis-switch in the same column: blue is lower, orange higher, the deeper the larger the factor (full "
            "at "
            f"ten); no colour where the difference is not decided at {CONFIDENCE:.0%} confidence."
        )
        parts += [heading("Every policy in every setting"), heat_map(seen), paragraph(caption, class_="caption")]
    return parts


def _counts(findings: Findings) -> Html:
    said = [
        mark(MARKS[kind], f"{count} {words[1 + (count != 1)]}")
        for kind, words in reversed(JUDGEMENTS.items())
        if (count := sum(verdict.verdict == kind for verdict in findings.verdicts))
    ]
    total = element("a", counted(len(findings.verdicts), "claim"), href="#ledger")
    return paragraph(total, " judged: ", joined(*said, between=" \u2002"))


# ---- a figure ----


def _figure(figure: Figure, findings: Findings) -> Section:
    chart, title = chart_of(figure, findings), title_of(figure, findings.settings)
    settings, verdicts = findings.settings, [v for v in findings.verdicts if v.figure == figure.name]
    aside = [heading("Settings"), pairs(facts_of(figure, settings))]
    for row in figure.rows:
        if found := bounds_of(row, settings):
            values = {name: number(value, decimals([value])) for name, value in found.items()}
            aside += [heading(f"Bounds at the horizon{_in(row)}"), pairs(values, "pairs numbers")]
    finals = [part for row in figure.rows for part in _finals(figure, row, findings)]
    judged = [joined(_marked(v), element("a", raised(v.claim), href=f"#claim-{v.id}")) for v in verdicts]
    parts = [
        *(paragraph(words) for words in figure_notes(figure.name, findings)),
        line_chart(chart, f"{title}: mean and one standard deviation over the rounds"),
        element("div", element("div", *finals), element("div", *aside, class_="aside"), class_="facts"),
        *([heading("Claims judged by it"), listed(judged, "judged")] if judged else []),
        heading("Run it again"),
        code(command_of([figure.name], settings)),
    ]
    return Section(title, parts, name=figure.name, above=figure.place)


def _in(row: Row) -> str:
    return f", {row.label}" if row.label else ""


def bounds_of(row: Row, settings: PaperSettings) -> dict[str, float]:
    """Return each bound that applies, with the series it is about where it is not about all of them."""
    series: dict[tuple[str, float], list[str]] = {}
    cells = row.cells(settings)
    for guarantee in (g for cell in cells for g in guarantees(cell)):
        if guarantee.measure != SWITCHES:
            words = guarantee.statement + (", regret alone" if guarantee.measure == REGRET else "")
            series.setdefault((words, guarantee.value(horizon=settings.horizon)), []).append(guarantee.series)
    every = [name for cell in cells for name in cell.policies]
    return {
        words if names == every else f"{words} ({', '.join(names)})": value for (words, value), names in series.items()
    }


def _finals(figure: Figure, row: Row, findings: Findings) -> list[Html]:
    final = findings.shown(row.table).final()
    columns = [Column(figure.series_label), *(Column(MEASURES[measure], numeric=True) for measure in DRAWN)]
    cells = [_mean_cells(final[f"{drawn}_mean"].to_list(), final[f"{drawn}_sd"].to_list()) for drawn in DRAWN]
    rows = list(zip(final["policy"], *cells, strict=True))
    runs = findings.settings.replications
    what = f"mean ± standard deviation of {number(runs)} replications" if runs > 1 else "one replication"
    caption = f"Round {number(findings.settings.horizon)}, {what}; ★ lowest"
    return [heading(f"Final values{_in(row)}"), table(columns, rows, caption=caption)]


def _mean_cells(means: Sequence[float], deviations: Sequence[float | None]) -> list[Html]:
    """Return a column of means with standard deviations, if there are several replications; the lowest is marked."""
    places, cells = decimals(means), []
    for mean, sd in zip(means, deviations, strict=True):
        best = len(means) > 1 and mean == min(means)
        around = "" if sd is None else f" ± {number(sd, places)}"
        shown = element("span", number(mean, places), class_="best" if best else None)
        cells.append(joined(shown, element("span", around, class_="sd")))
    return cells


# ---- the ledger ----


def _marked(verdict: Verdict) -> Html:
    return mark(MARKS[verdict.verdict], verdict.verdict)


def _ledger(findings: Findings) -> Section:
    groups = {kind: [v for v in findings.verdicts if v.verdict == kind] for kind in JUDGEMENTS}
    parts = [
        paragraph(
            "Each claim is in our words, with its place in the paper and the measurement that decides it. Verdicts are"
            " computed: a claim holds if all that was measured for it says so, fails if nothing does and something "
            "speaks against it, and is otherwise conditional. Those that do not simply hold come first. "
            + "; ".join(counts(findings.verdicts))
            + ". "
            + " ".join(changes(findings))
        )
    ]
    for kind, verdicts in groups.items():
        if not verdicts:
            continue
        rows = [_claim(verdict, findings) for verdict in verdicts]
        shown = table(
            [Column("Verdict"), Column("Claim"), Column("Measurement")],
            rows,
            anchors=[f"claim-{verdict.id}" for verdict in verdicts],
            stacked=True,
        )
        words = f"{counted(len(verdicts), 'claim')} that {JUDGEMENTS[kind][1 + (len(verdicts) != 1)]}"
        parts.append(folded(words, shown, open_=kind != "holds"))
    return Section("Ledger of claims", parts, name="ledger")


def _claim(verdict: Verdict, findings: Findings) -> list[Html]:
    place = [element("span", verdict.id, class_="id"), " · ", verdict.place]
    if verdict.figure in {figure.name for figure in findings.figures}:
        place += [" · ", element("a", "figure", href=f"#{verdict.figure}")]
    condition = (
        element("span", element("b", "Condition:"), " ", raised(verdict.condition), class_="condition")
        if verdict.condition
        else Html("")
    )
    times = counted(verdict.replications, "replication") if verdict.replications else "computed from the formulas"
    items = [
        joined(element("span", ANSWERS[part.outcome], class_="sign"), raised(part.shown)) for part in verdict.parts
    ]
    measurements = folded(counted(len(items), "measurement"), listed(items), open_=len(items) <= 2, class_="parts")
    return [
        _marked(verdict),
        joined(raised(verdict.claim), condition, element("span", *place, class_="note")),
        joined(raised(verdict.rule), element("span", times, class_="note"), measurements),
    ]


# ---- how it was made ----


def _provenance(findings: Findings) -> Section:
    settings = findings.settings
    parts = [part for result in findings.values() for part in _parts(result.provenance)]
    versions = {name: str(version) for part in parts for name, version in part.get("versions", {}).items()}
    names = [] if len(findings.figures) == len(FIGURES) else [figure.name for figure in findings.figures]
    facts = {
        "command": command_of(names, settings),
        "replications": f"{settings.replications} in the figures; {settings.judged} behind the verdicts, of which the "
        f"figures show the first; {settings.probed} in runs of up to {number(settings.long_horizon)} rounds",
        "intervals": f"Student's, of paired differences; all intervals of a claim together at {CONFIDENCE:.0%}, "
        "nothing shared between claims",
        "backend": ", ".join(sorted({str(part.get("backend", "")) for part in parts})),
        **versions,
        "machine": f"{platform.system()} {platform.machine()}",
    }
    return Section("How this page was made", [pairs(facts)], name="provenance")


def _parts(provenance: dict[str, object]) -> list[dict[str, dict[str, str]]]:
    return provenance.get("parts", [provenance])  # type: ignore[return-value]  # JSON from a table's own metadata


# ---- on a terminal ----


def counts(verdicts: Sequence[Verdict]) -> list[str]:
    """Count the paper's claims and, separately, ours about it if there are any."""
    ours = [verdict for verdict in verdicts if verdict.place.startswith(OURS)]
    papers = [verdict for verdict in verdicts if verdict not in ours]
    lines = [f"{counted(len(papers), 'claim')} of the paper: {judgements(papers)}"]
    return lines + [f"{counted(len(ours), 'claim')} of ours about it: {judgements(ours)}"] * bool(ours)


def summary(figures: int, verdicts: Sequence[Verdict], width: int | None = None) -> list[str]:
    """Return the counts, and a line for each claim that does not simply hold: its sign, its id, and as much as fits."""
    width = width or _width()
    first, *ours = counts(verdicts)
    lines = [f"{counted(figures, 'figure')}; {first}", *ours]
    shown = [verdict for kind in JUDGEMENTS if kind != "holds" for verdict in verdicts if verdict.verdict == kind]
    if shown:
        lines.append("")
    longest = max((len(verdict.id) for verdict in shown[:MOST_CLAIMS]), default=0)
    roomy = 2 * len(shown) <= MOST_CLAIMS
    for verdict in shown[:MOST_CLAIMS]:
        begin = f"{JUDGEMENTS[verdict.verdict][0]} {verdict.id}"
        if roomy:
            lines += [begin, "  " + _shortened(plain_powers(verdict.claim), width - 2)]
        else:
            begin = f"{begin:{longest + 4}}"
            lines.append((begin + _shortened(plain_powers(verdict.claim), width - len(begin))).rstrip())
    if len(shown) > MOST_CLAIMS:
        lines.append(f"  and {len(shown) - MOST_CLAIMS} more: --verbose names them all")
    if shown:
        lines += ["", "✗ fails; ◐ holds under a condition, or is not decided: the report has the rest"]
    return lines


def ledger(verdicts: Sequence[Verdict], width: int | None = None) -> list[str]:
    """Return every claim in full, those that fail first."""
    width = min(width or _width(), 120)
    lines = []
    for kind, (sign, _, _) in JUDGEMENTS.items():
        for verdict in (v for v in verdicts if v.verdict == kind):
            runs = counted(verdict.replications, "replication") if verdict.replications else "formulas alone"
            lines.append(f"{sign} {verdict.id}: {kind} ({runs})")
            lines += _wrapped(verdict.claim, width)
            if verdict.condition:
                lines += _wrapped(f"Condition: {verdict.condition}", width)
            lines += ["", *_wrapped(f"{verdict.place}. {verdict.rule}", width), ""]
    lines.append(f"All intervals of a claim hold together with probability {CONFIDENCE:.0%}.")
    return lines


def _width() -> int:
    return shutil.get_terminal_size((80, 24)).columns


def _wrapped(words: str, width: int) -> list[str]:
    return textwrap.wrap(
        plain_powers(words),
        max(width, 40),
        initial_indent="  ",
        subsequent_indent="  ",
        break_on_hyphens=False,
        break_long_words=False,
    )


def _shortened(words: str, room: int) -> str:
    if len(words) <= room:
        return words
    return words[: room - 1].rsplit(" ", 1)[0] + "…" if room > 10 else ""
