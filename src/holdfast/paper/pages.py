"""The report of a run: the conclusions and one figure, then the figures, then the ledger, then how it was made."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from pathlib import Path

from holdfast.numerics.regret import MEASURES
from holdfast.paper.conclusions import conclusions, overview
from holdfast.paper.figure_notes import figure_notes
from holdfast.paper.figures import FIGURES
from holdfast.paper.findings import PaperFindings
from holdfast.paper.games import Figure, Row
from holdfast.paper.guarantees import REGRET, SWITCHES, guarantees
from holdfast.report.charts import DRAWN, LineChart, result_chart
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
    pairs,
    paragraph,
    raised,
    table,
    write_page,
)
from holdfast.text import counted, decimals, number
from holdfast.verdicts.ledger import CONFIDENCE, JUDGEMENTS, Judgement, Verdict
from holdfast.verdicts.settings import RunSettings

TITLE = "Bandits with switching costs, reproduced"
LEAD = (
    "The experiments of Rouyer, Seldin and Cesa-Bianchi, An Algorithm for Stochastic and Adversarial Bandits with "
    "Switching Costs (ICML 2021), run again, and their claims judged by measurement."
)
_MARKS: dict[Judgement, str] = {"fails": "bad", "conditional": "partial", "holds": "good"}
_ANSWERS = {"yes": "✓", "no": "✗", "open": "?"}


def write_report(findings: PaperFindings, path: Path) -> Path:
    """Write the report of these findings to `path`."""
    figures = [_figure(figure, findings) for figure in findings.figures]
    return write_page(
        path,
        title=TITLE,
        lead=LEAD,
        opening=_opening(findings),
        sections=[*figures, _ledger(findings), _provenance(findings)],
    )


def chart_of(figure: Figure, findings: PaperFindings) -> LineChart:
    """The chart of a figure of the paper: three panels for each of its rows."""
    frames = {row.label: findings.shown(name).frame for name, row in figure.tables().items()}
    return result_chart(frames, series_label=figure.series_label)


def facts_of(figure: Figure, settings: RunSettings) -> dict[str, str]:
    """What a figure was played with."""
    facts = dict(figure.facts)
    if not any(name.startswith("arms") for name in facts):
        facts["arms K"] = str(settings.n_arms)
    return facts | {
        "rounds T": number(settings.horizon),
        "replications": number(settings.replications),
        "seed": str(settings.seed),
    }


def command_of(names: Sequence[str], settings: RunSettings) -> str:
    """The command that plays these figures, or all of them for none, with these settings."""
    return " ".join(
        [
            "holdfast reproduce",
            *names,
            f"--replications {settings.replications} --horizon {settings.horizon}",
            f"--arms {settings.n_arms} --seed {settings.seed}",
            *(f"--with {name}" for name in settings.further),
        ]
    )


# ---- what it opens with ----


def _opening(findings: PaperFindings) -> list[Html]:
    parts = [
        listed([raised(sentence) for sentence in conclusions(findings)], "conclusions", numbered=True),
        _counts(findings),
    ]
    seen = overview(findings)
    if seen is not None:
        caption = (
            f"Mean regret with switching at round {number(findings.settings.horizon)}. Colour compares with "
            "tsallis-switch in the same column: blue is lower, orange higher, the deeper the larger the factor (full "
            "at "
            f"ten); no colour where the difference is not decided at {CONFIDENCE:.0%} confidence."
        )
        parts += [heading("Every policy in every setting"), heat_map(seen), paragraph(caption, class_="caption")]
    return parts


def _counts(findings: PaperFindings) -> Html:
    said = [
        mark(_MARKS[kind], f"{count} {words[1 + (count != 1)]}")
        for kind, words in reversed(JUDGEMENTS.items())
        if (count := sum(verdict.verdict == kind for verdict in findings.verdicts))
    ]
    total = element("a", counted(len(findings.verdicts), "claim"), href="#ledger")
    return paragraph(total, " of the paper judged: ", joined(*said, between=" \u2002"))


# ---- a figure ----


def _figure(figure: Figure, findings: PaperFindings) -> Section:
    chart = chart_of(figure, findings)
    settings, verdicts = findings.settings, [v for v in findings.verdicts if v.figure == figure.name]
    aside = [heading("Settings"), pairs(facts_of(figure, settings))]
    for row in figure.rows:
        if found := bounds_of(row, settings):
            values = {name: number(value, decimals([value])) for name, value in found.items()}
            aside += [heading(f"Bounds at the horizon{_in(row)}"), pairs(values, "pairs numbers")]
    finals = [part for name, row in figure.tables().items() for part in _finals(figure, name, row, findings)]
    judged = [joined(_verdict(v), element("a", raised(v.claim), href=f"#claim-{v.id}")) for v in verdicts]
    parts = [
        *(paragraph(words) for words in figure_notes(figure.name, findings.evidence)),
        line_chart(chart, f"{figure.title}: mean and one standard deviation over the rounds"),
        element("div", element("div", *finals), element("div", *aside, class_="aside"), class_="facts"),
        *([heading("Claims judged by it"), listed(judged, "judged")] if judged else []),
        heading("Run it again"),
        code(command_of([figure.name], settings)),
    ]
    return Section(figure.title, parts, name=figure.name, above=figure.place)


def _in(row: Row) -> str:
    return f", {row.label}" if row.label else ""


def bounds_of(row: Row, settings: RunSettings) -> dict[str, float]:
    """Each bound that applies, with the series it is about where it is not about all of them."""
    series: dict[tuple[str, float], list[str]] = {}
    matches = row.matches(settings)
    for guarantee in (g for match in matches for g in guarantees(match)):
        if guarantee.measure != SWITCHES:
            words = guarantee.statement + (", regret alone" if guarantee.measure == REGRET else "")
            series.setdefault((words, guarantee.value(horizon=settings.horizon)), []).append(guarantee.series)
    every = [name for match in matches for name in match.policies]
    return {
        words if names == every else f"{words} ({', '.join(names)})": value for (words, value), names in series.items()
    }


def _finals(figure: Figure, name: str, row: Row, findings: PaperFindings) -> list[Html]:
    final = findings.shown(name).final()
    columns = [Column(figure.series_label), *(Column(MEASURES[measure], numeric=True) for measure in DRAWN)]
    cells = [_mean_cells(final[f"{drawn}_mean"].to_list(), final[f"{drawn}_sd"].to_list()) for drawn in DRAWN]
    rows = list(zip(final["policy"], *cells, strict=True))
    runs = findings.settings.replications
    what = f"mean ± standard deviation of {number(runs)} replications" if runs > 1 else "one replication"
    caption = f"Round {number(findings.settings.horizon)}, {what}; ★ lowest"
    return [heading(f"Final values{_in(row)}"), table(columns, rows, caption=caption)]


def _mean_cells(means: Sequence[float], deviations: Sequence[float | None]) -> list[Html]:
    """A column of means with their standard deviations, which one replication does not have; the lowest is marked."""
    places, cells = decimals(means), []
    for mean, sd in zip(means, deviations, strict=True):
        best = len(means) > 1 and mean == min(means)
        around = "" if sd is None else f" ± {number(sd, places)}"
        shown = element("span", number(mean, places), class_="best" if best else None)
        cells.append(joined(shown, element("span", around, class_="sd")))
    return cells


# ---- the ledger ----


def _verdict(verdict: Verdict) -> Html:
    return mark(_MARKS[verdict.verdict], verdict.verdict)


def _ledger(findings: PaperFindings) -> Section:
    groups = {kind: [v for v in findings.verdicts if v.verdict == kind] for kind in JUDGEMENTS}
    parts = [
        paragraph(
            "Each claim is in our words, with its place in the paper and the measurement that decides it. Verdicts are"
            " computed: a claim holds if all that was measured for it says so, fails if nothing does and something "
            "speaks against it, and is otherwise conditional. Those that do not simply hold come first."
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


def _claim(verdict: Verdict, findings: PaperFindings) -> list[Html]:
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
        joined(element("span", _ANSWERS[part.outcome], class_="sign"), raised(part.shown)) for part in verdict.parts
    ]
    measurements = folded(counted(len(items), "measurement"), listed(items), open_=len(items) <= 2, class_="parts")
    return [
        _verdict(verdict),
        joined(raised(verdict.claim), condition, element("span", *place, class_="note")),
        joined(raised(verdict.rule), element("span", times, class_="note"), measurements),
    ]


# ---- how it was made ----


def _provenance(findings: PaperFindings) -> Section:
    settings = findings.settings
    parts = [part for result in findings.tables.values() for part in _parts(result.provenance)]
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
