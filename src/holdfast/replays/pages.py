"""The report of a replay: what it says, then the tables and pictures, then how it was made."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.number_format import counted, five_digits, mean_count, number
from holdfast.replays.advice import Sentence
from holdfast.replays.cost_table import Amount, Standing, exact
from holdfast.replays.games import WHOLE
from holdfast.replays.pictures import cost_by_lambda, running_cost, tradeoff, which_arm
from holdfast.replays.terminal import over
from holdfast.report.html_parts import (
    Column,
    folded,
    heading,
    line_chart,
    listed,
    mark,
    pairs,
    paragraph,
    ribbon,
    table,
)
from holdfast.report.markup import Html, element, joined
from holdfast.report.page import Section, page

if TYPE_CHECKING:
    from holdfast.replays.result import Replay


def page_of(replay: Replay) -> str:
    """The page as text."""
    name = Path(replay.source).name
    span = "" if replay.labels is None else f", from {replay.label(0)} to {replay.label(-1)}"
    lead = (
        f"{counted(len(replay.policies), 'policy', 'policies')} played again on the recorded losses of {name}: "
        f"{counted(replay.rounds, 'round')} of {counted(len(replay.arms), 'arm')}{span}."
    )
    return page(
        title="What would it have cost?",
        lead=lead,
        opening=_opening(replay),
        sections=[
            Section(
                "Cost against λ", [line_chart(cost_by_lambda(replay), "cost of each policy against λ")], name="cost"
            ),
            *(_at(replay, lam) for lam in replay.switching_costs),
            _tradeoff(replay),
            _stability(replay),
            _made(replay),
        ],
    )


def _opening(replay: Replay) -> list[Html]:
    parts: list[Html] = []
    for lam, sentences in replay.advice_by_cost.items():
        if len(replay.switching_costs) > 1:
            parts.append(heading(f"λ = {lam:g}"))
        parts.append(listed([_said(sentence) for sentence in sentences], "conclusions"))
    note = (
        f"Means of {replay.replications} replications with {replay.confidence:.0%} confidence intervals. All of it is "
        "about this trace, not about the next one."
    )
    return [*parts, paragraph(note, class_="caption")]


def _said(sentence: Sentence) -> Html:
    text = joined(sentence.text)
    return text if sentence.decided else joined(mark("partial", ""), text)


def _at(replay: Replay, lam: float) -> Section:
    standing = replay.standings[lam, WHOLE]
    held = (
        "The best plan in hindsight on top; of each policy the game in the middle, as many having cost less as more. "
        "Of stretches narrower than the screen can show, the arm held most."
    )
    return Section(
        f"λ = {lam:g}",
        [
            _table(standing),
            heading("Cost over time"),
            line_chart(running_cost(replay, lam), f"cost over time at λ = {lam:g}"),
            heading("Which arm was held when"),
            paragraph(held, class_="caption"),
            ribbon(which_arm(replay, lam)),
        ],
        name=f"lambda-{exact(lam)}",
    )


def _table(standing: Standing) -> Html:
    base, plan = standing.fixed_cost(standing.best_arm), standing.plan_cost
    worst = standing.fixed_cost(standing.worst_arm)
    columns = [
        Column("policy"),
        *(
            Column(name, numeric=True)
            for name in (
                "total cost",
                "losses",
                "switches",
                "over the best arm",
                "over the worst arm",
                "over the best plan",
            )
        ),
    ]
    rows: list[list[str]] = []
    for name in standing.ranking():
        cost, played = standing.amount(name), standing.played[name]
        means = five_digits(float(played.losses.mean())), mean_count(float(played.switches.mean()))
        overs = [_over(cost, base), over(cost.mean, worst), over(cost.mean, plan)]
        rows.append([name, _interval(cost), *means, *overs])
    known = {
        f"best arm: {standing.best_arm}": (base, 1),
        f"worst arm: {standing.worst_arm}": (worst, 1),
        "a random arm": (standing.random_fixed_cost, 1),
        "best plan in hindsight": (plan, standing.references.plan_switches),
    }
    for name, (value, count) in known.items():
        losses_of = five_digits(value - standing.switching_cost * count)
        rows.append(
            [name, five_digits(value), losses_of, number(count), *(over(value, m) for m in (base, worst, plan))]
        )
    for limit, value in sorted(standing.references.limited.items()):
        if limit > 1:
            overs = [over(value, m) for m in (base, worst, plan)]
            rows.append([f"plan, at most {limit} switches", five_digits(value), "", "", *overs])
    caption = (
        "In the units of the losses, with the interval of the mean in brackets. A policy that draws nothing has one "
        "cost and no interval; with the columns in another order it may have another."
    )
    return table(columns, rows, caption=caption)


def _interval(amount: Amount) -> Html:
    if amount.low == amount.high:
        return joined(five_digits(amount.mean))
    ends = f" ({five_digits(amount.low)} to {five_digits(amount.high)})"
    return joined(five_digits(amount.mean), element("span", ends, class_="sd"))


def _over(cost: Amount, base: float) -> Html:
    if cost.low == cost.high:
        return joined(over(cost.mean, base))
    ends = f" ({over(cost.low, base)} to {over(cost.high, base)})"
    return joined(over(cost.mean, base), element("span", ends, class_="sd"))


def _tradeoff(replay: Replay) -> Section:
    caption = (
        "Each policy at each λ: how often it switched and what it lost. The line joins the least losses possible with "
        "at most 1, 2, … 10 switches, and those of the best plan for each λ."
    )
    chart = line_chart(tradeoff(replay), "switches against losses, with the frontier of best plans")
    return Section("Switches and losses", [paragraph(caption, class_="caption"), chart], name="tradeoff")


def _stability(replay: Replay) -> Section:
    caption = (
        "Every half and quarter of the trace played from its beginning: the mean cost of each policy there, in per "
        "cent above the arm that was best there."
    )
    parts: list[Html] = [paragraph(caption, class_="caption")]
    names = [name for name in dict.fromkeys(name for _, name in replay.standings) if name != WHOLE]
    for lam in replay.switching_costs:
        columns = [Column(f"λ = {lam:g}"), Column("best arm"), Column("cheapest policy")]
        columns += [Column(policy, numeric=True) for policy in replay.policies]
        rows = [_stretch(name, replay.standings[lam, name], list(replay.policies)) for name in (WHOLE, *names)]
        parts.append(table(columns, rows))
    return Section("On halves and quarters", parts, name="stability")


def _stretch(name: str, standing: Standing, policies: Sequence[str]) -> list[str]:
    base = standing.fixed_cost(standing.best_arm)
    decided = not standing.rivals()
    cheapest = standing.ranking()[0] if decided else f"{standing.ranking()[0]}, not decided"
    overs = [over(standing.amount(policy).mean, base) for policy in policies]
    return [name, standing.best_arm, cheapest, *overs]


def _made(replay: Replay) -> Section:
    facts = {
        "trace": replay.source,
        "rounds": number(replay.rounds),
        "arms": ", ".join(replay.arms[:20]) + (" …" if len(replay.arms) > 20 else ""),
        "losses of a round": f"{replay.units[0]:g} to {replay.units[1]:g}",
        "replications": number(replay.replications),
        "seed": str(replay.seed),
        "first play": "counted as a switch, for policies, arms and plans alike",
    }
    settings = [
        joined(element("b", name), ": ", ", ".join(f"{key} {value}" for key, value in values.items()))
        for name, values in replay.policies.items()
    ]
    return Section("How it was made", [pairs(facts), folded("Settings of the policies", listed(settings))], name="made")
