"""Report of an arena: sentences computed from its tables, the page as a list of sections, and lines for a terminal."""

from __future__ import annotations

import math
import platform
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import polars as pl
from arena import GROUPS, KNOWS_T, OWN, Arena
from measures import FLOOR, PAPER, overall

from holdfast.errors import printable
from holdfast.lab.plan import Setting
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
from holdfast.text import counted, number, three_digits

TITLE = "The arena"
LEAD = "Every policy in every environment: what it costs, how far it is from the best one there, and its worst case."
MOST_CURVES = 6
"""Policies drawn in the curves: more could not be distinguished."""
PER_ROW = 3
MOST_COLUMNS = 12
"""Environments of one heat map that fit a desktop's page."""
GROWTH_MIDDLE = 2 / 3
"""Theorem 1's exponent of T: slower growth is blue, faster orange."""
MOST_POLICIES = 30
"""Most policies listed."""

WIDTHS = (25, 7, 7, 22, 7, 6, 6)
"""Columns of the summary: with the spaces between them they fill 80."""


# ---- sentences ----


def conclusions(arena: Arena) -> list[str]:
    """Return one sentence for each question that was played."""
    asked = (_least_worst, _against_paper, _safety, _tails, _found, _growing)
    return [sentence for ask in asked if (sentence := ask(arena))]


def _row(arena: Arena, policy: str) -> dict[str, Any] | None:
    rows = arena.worst.filter(pl.col("policy") == policy).to_dicts()
    return rows[0] if rows else None


def _least_worst(arena: Arena) -> str:
    rows = [row for row in arena.worst.to_dicts() if row["to_best"] is not None]
    blind = [row for row in rows if not row["knows_horizon"]]
    if not blind:
        return ""
    first = blind[0]
    said = (
        f"Of the policies that do not know T, {first['policy']} has the smallest worst ratio to the best: "
        f"{three_digits(first['to_best'])} in {first['to_best_in']}"
    )
    if len(blind) > 1:
        second = blind[1]
        said += f"; then {second['policy']} with {three_digits(second['to_best'])} in {second['to_best_in']}"
    return f"{said}."


def _against_paper(arena: Arena) -> str:
    row = _row(arena, OWN)
    if row is None or row["mean_to_paper"] is None:
        return ""
    paper = arena.table.filter(pl.col("policy") == OWN, pl.col("group") == "paper").sort("to_paper")
    return (
        f"Over the paper's settings {OWN} costs on average {three_digits(row['mean_to_paper'])} of what {PAPER} does, "
        f"from {three_digits(paper['to_paper'][0])} ({paper['environment'][0]}) to "
        f"{three_digits(paper['to_paper'][-1])} ({paper['environment'][-1]})."
    )


def _safety(arena: Arena) -> str:
    row = _row(arena, OWN)
    if row is None or row["above_paper"] is None:
        return ""
    own = arena.table.filter(pl.col("policy") == OWN, pl.col("group") != "found")
    worse = int((own["above_paper_low"] > 0).sum())
    said = f"{OWN} is decidedly more costly than {PAPER} in {worse} of {counted(own.height, 'environment')}"
    if row["above_paper"] <= 0:
        return f"{said}."
    return f"{said}; at most by {100 * row['above_paper']:.1f} % of Theorem 1's bound, in {row['above_paper_in']}."


def _tails(arena: Arena) -> str:
    own, paper = (
        arena.table.filter(pl.col("policy") == policy, pl.col("group") == "paper").sort("environment")
        for policy in (OWN, PAPER)
    )
    if own.is_empty() or paper.is_empty():
        return ""
    above = own.filter(own["q99"] > paper["q99"])["environment"].to_list()
    said = f"Its 99th percentile is above {PAPER}'s in {len(above)} of {counted(own.height, 'setting')} of the paper"
    return f"{said}: {', '.join(above)}." if above else f"{said}."


def _found(arena: Arena) -> str:
    row, paper = _row(arena, OWN), _row(arena, PAPER)
    if row is None or paper is None or row["found_share"] is None:
        return ""
    return (
        f"In worlds that a search made against {OWN} it costs at most {100 * row['found_share']:.1f} % of Theorem 1's "
        f"bound, {PAPER} in the same worlds at most {100 * paper['found_share']:.1f} %."
    )


def _growing(arena: Arena) -> str:
    long = arena.long
    if long is None or OWN not in arena.policies:
        return ""
    last = long.filter(pl.col("horizon") == pl.col("horizon").max(), pl.col("kind") != "adversarial")
    own, paper = (last.filter(pl.col("policy") == policy).drop_nans("exponent") for policy in (OWN, PAPER))
    if own.is_empty() or paper.is_empty():
        return ""
    said = [
        f"from {min(rows['exponent']):.2f} to {max(rows['exponent']):.2f} for {name}"
        for name, rows in ((OWN, own), (PAPER, paper))
    ]
    return (
        f"In stochastic, constrained and tied games of up to {number(last['horizon'][0])} rounds cost grows with "
        f"exponents of T {' and '.join(said)}."
    )


# ---- the page ----


def page_of(arena: Arena) -> str:
    """Return the page: conclusions, heat maps, worst cases, curves, every number."""
    groups = [name for name in GROUPS if arena.group(name)]
    sections = [
        *([] if arena.over_best_arm is None else [_over_best_arm(arena, arena.over_best_arm)]),
        _worst(arena),
        *(_group(arena, name) for name in groups),
        *([_growth(arena)] if arena.size.shorter else []),
        *([_long(arena, arena.long)] if arena.long is not None else []),
        _numbers(arena),
        _made(arena),
    ]
    opening = [
        listed([raised(said) for said in conclusions(arena)], "conclusions", numbered=True),
        *_overview(arena),
    ]
    return page(title=TITLE, lead=LEAD, opening=opening, sections=sections)


# ---- heat maps ----


def _order(arena: Arena) -> list[str]:
    return arena.worst["policy"].to_list()


def _heat(
    arena: Arena, columns: list[str], values: Any, shown: Callable[[float], str], middle: float, limit: float
) -> Html:
    """Return policies by `columns`, coloured by `values`; zero and below is the deepest blue."""
    words = [[_known(value, shown) for value in row] for row in values.tolist()]
    coloured = np.where(np.isfinite(values), np.maximum(values, middle / limit), np.nan)
    names = [arena.marked(policy) for policy in _order(arena)]
    return heat_map(HeatMap(names, columns, coloured, words, corner="policy", middle=middle, limit=limit))


def _settings_heat(
    arena: Arena, settings: Sequence[Setting], column: str, shown: Callable[[float], str], **scale: float
) -> Html:
    """Return policies by environments, coloured by one column of the table.

    More environments than fit beside each other are divided by their switching costs.
    """
    costs = sorted({setting.switching_cost for setting in settings})
    if len(settings) > MOST_COLUMNS and len(costs) > 1:
        parts = [[setting for setting in settings if setting.switching_cost == cost] for cost in costs]
        return joined(*(_settings_heat(arena, part, column, shown, **scale) for part in parts))
    order = _order(arena)
    values = np.array([[arena.value(setting.name, policy, column) for setting in settings] for policy in order])
    return _heat(arena, [setting.name for setting in settings], values, shown, **scale)


def _overview(arena: Arena) -> list[Html]:
    """Return the worst of each group: policies by groups."""
    groups = [name for name in GROUPS if arena.group(name)]
    worst = arena.table.group_by("group", "policy").agg(pl.col("to_best").max())
    found = {(row["policy"], row["group"]): row["to_best"] for row in worst.to_dicts()}
    values = np.array([[found[policy, group] for group in groups] for policy in _order(arena)])
    heat = _heat(arena, [GROUPS[group] for group in groups], values, three_digits, middle=2.0, limit=8.0)
    caption = f"The worst ratio of each policy to the best one, by kind of environment. {_RATIO}"
    return [heading("Worst ratio to the best policy"), heat, paragraph(raised(caption), class_="caption")]


_RATIO = (
    "A ratio is that of costs above the cheapest plan in hindsight, switches paid; the best policy's is taken as at "
    f"least {FLOOR:.0%} of Theorem 1's bound, so that one that pays next to nothing does not make it meaningless. "
    f"Blue: less than twice the best; orange: more. {KNOWS_T} knows T before the first round."
)


# ---- sections ----


def _group(arena: Arena, group: str) -> Section:
    settings = arena.group(group)
    parts = [
        paragraph(_ABOUT[group]),
        heading("Ratio to the best policy"),
        _settings_heat(arena, settings, "to_best", three_digits, middle=2.0, limit=8.0),
        heading("Share of Theorem 1's bound, in per cent"),
        _settings_heat(arena, settings, "share", _percent, middle=0.1, limit=10.0),
        heading("Ratio to the paper's policy"),
        _settings_heat(arena, settings, "to_paper", three_digits, middle=1.0, limit=10.0),
        heading("Regret with switching over the rounds"),
        line_chart(_curves(arena, settings), f"{GROUPS[group]}: mean regret with switching over the rounds"),
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


def _curves(arena: Arena, settings: Sequence[Setting]) -> LineChart:
    others = [policy for policy in _order(arena) if policy != PAPER]
    policies = [PAPER, *others[: MOST_CURVES - 1]]
    panels = [Panel(setting.name, tuple(_line(arena, setting, policy) for policy in policies)) for setting in settings]
    rows = tuple(ChartRow("", tuple(panels[i : i + PER_ROW])) for i in range(0, len(panels), PER_ROW))
    return LineChart(rows)


def _line(arena: Arena, setting: Setting, policy: str) -> Line:
    part = arena.curves[setting.name].filter(pl.col("policy") == policy).sort("round")
    mean, error = (part[f"regret_with_switching_{name}"].to_numpy() for name in ("mean", "se"))
    return Line(arena.marked(policy), part["round"].to_numpy(), mean, mean - error, mean + error)


def _worst(arena: Arena) -> Section:
    rows = arena.worst.to_dicts()
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
        [[arena.marked(row["policy"]), *_ratio_cells(row)] for row in rows],
        caption="The largest ratio to the best policy and the most that is paid more than by the paper's policy, over "
        "all environments but those found by search, with 95 % intervals. Percentages are of Theorem 1's bound; the "
        "mean ratio is over the paper's settings.",
    )
    tails = table(
        [
            Column("policy"),
            *(Column(name, numeric=True) for name in ("mean, %", "99th percentile, %", "worst run, %", "found, %")),
        ],
        [[arena.marked(row["policy"]), *_tail_cells(row)] for row in rows],
        caption="The largest shares of Theorem 1's bound: of the mean, of the 99th percentile and of the worst of "
        f"{arena.size.replications} replications; and of the mean in worlds found by search.",
    )
    floors = sorted({floor for row in arena.floors.values() for floor in row})
    others = [
        [arena.marked(policy), *(three_digits(arena.floors[policy][floor]) for floor in floors)]
        for policy in _order(arena)
        if policy in arena.floors
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
    """Return a value with half the width of its interval."""
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


def _growth(arena: Arena) -> Section:
    horizons = ", ".join(number(T) for T in (*sorted(arena.size.shorter), arena.size.horizon))
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
        if settings := arena.group(group):
            heat = _settings_heat(arena, settings, "growth", _exponent, middle=GROWTH_MIDDLE, limit=2.0)
            parts += [heading(GROUPS[group].capitalize()), heat]
    return Section("Growth in T", parts, name="growth")


def _long(arena: Arena, long: pl.DataFrame) -> Section:
    """Return the section on long games: exponents, and every cost behind them."""
    last = long.filter(pl.col("horizon") == pl.col("horizon").max())
    games = last["environment"].unique(maintain_order=True).to_list()
    found = {(row["policy"], row["environment"]): row["exponent"] for row in last.to_dicts()}
    values = np.array([[found[policy, game] for game in games] for policy in _order(arena)], dtype=np.float64)
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
        _heat(arena, games, values, _exponent, middle=GROWTH_MIDDLE, limit=8.0),
    ]
    columns = [Column("policy"), *(Column(name, numeric=True) for name in ("T", "cost", "exponent up to there"))]
    for game in games:
        rows = [
            [
                arena.marked(row["policy"]),
                number(row["horizon"]),
                _around(row, "cost", three_digits),
                _around(row, "exponent", _exponent),
            ]
            for row in long.filter(pl.col("environment") == game).to_dicts()
        ]
        parts.append(folded(game, table(columns, rows, caption="Means with 95 % intervals.")))
    return Section("Long games", parts, name="long")


def _numbers(arena: Arena) -> Section:
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
    for setting in arena.settings:
        own = arena.table.filter(pl.col("environment") == setting.name).sort("cost")
        rows = [[arena.marked(row["policy"]), *_number_cells(row)] for row in own.to_dicts()]
        about = (
            f"{setting.name}: K = {setting.environment.n_arms}, λ = {setting.switching_cost:.3g}, "
            f"T = {number(setting.horizon)}, Theorem 1's bound {number(setting.bound)}"
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


def _made(arena: Arena) -> Section:
    size = arena.size
    told = {
        "command": f"python experiments/arena.py --replications {size.replications} --horizon {size.horizon} "
        f"--seed {size.seed}",
        "policies": ", ".join(arena.marked(name) for name in arena.policies),
        "intervals": "Student's at 95 %, of replications in pairs; one at a time, nothing shared between them",
        "backend": arena.backend,
        "machine": f"{platform.system()} {platform.machine()}",
    }
    return Section("How this page was made", [pairs(told)], name="provenance")


def _over_best_arm(arena: Arena, compared: pl.DataFrame) -> Section:
    """Return the section with every number of the policies with full information."""
    columns = [Column("policy"), Column("mean", numeric=True), Column("worst", numeric=True), Column("in")]
    rows = [
        [arena.marked(row["policy"]), f"{row['mean']:.3f}", _with_half(row["worst"], row["around"]), row["worst_in"]]
        for row in overall(compared).to_dicts()
    ]
    heads = [Column("policy"), Column("over the best arm", numeric=True), Column("switches", numeric=True)]
    each = [
        folded(
            f"{setting.name}: λ = {setting.switching_cost:.3g}",
            table(
                heads,
                [
                    [
                        arena.marked(row["policy"]),
                        _with_half(row["over_best_arm"], (row["high"] - row["low"]) / 2),
                        number(row["switches"]),
                    ]
                    for row in compared.filter(pl.col("environment") == setting.name).to_dicts()
                ],
            ),
        )
        for setting in arena.settings
    ]
    said = (
        "What each policy costs, losses and switches, over the cost of the best fixed arm: below 1 it is worth its "
        f"switches. All see the losses of all arms, but for {OWN} and tsallis-switch, which see their own only. "
        "Means with 95 % intervals; the first column is the geometric mean over the environments."
    )
    return Section("All in sight", [paragraph(said), table(columns, rows), *each], name="in-sight")


def _with_half(value: float, half: float) -> str:
    return f"{value:.3f} ± {half:.3f}"


# ---- on a terminal ----


def _summary_of_all_seen(arena: Arena, compared: pl.DataFrame) -> list[str]:
    rows = overall(compared).to_dicts()
    return [
        arena.how_much(),
        "",
        f"{'cost over the best fixed arm':28} {'mean':>8} {'worst':>8} {'':9} in environment",
        *(
            f"{arena.marked(row['policy']):28} {row['mean']:8.3f} {row['worst']:8.3f} ±{row['around']:<8.3f} "
            f"{row['worst_in']}"
            for row in rows
        ),
        "",
        f"{OWN} and tsallis-switch see the loss of their own arm only, the others all.",
    ]


def summary(arena: Arena) -> list[str]:
    """Return the worst cases of each policy, those of least worst ratio first."""
    if arena.over_best_arm is not None:
        return _summary_of_all_seen(arena, arena.over_best_arm)
    lines = [
        arena.how_much(),
        "",
        _cells("", "worst ratio", "", "in environment", "mean", "above", "found"),
        _cells("policy", "to the best", "", "", "ratio", "paper", "share"),
    ]
    rows = arena.worst.to_dicts()
    lines += [_policy(arena.marked(row["policy"]), row) for row in rows[:MOST_POLICIES]]
    if len(rows) > MOST_POLICIES:
        lines.append(f"and {len(rows) - MOST_POLICIES} more in the page")
    return [
        *lines,
        "",
        f"{KNOWS_T} is told T. Ratio: of costs above the cheapest plan in hindsight, the best",
        f"policy's taken as at least {FLOOR:.0%} of Theorem 1's bound. Mean ratio: to the paper's",
        "policy, over its settings. Above paper: the most that is paid more than it.",
        "Found: worst in worlds made by search, not counted before. Both: % of the bound.",
    ]


def _cells(*cells: str) -> str:
    """Align cells in their columns: numbers to the right; a heading may run into the empty cell after it."""
    name, ratio, around, where, *numbers = map(printable, cells)
    begin = f"{name:{WIDTHS[0]}.{WIDTHS[0]}}"
    middle = f"{ratio:>{WIDTHS[1]}}{around:<{WIDTHS[2]}}" if around else f"{ratio:<{WIDTHS[1] + WIDTHS[2]}}"
    ends = "".join(f"{cell:>{width}}" for cell, width in zip(numbers, WIDTHS[4:], strict=True))
    return f"{begin}{middle}{where:{WIDTHS[3]}.{WIDTHS[3]}}{ends}".rstrip()


def _policy(name: str, row: dict[str, Any]) -> str:
    return _cells(
        name,
        _short(row["to_best"]),
        " " if row["to_best"] is None else f" ±{_short((row['to_best_high'] - row['to_best_low']) / 2)}",
        row["to_best_in"] or "–",
        _short(row["mean_to_paper"]),
        _share(row["above_paper"]),
        _share(row["found_share"]),
    )


def _short(value: float | None) -> str:
    if value is None:
        return "–"
    return number(value, 2 if abs(value) < 100 else 0)


def _share(value: float | None) -> str:
    return "–" if value is None else number(100 * value, 1)
