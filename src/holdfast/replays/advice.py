"""Advice in plain sentences, each computed from numbers with their intervals.

A sentence says what the intervals decide. Where they do not, it says "not decided" and how far apart things could be.
Nothing here is about the future: all of it is about this trace.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from holdfast.number_format import number, short
from holdfast.replays.cost_table import Amount, Standing
from holdfast.replays.games import WITH_FORECASTS

NOTABLE = 0.01
"""A saving below this part of a cost is called none worth the name."""

UNDECIDED = "Not decided"


@dataclass(frozen=True)
class Sentence:
    """One piece of advice and what it rests on."""

    text: str
    decided: bool
    numbers: dict[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.text


def advice(standing: Standing, parts: Mapping[str, Sequence[Standing]] | None = None) -> list[Sentence]:
    """All sentences about one λ. `parts` has the same λ on the halves and quarters, under those names."""
    sentences = [
        about_staying(standing),
        about_cheapest(standing),
        *about_seeing(standing),
        *about_forecasts(standing),
        *about_first(standing),
        about_hindsight(standing),
    ]
    if parts:
        sentences.append(about_stability(standing, parts))
    return sentences


def about_staying(standing: Standing) -> Sentence:
    """Does any policy beat the best fixed arm, and by how much?"""
    arm, base = standing.best_arm, standing.best_arm_cost
    at, among = sentence_case(standing.at), len(standing.costs)
    excess = {name: standing.amount(name, among=among).less(base) for name in standing.ranking()}
    closest = min(excess, key=lambda name: excess[name].low)
    for name, amount in excess.items():
        if amount.sign < 0:
            text = f"{at} {name} costs {compared(amount, base)} than staying with {arm}, the best arm in hindsight."
            return Sentence(text, True, {"best_arm_cost": base, **amount.named(f"excess_of_{name}")})
    numbers = {"best_arm_cost": base, **excess[closest].named(f"excess_of_{closest}")}
    lowest = excess[closest].low
    none = f"{at} none of the {among} policies beats" if among > 1 else f"{at} {closest} does not beat"
    if lowest >= 0:
        return Sentence(f"{none} staying with {arm}, the best arm in hindsight.", True, numbers)
    if base > 0 and lowest > -NOTABLE * base:
        text = f"{none} staying with {arm}, the best arm in hindsight, by more than {100 * NOTABLE:g} %."
        return Sentence(text, True, numbers)
    text = (
        f"{UNDECIDED} {standing.at}: whether any policy beats staying with {arm}, the best arm in "
        f"hindsight. {closest} costs {compared(excess[closest], base)} than that."
    )
    return Sentence(text, False, numbers)


def about_cheapest(standing: Standing) -> Sentence:
    """Which policy costs least, beside the best fixed arm and a random one?"""
    name, rivals = standing.ranking()[0], standing.rivals()
    beside = _beside_fixed(standing, name)
    if not rivals:
        only = f"{name} costs" if len(standing.costs) == 1 else f"Of the policies {name} costs least:"
        return replace(beside, text=f"{only} {beside}.")
    others = len(standing.costs) - 1
    numbers = dict(beside.numbers)
    for rival in rivals:
        numbers |= standing.difference(name, rival, among=others).named(f"{name}_less_{rival}")
    text = (
        f"{UNDECIDED} {standing.at}: which policy costs least. {name} has the lowest mean, "
        f"{beside}, but {listed_words(rivals)} may cost as little."
    )
    return Sentence(text, False, numbers)


def _beside_fixed(standing: Standing, name: str) -> Sentence:
    """What a policy costs beside the best fixed arm and a random one: the end of a sentence."""
    base, random = standing.best_arm_cost, standing.random_fixed_cost
    cost = standing.amount(name)
    over, under = cost.less(base), cost.less(random)
    text = (
        f"{compared(over, base)} than staying with {standing.best_arm}, without knowing it beforehand, and "
        f"{compared(under, random)} than a random fixed choice"
    )
    numbers = {**cost.named(f"cost_of_{name}"), "best_arm_cost": base, "random_arm_cost": random}
    return Sentence(text, over.decided and under.decided, numbers)


def about_seeing(standing: Standing) -> list[Sentence]:
    """What is it worth to see the losses of all arms?"""
    seeing, own = standing.ranking("all"), standing.ranking("own")
    if not seeing or not own:
        return []
    best, other = next((name for name in seeing if name != WITH_FORECASTS), seeing[0]), own[0]
    base = float(standing.costs[other].mean())
    saved = standing.difference(best, other, among=len(own))
    numbers = {"cost_of_cheapest_that_sees_own": base, **saved.named(f"{best}_less_{other}")}
    cheapest = f"{best} costs {compared(saved, base)} than {other}, the cheapest that sees its own arm only"
    if not saved.decided:
        text = f"{UNDECIDED} {standing.at}: whether seeing all arms is worth anything. {cheapest}."
        return [Sentence(text, False, numbers)]
    worth = "is worth nothing" if saved.mean >= 0 else f"is worth {size(-saved.mean, base)}"
    return [Sentence(f"Seeing the losses of all arms {worth}: {cheapest}.", True, numbers)]


def about_forecasts(standing: Standing) -> list[Sentence]:
    """What is looking ahead worth, on guesses from the record and on the user's forecasts? These numbers are exact."""
    cost = standing.looking_ahead
    if not cost:
        return []
    base, plan = standing.best_arm_cost, standing.plan_cost
    numbers = {f"cost_looking_ahead_{name}": value for name, value in cost.items()}
    steps = {
        "naive": "expecting the next rounds to be like the last ones",
        "seasonal": "looking for days and weeks in the record",
        "given": "using your forecasts",
    }
    said, before = [], cost["none"]
    for name, words in steps.items():
        if name in cost:
            said.append(f"{words} {_saves(before - cost[name], base)}")
            before = cost[name]
    text = f"Looking ahead, step by step: {listed_words(said)}."
    if base > plan:
        reached = (base - before) / (base - plan)
        numbers["way_to_best_plan"] = reached
        if reached > 0:
            text += f" That is {100 * reached:.0f} % of the way from the best arm to the best plan."
    return [Sentence(text, True, numbers)]


def _saves(saved: float, base: float) -> str:
    if abs(saved) < 5e-4 * abs(base):
        return "changes nothing"
    return f"saves {size(saved, base)}" if saved > 0 else f"costs {size(-saved, base)} more"


def about_first(standing: Standing) -> list[Sentence]:
    """The policy given first, where another has the lowest mean."""
    name = next(iter(standing.costs))
    if name == standing.ranking()[0]:
        return []
    beside = _beside_fixed(standing, name)
    return [replace(beside, text=f"{name} costs {beside}.")]


def about_hindsight(standing: Standing) -> Sentence:
    """What could switching have been worth at all? These numbers are exact."""
    base, plan = standing.best_arm_cost, standing.plan_cost
    saved, switches = base - plan, standing.references.plan_switches
    numbers = {"best_arm_cost": base, "best_plan_cost": plan, "best_plan_switches": float(switches)}
    numbers |= {f"plan_within_{m}_cost": cost for m, cost in standing.references.limited.items()}
    at = sentence_case(standing.at)
    if saved <= 0:
        return Sentence(f"{at} the best plan in hindsight stays with {standing.best_arm} throughout.", True, numbers)
    count = f"{number(switches)} switches"
    within = [
        f"{size(base - cost, base)} with at most {m}"
        for m, cost in sorted(standing.references.limited.items())
        if 1 < m < switches
    ]
    if base > 0 and saved < NOTABLE * base:
        text = f"{at} switching is hardly worth anything: the best plan in hindsight, with {count}, saves only"
    else:
        text = f"{at} the best plan in hindsight, with {count}, saves"
    text += f" {size(saved, base)} against staying with {standing.best_arm}"
    text += f"; {listed_words(within)} switches." if within else "."
    return Sentence(text, True, numbers)


def about_stability(standing: Standing, parts: Mapping[str, Sequence[Standing]]) -> Sentence:
    """Would the halves and quarters, each on its own, have said the same?"""
    name = standing.ranking()[0]
    told, steady = [], True
    numbers: dict[str, float] = {}
    for part, standings in parts.items():
        same = sum(one.ranking()[0] == name and not one.rivals() for one in standings)
        open_ = sum(name in (one.ranking()[0], *one.rivals()) and bool(one.rivals()) for one in standings)
        arms = sum(one.best_arm == standing.best_arm for one in standings)
        count = len(standings)
        numbers |= {f"{part}_{name}_cheapest": float(same), f"{part}_undecided": float(open_)}
        numbers |= {f"{part}_same_best_arm": float(arms), part: float(count)}
        left = f" ({open_} not decided)" if open_ else ""
        told.append(f"in {same} of {count} {part}{left}")
        steady = steady and same == count
    arms_told = listed_words([f"{numbers[f'{part}_same_best_arm']:g} of {len(parts[part])} {part}" for part in parts])
    text = f"{name} costs least {listed_words(told)}; {standing.best_arm} is the best arm in {arms_told}."
    return Sentence(text, steady and not standing.rivals(), numbers)


def sentence_case(words: str) -> str:
    """With a capital at its beginning."""
    return words[0].upper() + words[1:]


def compared(difference: Amount, base: float) -> str:
    """“4.0 % more (3.1 to 4.9 %)”, or “between 2.0 % less and 1.0 % more (not decided)” around zero."""
    if not difference.decided:
        ends = [f"{size(abs(end), base)} {'more' if end > 0 else 'less'}" for end in (difference.low, difference.high)]
        return f"between {ends[0]} and {ends[1]} (not decided)"
    word = "more" if difference.mean >= 0 else "less"
    low, high = sorted((abs(difference.low), abs(difference.high)))
    shown = size(abs(difference.mean), base)
    if low == high:
        return f"{shown} {word}"
    return f"{shown} {word} ({size(low, base, unit=False)} to {size(high, base)})"


def size(amount: float, base: float, *, unit: bool = True) -> str:
    """An amount in per cent of a positive `base`, to two digits; in the trace's own units otherwise.

    >>> size(1.0, 30.0), size(0.001, 30.0), size(1e-14, 30.0)  # the last is what rounding leaves
    ('3.3 %', '0.003 %', '0 %')
    """
    if base <= 0:
        return short(amount)
    percent = 100.0 * amount / base if amount > 1e-12 * base else 0.0
    digits = f"{percent:.0f}" if percent >= 9.95 else f"{percent:.1f}" if percent >= 0.095 else f"{percent:.1g}"
    return f"{digits} %" if unit else digits


def listed_words(items: Sequence[str]) -> str:
    """Words with commas between them, and "and" before the last."""
    *first, last = items
    return f"{', '.join(first)} and {last}" if first else last
