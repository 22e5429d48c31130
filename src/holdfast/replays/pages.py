"""The report of a replay: what to do, a picture of why, then the tables and pictures, then how it was made."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.number_format import counted, number
from holdfast.replays.advice import Sentence
from holdfast.replays.cost_table import Standing
from holdfast.replays.pictures import cost_by_lambda, running_cost, tradeoff, which_arm
from holdfast.replays.terminal import cost_rows, over
from holdfast.report.html_parts import (
    Bar,
    Column,
    bars,
    choice,
    chosen,
    folded,
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
    """The page as text."""
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
            Section("Costs", [_caption(COSTS), _by_cost(replay, lambda lam: [_table(replay, lam)])], name="costs"),
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
    """These parts for each λ, of which one is shown at a time."""
    return chosen({_name(lam): parts(lam) for lam in replay.switching_costs}, "λ = {}")


def _name(lam: float) -> str:
    return f"{lam:g}"


def _opening(replay: Replay) -> list[Html]:
    span = "" if replay.labels is None else f", from {replay.label(0)} to {replay.label(-1)}"
    record = (
        f"{Path(replay.source).name}: {counted(replay.rounds, 'round')} of {counted(len(replay.arms), 'arm')}{span}; "
        f"means of {replay.replications} replications with {replay.confidence:.0%} confidence intervals, or exact "
        "expected costs. All of it is about this record, not about the next one."
    )
    return [
        choice("λ, the cost of a switch", [_name(lam) for lam in replay.switching_costs]),
        _by_cost(replay, lambda lam: [_bars(replay.standing(lam))]),
        _caption(record),
        *map(_caption, replay.notes),
    ]


def _bars(standing: Standing) -> Html:
    """By how much each policy costs more or less than the best arm."""
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
    for words, (name, exact) in known.items():
        excess = scale * (exact - base)
        groups.setdefault(words, []).append(Bar(name, excess, excess, excess, over(exact, base)))
    zero = f"Cost {standing.at}, compared with always using {standing.best_arm}, the best single choice in hindsight."
    return bars(groups, zero)


def _sentences(replay: Replay, lam: float) -> Html:
    said = replay.advice_by_cost[lam]
    return listed([joined(*_marked(one), one.text) for one in said], "conclusions")


def _marked(sentence: Sentence) -> list[Html]:
    """A mark before a sentence that the intervals do not decide."""
    return [] if sentence.decided else [mark("partial", "")]


def _table(replay: Replay, lam: float) -> Html:
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
