"""The page of an arena: conclusions, heat maps of policies and environments, worst cases, curves, every number."""

from __future__ import annotations

import math
import platform
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from holdfast.evidence.conclusions import conclusions
from holdfast.evidence.contestants import PAPER
from holdfast.evidence.findings import KNOWS_T, ArenaFindings
from holdfast.evidence.in_sight import section as in_sight_section
from holdfast.evidence.measures import FLOOR
from holdfast.evidence.worlds import GROUPS, World
from holdfast.extras import pl
from holdfast.report.charts import ChartRow, HeatMap, Line, LineChart, Panel
from holdfast.report.html import (
    Column,
    Html,
    Section,
    element,
    folded,
    heading,
    heat_map,
    joined,
    line_chart,
    listed,
    page,
    pairs,
    paragraph,
    raised,
    table,
)
from holdfast.text import number, three_digits

TITLE = "The arena"
LEAD = "Every policy in every environment: what it costs, how far it is from the best one there, and its worst case."
MOST_CURVES = 6
"""Policies drawn in the curves: more could not be distinguished."""
PER_ROW = 3
MOST_COLUMNS = 12
"""Environments of one heat map that fit a desktop's page."""
GROWTH_MIDDLE = 2 / 3
"""Theorem 1's exponent of T: slower growth is blue, faster orange."""


def report_of(findings: ArenaFindings) -> str:
    """The page of these findings."""
    groups = [name for name in GROUPS if findings.group(name)]
    sections = [
        *([] if findings.in_sight is None else [in_sight_section(findings)]),
        _worst(findings),
        *(_group(findings, name) for name in groups),
        *([_growth(findings)] if findings.settings.shorter else []),
        *([_long(findings, findings.long)] if findings.long is not None else []),
        _numbers(findings),
        _made(findings),
    ]
    opening = [
        listed([raised(said) for said in conclusions(findings)], "conclusions", numbered=True),
        *_overview(findings),
    ]
    return page(title=TITLE, lead=LEAD, opening=opening, sections=sections)


# ---- heat maps ----


def _order(findings: ArenaFindings) -> list[str]:
    return findings.worst["policy"].to_list()


def _heat(
    findings: ArenaFindings, columns: list[str], values: Any, shown: Callable[[float], str], middle: float, limit: float
) -> Html:
    """Policies by `columns`, coloured by `values`; what is not above zero has the deepest blue."""
    words = [[_known(value, shown) for value in row] for row in values.tolist()]
    coloured = np.where(np.isfinite(values), np.maximum(values, middle / limit), np.nan)
    names = [findings.marked(policy) for policy in _order(findings)]
    return heat_map(HeatMap(names, columns, coloured, words, corner="policy", middle=middle, limit=limit))


def _worlds_heat(
    findings: ArenaFindings, worlds: Sequence[World], column: str, shown: Callable[[float], str], **scale: float
) -> Html:
    """Policies by environments, coloured by one column of the table.

    More environments than fit beside each other are divided by their switching costs.
    """
    costs = sorted({world.switching_cost for world in worlds})
    if len(worlds) > MOST_COLUMNS and len(costs) > 1:
        parts = [[world for world in worlds if world.switching_cost == cost] for cost in costs]
        return joined(*(_worlds_heat(findings, part, column, shown, **scale) for part in parts))
    order = _order(findings)
    values = np.array([[findings.value(world.name, policy, column) for world in worlds] for policy in order])
    return _heat(findings, [world.name for world in worlds], values, shown, **scale)


def _overview(findings: ArenaFindings) -> list[Html]:
    """The worst of each group at a glance: policies by groups."""
    groups = [name for name in GROUPS if findings.group(name)]
    worst = findings.table.group_by("group", "policy").agg(pl.col("to_best").max())
    found = {(row["policy"], row["group"]): row["to_best"] for row in worst.to_dicts()}
    values = np.array([[found[policy, group] for group in groups] for policy in _order(findings)])
    heat = _heat(findings, [GROUPS[group] for group in groups], values, three_digits, middle=2.0, limit=8.0)
    caption = f"The worst ratio of each policy to the best one, by kind of environment. {_RATIO}"
    return [heading("Worst ratio to the best policy"), heat, paragraph(raised(caption), class_="caption")]


_RATIO = (
    "A ratio is that of costs above the cheapest plan in hindsight, switches paid; the best policy's is taken as at "
    f"least {FLOOR:.0%} of Theorem 1's bound, so that one that pays next to nothing does not make it meaningless. "
    f"Blue: less than twice the best; orange: more. {KNOWS_T} knows T before the first round."
)


# ---- sections ----


def _group(findings: ArenaFindings, group: str) -> Section:
    worlds = findings.group(group)
    parts = [
        paragraph(_ABOUT[group]),
        heading("Ratio to the best policy"),
        _worlds_heat(findings, worlds, "to_best", three_digits, middle=2.0, limit=8.0),
        heading("Share of Theorem 1's bound, in per cent"),
        _worlds_heat(findings, worlds, "share", _percent, middle=0.1, limit=10.0),
        heading("Ratio to the paper's policy"),
        _worlds_heat(findings, worlds, "to_paper", three_digits, middle=1.0, limit=10.0),
        heading("Regret with switching over the rounds"),
        line_chart(_curves(findings, worlds), f"{GROUPS[group]}: mean regret with switching over the rounds"),
        paragraph(
            "Means and their standard errors. Drawn: the paper's policy and those of the least worst ratio; every "
            "number is in the table below.",
            class_="caption",
        ),
    ]
    return Section(GROUPS[group].capitalize(), parts, name=group)


_ABOUT = {
    "paper": "The settings of the paper's figures; ties have three best arms, arms-2 and arms-32 as many as they say.",
    "hard": "Worlds that are hard for one policy or another, with switches that cost 0.05 (cheap) and 1 (costly). "
    "Costs are negative where following a change beats every fixed arm.",
    "traces": "Files of losses; the number after the name is the switching cost. Cost is what is paid more than "
    "by the best fixed arm.",
    "found": "Piecewise constant worlds that a search found to be bad for one policy, and so unfair to it: they are "
    "not counted in any worst case above.",
}


def _curves(findings: ArenaFindings, worlds: Sequence[World]) -> LineChart:
    others = [policy for policy in _order(findings) if policy != PAPER]
    policies = [PAPER, *others[: MOST_CURVES - 1]]
    panels = [Panel(world.name, tuple(_line(findings, world, policy) for policy in policies)) for world in worlds]
    rows = tuple(ChartRow("", tuple(panels[i : i + PER_ROW])) for i in range(0, len(panels), PER_ROW))
    return LineChart(rows)


def _line(findings: ArenaFindings, world: World, policy: str) -> Line:
    part = findings.curves[world.name].filter(pl.col("policy") == policy).sort("round")
    mean, error = (part[f"regret_with_switching_{name}"].to_numpy() for name in ("mean", "se"))
    return Line(findings.marked(policy), part["round"].to_numpy(), mean, mean - error, mean + error)


def _worst(findings: ArenaFindings) -> Section:
    rows = findings.worst.to_dicts()
    ratios = table(
        [
            Column("policy"),
            Column("ratio to the best", numeric=True),
            Column("in"),
            Column("above the paper's, %", numeric=True),
            Column("in"),
            Column("mean ratio to the paper's", numeric=True),
            Column("best in", numeric=True),
        ],
        [[findings.marked(row["policy"]), *_ratio_cells(row)] for row in rows],
        caption="The largest ratio to the best policy and the most that is paid more than by the paper's policy, over "
        "all environments but those found by search, with 95 % intervals. Percentages are of Theorem 1's bound; the "
        "mean ratio is over the paper's settings.",
    )
    tails = table(
        [
            Column("policy"),
            *(Column(name, numeric=True) for name in ("mean, %", "99th percentile, %", "worst run, %", "found, %")),
        ],
        [[findings.marked(row["policy"]), *_tail_cells(row)] for row in rows],
        caption="The largest shares of Theorem 1's bound: of the mean, of the 99th percentile and of the worst of "
        f"{findings.settings.replications} replications; and of the mean in worlds found by search.",
    )
    floors = sorted({floor for row in findings.floors.values() for floor in row})
    others = [
        [findings.marked(policy), *(three_digits(findings.floors[policy][floor]) for floor in floors)]
        for policy in _order(findings)
        if policy in findings.floors
    ]
    parts = [ratios, heading("Tails"), tails]
    if others:
        heads = [Column("policy"), *(Column(f"floor {floor:.0%}", numeric=True) for floor in floors)]
        parts.append(folded("Ratios with other floors", table(heads, others, caption="Worst ratio to the best.")))
    return Section("Worst cases", parts, name="worst")


def _ratio_cells(row: dict[str, Any]) -> list[str]:
    return [
        _around(row, "to_best", three_digits),
        row["to_best_in"] or "–",
        _around(row, "above_paper", _percent),
        row["above_paper_in"] or "–",
        _known(row["mean_to_paper"], three_digits),
        str(row["best_in"]),
    ]


def _tail_cells(row: dict[str, Any]) -> list[str]:
    return [
        _around(row, "share", _percent),
        _known(row["q99_share"], _percent),
        _known(row["worst_run_share"], _percent),
        _around(row, "found_share", _percent),
    ]


def _around(row: dict[str, Any], what: str, shown: Callable[[float], str]) -> Html:
    """A value with half the width of its interval."""
    value, low, high = row[what], row[f"{what}_low"], row[f"{what}_high"]
    if value is None or not math.isfinite(value):
        return Html("–")
    return joined(shown(value), element("span", f" ± {shown((high - low) / 2)}", class_="sd"))


def _known(value: float | None, shown: Callable[[float], str]) -> str:
    return "–" if value is None or not math.isfinite(value) else shown(value)


def _percent(value: float) -> str:
    return number(100 * value, 1)


def _exponent(value: float) -> str:
    return number(value, 2)


def _growth(findings: ArenaFindings) -> Section:
    horizons = ", ".join(number(T) for T in (*sorted(findings.settings.shorter), findings.settings.horizon))
    parts = [
        paragraph(
            raised(
                f"The exponent of T that the mean cost grows with, fitted on T = {horizons}; Theorem 1 promises no "
                "more than T^{2/3} in the long run: blue is slower, orange faster. No number where a cost is not "
                "clearly above zero. The intervals are in arena.json."
            )
        )
    ]
    for group in ("paper", "hard"):
        if worlds := findings.group(group):
            heat = _worlds_heat(findings, worlds, "growth", _exponent, middle=GROWTH_MIDDLE, limit=2.0)
            parts += [heading(GROUPS[group].capitalize()), heat]
    return Section("Growth in T", parts, name="growth")


def _long(findings: ArenaFindings, long: pl.DataFrame) -> Section:
    """Exponents of the long games, and every cost they rest on."""
    last = long.filter(pl.col("horizon") == pl.col("horizon").max())
    games = last["environment"].unique(maintain_order=True).to_list()
    found = {(row["policy"], row["environment"]): row["exponent"] for row in last.to_dicts()}
    values = np.array([[found[policy, game] for game in games] for policy in _order(findings)], dtype=np.float64)
    first, final = min(last["since"]), max(last["horizon"])
    parts = [
        paragraph(
            raised(
                f"The exponent of T that the mean cost grows with between T = {number(first)} and {number(final)}: the "
                "slope of log cost over log T. A logarithm has an exponent near zero, T^{1/3} a third; blue is below "
                "two thirds. Two or eight arms, λ = 1, or 0 where switches are free; with one best arm, with the gap "
                "in the name, or three (tied)."
            )
        ),
        _heat(findings, games, values, _exponent, middle=GROWTH_MIDDLE, limit=8.0),
    ]
    columns = [Column("policy"), *(Column(name, numeric=True) for name in ("T", "cost", "exponent up to there"))]
    for game in games:
        rows = [
            [
                findings.marked(row["policy"]),
                number(row["horizon"]),
                _around(row, "cost", three_digits),
                _around(row, "exponent", _exponent),
            ]
            for row in long.filter(pl.col("environment") == game).to_dicts()
        ]
        parts.append(folded(game, table(columns, rows, caption="Means with 95 % intervals.")))
    return Section("Long games", parts, name="long")


def _numbers(findings: ArenaFindings) -> Section:
    columns = [
        Column("policy"),
        *(
            Column(name, numeric=True)
            for name in (
                "cost",
                "switches",
                "of the bound, %",
                "ratio to the best",
                "ratio to the paper's",
                "95 % of runs below",
                "99 %",
                "worst run",
                "growth",
            )
        ),
    ]
    parts = [paragraph("Means with 95 % intervals; quantiles of the replications, ★ the least mean.")]
    for world in findings.worlds:
        own = findings.table.filter(pl.col("environment") == world.name).sort("cost")
        rows = [[findings.marked(row["policy"]), *_number_cells(row)] for row in own.to_dicts()]
        about = (
            f"{world.name}: K = {world.environment.n_arms}, λ = {world.switching_cost:.3g}, "
            f"T = {number(world.horizon)}, Theorem 1's bound {number(world.bound)}"
        )
        parts.append(folded(about, table(columns, rows)))
    return Section("Every number", parts, name="numbers")


def _number_cells(row: dict[str, Any]) -> list[str]:
    return [
        element("span", _around(row, "cost", three_digits), class_="best" if row["best"] else None),
        three_digits(row["switches"]),
        _around(row, "share", _percent),
        _around(row, "to_best", three_digits),
        _around(row, "to_paper", three_digits),
        three_digits(row["q95"]),
        three_digits(row["q99"]),
        three_digits(row["worst_run"]),
        _around(row, "growth", _exponent),
    ]


def _made(findings: ArenaFindings) -> Section:
    settings = findings.settings
    told = {
        "command": f"holdfast arena --replications {settings.replications} --horizon {settings.horizon} "
        f"--seed {settings.seed}",
        "policies": ", ".join(findings.marked(name) for name in findings.policies),
        "intervals": "Student's at 95 %, of replications in pairs; one at a time, nothing shared between them",
        **findings.provenance,
        "machine": f"{platform.system()} {platform.machine()}",
    }
    return Section("How this page was made", [pairs(told)], name="provenance")
