"""Report of a replay: the recommendation, a picture of why, then tables and pictures, then how it was made."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from holdfast.errors import printable
from holdfast.extras import pl
from holdfast.numerics.statistics import Estimate, student_quantile
from holdfast.replays.advice import Sentence, Standing, exact
from holdfast.replays.games import WHOLE
from holdfast.report.charts import ChartRow, Line, LineChart, Panel, Ribbon, one_panel
from holdfast.report.drawing import rendered
from holdfast.report.html import (
    Bar,
    Column,
    Html,
    Section,
    bars,
    choice,
    chosen,
    element,
    folded,
    joined,
    line_chart,
    listed,
    mark,
    page,
    pairs,
    paragraph,
    ribbon,
    table,
    view,
)
from holdfast.text import counted, five_digits, level, mean_count, number, percent, short, table as text_table

if TYPE_CHECKING:
    from holdfast.replays.run import Replay


# The pictures of a replay, as charts for `holdfast.report`: figures and page share them.

PLAN = "best plan"
MOST_COLOURS = 7
"""Arms with a colour of their own in a ribbon; the others, held least, share one."""
OTHERS = "other arms"
MOST_TICKS = 3


def rendered_pictures(replay: Replay) -> dict[str, bytes]:
    """Render every picture as a file: name with suffix -> data."""
    charts: dict[str, tuple[LineChart | Ribbon, str]] = {
        "cost": (cost_by_lambda(replay), "Cost against λ"),
        "tradeoff": (tradeoff(replay), "Switches and losses"),
    }
    for lam in replay.switching_costs:
        at = replay.standing(lam).at.removeprefix("at ")
        charts[f"running-{exact(lam)}"] = running_cost(replay, lam), f"Cost over time, {at}"
        charts[f"held-{exact(lam)}"] = which_arm(replay, lam), f"Which arm was held when, {at}"
    return {
        f"{name}.{kind}": data
        for name, (chart, title) in charts.items()
        for kind, data in rendered(chart, ("png", "svg"), title=title, dpi=110).items()
    }


def best_arm_label(replay: Replay) -> str:
    """Return the legend's name for staying with the best arm."""
    return f"only {replay.standing().best_arm}"


def drawn_policies(replay: Replay) -> list[str]:
    """Return the policies that learn. One that does not costs so much that the others become indistinguishable."""
    played = replay.standing().played
    return [name for name in replay.policies if played[name].sees != "nothing"] or list(replay.policies)


def costs_in(replay: Replay, words: str) -> str:
    """Return the label of an axis of costs."""
    return f"{words}, {replay.unit}" if replay.unit else words


def cost_by_lambda(replay: Replay) -> LineChart:
    """Chart total cost against λ, and its excess over the best fixed arm."""
    costs = np.array(sorted(replay.switching_costs))
    standings = [replay.standing(lam) for lam in costs]
    base = np.array([standing.best_arm_cost for standing in standings])
    joined = len(costs) > 1

    def lines(relative: bool) -> tuple[Line, ...]:
        def scaled(values: Any) -> NDArray[np.float64]:
            return _above(np.array(values), base) if relative else np.array(values)

        of_policies = []
        for name in drawn_policies(replay):
            amounts = [standing.amount(name) for standing in standings]
            mean, low, high = (scaled([getattr(a, end) for a in amounts]) for end in ("mean", "low", "high"))
            of_policies.append(Line(name, costs, mean, low, high, joined=joined))
        marks = {
            PLAN: [standing.plan_cost for standing in standings],
            best_arm_label(replay): base.tolist(),
        }
        return (*of_policies, *(Line(name, costs, scaled(values), joined=joined) for name, values in marks.items()))

    relative = "above the best fixed arm, %" if (base > 0).all() else "above the best fixed arm"
    panels = (
        Panel(costs_in(replay, "total cost"), lines(False), "linear", from_zero=False),
        Panel(relative, lines(True), "linear"),
    )
    return LineChart((ChartRow("", panels),), "", "λ, the cost of a switch")


def _above(values: NDArray[np.float64], base: NDArray[np.float64]) -> NDArray[np.float64]:
    return 100.0 * (values / base - 1.0) if (base > 0).all() else values - base


def running_cost(replay: Replay, lam: float) -> LineChart:
    """Chart cost up to each round, and its excess over the best fixed arm."""
    x, x_label = _time(replay, replay.running.rounds)
    running = replay.running
    arm = replay.standing(lam).best_arm
    base = running.arm_losses[arm] + replay.standing(lam).first_play
    plan = running.plan_losses[lam] + running.plan_paid[lam]
    games = replay.result.frame.filter(pl.col("switching_cost") == lam, pl.col("stretch") == WHOLE)
    quantile = student_quantile(0.5 + replay.confidence / 2, replay.replications - 1)
    lines: tuple[list[Line], list[Line]] = [], []
    lesses = np.zeros_like(base), base
    for name in drawn_policies(replay):
        table = (
            games.filter(pl.col("policy") == name)
            .group_by("round")
            .agg(pl.col("total_cost").mean().alias("mean"), pl.col("total_cost").std().alias("sd"))
            .sort("round")
        )
        mean = table["mean"].to_numpy()
        half = quantile * table["sd"].fill_null(0.0).to_numpy() / np.sqrt(replay.replications)
        for place, less in zip(lines, lesses, strict=True):
            place.append(Line(name, x, mean - less, mean - half - less, mean + half - less))
    for place, less in zip(lines, lesses, strict=True):
        place += [Line(PLAN, x, plan - less), Line(best_arm_label(replay), x, base - less)]
    panels = (
        Panel(costs_in(replay, "cost so far"), tuple(lines[0]), "linear"),
        Panel(costs_in(replay, f"cost so far above staying with {arm}"), tuple(lines[1]), "linear"),
    )
    return LineChart((ChartRow("", panels),), "", x_label)


def tradeoff(replay: Replay) -> LineChart:
    """Chart switches against losses: each policy at each λ, and the least losses for each number of switches."""
    counts = np.arange(1, len(replay.least_losses) + 1)
    free = sorted((plan.switches, plan.losses) for plan in replay.plans.values())
    beyond = [(count, loss) for count, loss in dict(free).items() if count > counts[-1]]
    x = np.concatenate([counts, [count for count, _ in beyond]]).astype(np.float64)
    y = np.concatenate([replay.least_losses, [loss for _, loss in beyond]])
    lines = []
    for name in replay.policies:
        played = [replay.standing(lam).played[name] for lam in replay.switching_costs]
        switches, losses = ([float(getattr(one, what).mean()) for one in played] for what in ("switches", "losses"))
        lines.append(Line(name, switches, losses, joined=False))
    lines.append(Line(PLAN, x, y))
    panel = Panel(costs_in(replay, "total loss"), tuple(lines), "linear", from_zero=False)
    return one_panel(panel, x_label="switches", x_scale="log")


def which_arm(replay: Replay, lam: float) -> Ribbon:
    """Show which arm was held when: the best plan on top, then each policy's game of median cost."""
    held = {PLAN: replay.plans[lam].arms}
    held |= {name: replay.held[lam, name].each_round() for name in replay.policies}
    ticks = np.linspace(0, replay.rounds - 1, min(MOST_TICKS, replay.rounds)).astype(int)
    arms, numbers = _coloured(replay, held)
    shown = {name: numbers[band] for name, band in held.items()}
    labels = [replay.label(int(at)) for at in ticks]
    if len({label.partition(" ")[0] for label in labels}) == len(labels):
        labels = [label.partition(" ")[0] for label in labels] if _dated(replay) else labels
    return Ribbon(arms, shown, tuple(labels))


def _dated(replay: Replay) -> bool:
    return replay.labels is not None and replay.labels.dtype.kind == "M"


def _coloured(replay: Replay, held: dict[str, Any]) -> tuple[list[str], NDArray[np.int64]]:
    """Return the arms that have a colour, and which of them each arm is shown as."""
    K = len(replay.arms)
    if K <= MOST_COLOURS:
        return list(replay.arms), np.arange(K)
    rounds = sum(np.bincount(band, minlength=K) for band in held.values())
    first = sorted(np.argsort(-rounds, kind="stable")[: MOST_COLOURS - 1].tolist())
    numbers = np.full(K, len(first))
    numbers[first] = np.arange(len(first))
    return [*(replay.arms[i] for i in first), OTHERS], numbers


def _time(replay: Replay, rounds: NDArray[np.int64]) -> tuple[NDArray[Any], str]:
    """Return the user's own time of these rounds if it is ordered, otherwise their numbers."""
    if replay.labels is not None and replay.labels.dtype.kind in "Mfiu":
        return replay.labels[rounds - 1], str(replay.index)
    if replay.labels is not None:
        return rounds, f"round, {replay.label(0)} to {replay.label(-1)}"
    return rounds, "round"


# A replay as text of at most 80 columns: a table for each λ, then the advice.

WIDTH = 80


def as_text(replay: Replay) -> str:
    """Return the replay as text."""
    parts = [textwrap.fill(printable(_head(replay)), WIDTH)]
    for lam in replay.switching_costs:
        parts.append(table_of(_table(replay.standings[lam, WHOLE])))
        parts.append(filled(_said(replay, lam)))
    if replay.notes:
        parts.append(filled([f"* {note}" for note in replay.notes]))
    parts.append(filled([f"What to do: {replay.recommendation}"]))
    return "\n\n".join(parts)


def table_of(rows: Sequence[Sequence[str]]) -> str:
    """Format rows under their head, the first column being names."""
    head, *body = ([printable(row[0]), *row[1:]] for row in rows)
    return text_table(head, body, width=WIDTH)


def filled(lines: Sequence[str]) -> str:
    """Wrap each of some lines for a terminal."""
    return "\n".join(
        textwrap.fill(printable(line), WIDTH, subsequent_indent="  ", break_on_hyphens=False) for line in lines
    )


def as_html(replay: Replay) -> str:
    """Return the replay as HTML, for a notebook."""
    parts = [element("p", element("b", str(replay.recommendation))), element("p", _head(replay))]
    for lam in replay.switching_costs:
        head, *rows = _table(replay.standings[lam, WHOLE])
        parts.append(view("", head, rows, _said(replay, lam)))
    return element("div", *parts)


def _said(replay: Replay, lam: float) -> list[str]:
    return [f"{'·' if sentence.decided else '?'} {sentence}" for sentence in replay.advice_by_cost[lam]]


def _head(replay: Replay) -> str:
    span = "" if replay.labels is None else f", {replay.label(0)} to {replay.label(-1)}"
    return (
        f"{replay.source}: {number(replay.rounds)} rounds of {len(replay.arms)} arms{span}; "
        f"{replay.replications} replications, ± half of the {level(replay.confidence)} interval"
        f"{f'; costs in {replay.unit}' if replay.unit else ''}"
    )


def _table(standing: Standing) -> list[list[str]]:
    at = standing.at.removeprefix("at ").removeprefix("with these ")
    return [[at, "cost", "losses", "switches", "over arm", "over plan"], *cost_rows(standing)]


def cost_rows(standing: Standing) -> list[list[str]]:
    """Return name, cost, losses, switches, and excess over the best arm and plan, of policies, fixed arms and plans."""
    base, plan, references = standing.best_arm_cost, standing.plan_cost, standing.references
    rows = []
    for name in standing.ranking():
        cost, played = standing.amount(name), standing.played[name]
        means = five_digits(float(played.losses.mean())), mean_count(float(played.switches.mean()))
        rows.append([name, with_half(cost), *means, over(cost.mean, base), over(cost.mean, plan)])
    fixed = {
        f"best arm: {standing.best_arm}": base,
        f"worst arm: {standing.worst_arm}": standing.fixed_cost(standing.worst_arm),
        "a random arm": standing.random_fixed_cost,
    }
    known = [(name, value, five_digits(value - standing.first_play), "1") for name, value in fixed.items()]
    known.append(("best plan", plan, five_digits(references.plan_losses), number(references.plan_switches)))
    for limit, value in sorted(references.limited.items()):
        if 1 < limit < references.plan_switches:
            known.append((f"plan, ≤ {limit} switches", value, "", ""))
    return rows + [[name, five_digits(v), *cells, over(v, base), over(v, plan)] for name, v, *cells in known]


def with_half(amount: Estimate) -> str:
    """Return the mean ± half the width of its interval."""
    if amount.half == 0.0:
        return five_digits(amount.mean)
    return f"{five_digits(amount.mean)} ± {number(amount.half) if amount.half >= 10 else short(amount.half, 2)}"


def over(cost: float, base: float) -> str:
    """Return the excess in per cent; in units where the base is not positive."""
    return percent(cost / base - 1) if base > 0 else short(cost - base, sign="+")


SEES = {"all": "sees every arm's loss", "own": "sees its own arm's loss only", "nothing": "sees nothing"}


COSTS = (
    "In the units of the losses, ± half of the interval of the mean. A policy without an interval draws nothing, or "
    "its expected cost is computed; what draws nothing may cost more or less with the columns in another order."
)
HELD = (
    "The best plan in hindsight on top; of each policy one game, the median by cost. Of stretches narrower than the "
    "screen can show, the arm held most."
)
TRADEOFF = (
    "Each policy at each λ: how often it switched and what it lost. The line joins the least losses possible with at "
    "most 1, 2, … 10 switches, and those of the best plan for each λ."
)
STABILITY = (
    "Every half and quarter of the record played from its beginning: the mean cost of each policy there, in per cent "
    "above the arm that was best there."
)


def page_of(replay: Replay) -> str:
    """Return the page as text."""
    said = replay.recommendation
    action, *rest = re.split("(, because |: )", str(said), maxsplit=1)
    answer = element("p", *_marked(said), element("b", action), *rest, class_="answer")
    several = len(replay.switching_costs) > 1

    def running(lam: float) -> list[Html]:
        return [line_chart(running_cost(replay, lam), f"cost over time, {replay.standing(lam).at}")]

    def held(lam: float) -> list[Html]:
        return [ribbon(which_arm(replay, lam))]

    chart = line_chart(cost_by_lambda(replay), "cost of each policy against λ")
    return page(
        title="What should I do?",
        lead=answer,
        opening=_opening(replay),
        sections=[
            Section("Why", [_by_cost(replay, lambda lam: [_sentences(replay, lam)])], name="why"),
            Section("Costs", [_caption(COSTS), _by_cost(replay, lambda lam: [_page_table(replay, lam)])], name="costs"),
            *([Section("Cost against λ", [chart], name="cost")] if several else []),
            Section("Cost over time", [_by_cost(replay, running)], name="running"),
            Section("Which arm was held when", [_caption(HELD), _by_cost(replay, held)], name="held"),
            _tradeoff(replay),
            Section("On halves and quarters", _stability(replay), name="stability"),
            _made(replay),
        ],
    )


def _caption(words: str) -> Html:
    return paragraph(words, class_="caption")


def _by_cost(replay: Replay, parts: Callable[[float], Sequence[Html]]) -> Html:
    """Return these parts for each λ, one shown at a time."""
    return chosen({_name(lam): parts(lam) for lam in replay.switching_costs}, "λ = {}")


def _name(lam: float) -> str:
    return f"{lam:g}"


def _opening(replay: Replay) -> list[Html]:
    span = "" if replay.labels is None else f", from {replay.label(0)} to {replay.label(-1)}"
    record = (
        f"{Path(replay.source).name}: {counted(replay.rounds, 'round')} of {counted(len(replay.arms), 'arm')}{span}; "
        f"means of {replay.replications} replications with {level(replay.confidence)} confidence intervals, or exact "
        "expected costs. All of it is about this record, not about the next one."
    )
    return [
        choice("λ, the cost of a switch", [_name(lam) for lam in replay.switching_costs]),
        _by_cost(replay, lambda lam: [_bars(replay.standing(lam))]),
        _caption(record),
        *map(_caption, replay.notes),
    ]


def _bars(standing: Standing) -> Html:
    """Draw each policy's excess over the best arm."""
    base = standing.best_arm_cost
    scale = 100.0 / base if base > 0 else 1.0
    groups: dict[str, list[Bar]] = {}
    for sees, words in SEES.items():
        for name in standing.ranking(sees):
            cost = standing.amount(name)
            mean, low, high = (scale * (end - base) for end in (cost.mean, cost.low, cost.high))
            groups.setdefault(words, []).append(Bar(name, mean, low, high, over(cost.mean, base)))
    known = {
        SEES["nothing"]: ("a random arm", standing.random_fixed_cost),
        "knew everything beforehand": ("best plan", standing.plan_cost),
    }
    for words, (name, cost_of) in known.items():
        excess = scale * (cost_of - base)
        groups.setdefault(words, []).append(Bar(name, excess, excess, excess, over(cost_of, base)))
    zero = f"Cost {standing.at}, compared with always using {standing.best_arm}, the best single choice in hindsight."
    return bars(groups, zero)


def _sentences(replay: Replay, lam: float) -> Html:
    said = replay.advice_by_cost[lam]
    return listed([joined(*_marked(one), one.text) for one in said], "conclusions")


def _marked(sentence: Sentence) -> list[Html]:
    """Mark a sentence that the intervals do not decide."""
    return [] if sentence.decided else [mark("partial", "")]


def _page_table(replay: Replay, lam: float) -> Html:
    total = f"total cost, {replay.unit}" if replay.unit else "total cost"
    columns = [
        Column("policy"),
        Column(total, numeric=True),
        Column("losses", numeric=True, minor=True),
        Column("switches", numeric=True, minor=True),
        Column("over the best arm", numeric=True),
        Column("over the best plan", numeric=True),
    ]
    return table(columns, cost_rows(replay.standing(lam)))


def _tradeoff(replay: Replay) -> Section:
    chart = line_chart(tradeoff(replay), "switches against losses, with the frontier of best plans")
    return Section("Switches and losses", [_caption(TRADEOFF), chart], name="tradeoff")


def _stability(replay: Replay) -> list[Html]:
    names = dict.fromkeys(name for _, name in replay.standings)
    columns = [Column("part"), Column("best arm"), Column("cheapest policy", minor=True)]
    columns += [Column(policy, numeric=True) for policy in replay.policies]

    def shown(lam: float) -> list[Html]:
        rows = [_stretch(name, replay.standings[lam, name], list(replay.policies)) for name in names]
        return [table(columns, rows)]

    return [_caption(STABILITY), _by_cost(replay, shown)]


def _stretch(name: str, standing: Standing, policies: Sequence[str]) -> list[str]:
    base = standing.best_arm_cost
    decided = not standing.rivals()
    cheapest = standing.ranking()[0] if decided else f"{standing.ranking()[0]}, not decided"
    overs = [over(standing.amount(policy).mean, base) for policy in policies]
    return [name, standing.best_arm, cheapest, *overs]


def _made(replay: Replay) -> Section:
    first = "costs nothing" if replay.pair_costs else "counted as a switch, for policies, arms and plans alike"
    facts = {
        "record": replay.source,
        "rounds": number(replay.rounds),
        "arms": ", ".join(replay.arms[:20]) + (" …" if len(replay.arms) > 20 else ""),
        "losses of a round": f"{replay.units[0]:g} to {replay.units[1]:g} {replay.unit}".strip(),
        "replications": number(replay.replications),
        "seed": str(replay.seed),
        "first play": first,
    }
    settings = [
        joined(element("b", name), ": ", ", ".join(f"{key} {value}" for key, value in values.items()))
        for name, values in replay.policies.items()
    ]
    return Section("How it was made", [pairs(facts), folded("Settings of the policies", listed(settings))], name="made")
