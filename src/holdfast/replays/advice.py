"""Costs of policies on one stretch of a record at one λ, beside fixed arms and plans; and the advice that follows.

A sentence says what the intervals decide. Where they do not, it says "not decided" and how far apart things could be.
Nothing here is about the future: all of it is about this record.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby, pairwise
from typing import Literal

import numpy as np

from holdfast.errors import InvalidParameter
from holdfast.numerics.layout import Array
from holdfast.numerics.statistics import Estimate, interval
from holdfast.text import listed_words, number, short

FULL_INFORMATION, WITH_FORECASTS = "hedge-switch", "hedge-forecasts"
"""Mixtures of experts under full information, without and with the user's forecasts."""


def mean_of(sample: Array, confidence: float) -> Estimate:
    """Return the mean over replications with Student's interval; equal numbers count as known exactly."""
    if np.ptp(sample) == 0.0:
        return Estimate(*[float(sample[0])] * 3)
    return interval(sample, confidence)


@dataclass(frozen=True)
class GameTotals:
    """One policy on one stretch: a number for each replication."""

    losses: Array
    switches: Array
    paid: Array | None = None
    """Cost of the switches, if each pair of arms has its own."""
    sees: Literal["all", "own", "nothing"] = "own"
    """Feedback: the losses of all arms, of the arm in play, or of none."""
    bounded: bool = False
    """True if the cost above the best fixed arm has a proven bound for any losses."""
    follows: bool = False
    """True if it notices when another arm becomes the best."""

    def __post_init__(self) -> None:
        if self.losses.shape != self.switches.shape or self.losses.ndim != 1 or len(self.losses) < 2:
            rule = "must be at least 2, with losses and switches for each"
            raise InvalidParameter("replications", rule, f"{self.losses.shape} and {self.switches.shape}")

    def costs(self, switching_cost: float) -> Array:
        """Return losses plus λ for each switch."""
        return self.losses + (switching_cost * self.switches if self.paid is None else self.paid)


@dataclass(frozen=True)
class References:
    """References known without playing: fixed arms and plans in hindsight, at one λ."""

    fixed_arms: Mapping[str, float]
    """The losses of each arm by name."""
    plan_losses: float
    plan_switches: int
    limited: Mapping[int, float]
    """Least cost of a plan by its limit on switches, the first play counted."""
    plan_paid: float | None = None
    """Cost of the plan's switches, if each pair of arms has its own; the first play is then free."""


@dataclass(frozen=True)
class Standing:
    """All policies on one stretch of the trace at one λ, and their references.

    With few replications and several policies some interval misses by chance; those that decide which policy is
    cheapest, or whether any beats the best arm, are widened accordingly (Bonferroni).
    """

    switching_cost: float
    """λ, or the largest cost of a pair of arms."""
    played: Mapping[str, GameTotals]
    references: References
    confidence: float = 0.95
    looking_ahead: Mapping[str, float] = field(default_factory=dict)
    """Cost of a mixture of experts by how far they look ahead (`LOOKING_AHEAD`)."""

    @cached_property
    def costs(self) -> dict[str, Array]:
        """Total cost of each policy, a number for each replication."""
        return {name: played.costs(self.switching_cost) for name, played in self.played.items()}

    @cached_property
    def best_arm(self) -> str:
        """The arm that lost least; the first of equals."""
        return min(self.references.fixed_arms, key=self.references.fixed_arms.__getitem__)

    @cached_property
    def worst_arm(self) -> str:
        """The arm that lost most; the first of equals."""
        return max(self.references.fixed_arms, key=self.references.fixed_arms.__getitem__)

    @property
    def best_arm_cost(self) -> float:
        """Cost of staying with the best arm."""
        return self.fixed_cost(self.best_arm)

    def fixed_cost(self, arm: str) -> float:
        """Return the cost of staying with one arm: its losses and the first play."""
        return self.references.fixed_arms[arm] + self.first_play

    @property
    def first_play(self) -> float:
        """Cost of the first play: λ, or 0 if each pair of arms has a cost."""
        return self.switching_cost if self.references.plan_paid is None else 0.0

    @property
    def at(self) -> str:
        """Switching cost, in words."""
        if self.references.plan_paid is None:
            return f"at λ = {self.switching_cost:g}"
        return "with these switching costs"

    @property
    def random_fixed_cost(self) -> float:
        """Mean over arms of the cost of staying with one."""
        return float(np.mean(list(self.references.fixed_arms.values()))) + self.first_play

    @property
    def plan_cost(self) -> float:
        """Cost of the best plan in hindsight."""
        paid = self.references.plan_paid
        return self.references.plan_losses + (
            self.switching_cost * self.references.plan_switches if paid is None else paid
        )

    @property
    def marks(self) -> dict[str, float]:
        """Costs of all references, by name."""
        return {
            "best_arm": self.best_arm_cost,
            "worst_arm": self.fixed_cost(self.worst_arm),
            "random_arm": self.random_fixed_cost,
            "best_plan": self.plan_cost,
            **{f"plan_within_{limit}": cost for limit, cost in self.references.limited.items()},
        }

    def amount(self, policy: str, *, among: int = 1) -> Estimate:
        """Return the total cost of a policy; `among` intervals hold jointly at the confidence asked for."""
        return mean_of(self.costs[policy], 1.0 - (1.0 - self.confidence) / among)

    def difference(self, first: str, second: str, *, among: int = 1) -> Estimate:
        """Return how much more the first policy costs than the second."""
        return mean_of(self.costs[first] - self.costs[second], 1.0 - (1.0 - self.confidence) / among)

    def ranking(self, *sees: str) -> list[str]:
        """Return policies by mean cost, cheapest first, ties in the order given; only those with this feedback."""
        names = [name for name, played in self.played.items() if not sees or played.sees in sees]
        return sorted(names, key=lambda name: float(self.costs[name].mean()))

    def rivals(self) -> list[str]:
        """Return policies that the cheapest is not decidedly cheaper than."""
        first, *others = self.ranking()
        return [name for name in others if self.difference(first, name, among=len(others)).sign >= 0]

    def rows(self) -> list[dict[str, float | str]]:
        """Return one row per policy: cost, losses and switches with intervals, and the excess over each reference."""
        rows: list[dict[str, float | str]] = []
        for name, played in self.played.items():
            cost = self.amount(name)
            row: dict[str, float | str] = {"policy": name, "switching_cost": self.switching_cost, "sees": played.sees}
            row |= cost.named("cost")
            row |= mean_of(played.losses, self.confidence).named("losses")
            row |= mean_of(played.switches, self.confidence).named("switches")
            for mark, value in self.marks.items():
                row |= cost.less(value).named(f"excess_over_{mark}")
            rows.append(row)
        return rows


def exact(switching_cost: float) -> str:
    """Format λ in the fewest digits that identify it, for names of files and parts.

    >>> exact(1.0), exact(0.35)
    ('1', '0.35')
    """
    return repr(float(switching_cost)).removesuffix(".0")


def stretches(rounds: int) -> dict[str, tuple[int, int]]:
    """Return the whole trace, its halves and its quarters as [first, stop), rounds counted from 0.

    A trace of fewer rounds than parts is not divided that far.

    >>> stretches(10)["quarter 2"]
    (2, 5)
    """
    found = {"whole": (0, rounds)}
    for count, name in ((2, "half"), (4, "quarter")):
        if count <= rounds:
            cuts = [rounds * i // count for i in range(count + 1)]
            found |= {f"{name} {number}": ends for number, ends in enumerate(pairwise(cuts), start=1)}
    return found


# Advice in plain sentences, each computed from numbers with their intervals.

NOTABLE = 0.01
"""Share of a cost below which a saving is not worth mentioning."""

UNDECIDED = "Not decided"


@dataclass(frozen=True)
class Sentence:
    """One piece of advice and its evidence."""

    text: str
    decided: bool
    numbers: dict[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.text


def advice(standing: Standing, parts: Mapping[str, Sequence[Standing]] | None = None) -> list[Sentence]:
    """Return all sentences about one λ. `parts` has the same λ on the halves and quarters, under those names."""
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
    """Say whether any policy beats the best fixed arm, and by how much."""
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
    """Say which policy costs least, compared with the best fixed arm and a random one."""
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
    """Return the end of a sentence: a policy's cost compared with the best fixed arm and a random one."""
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
    """Say what full information is worth."""
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
    """Say what looking ahead is worth, on guesses from the record and on the user's forecasts, exactly."""
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
    """Describe the policy given first, where another has the lowest mean."""
    name = next(iter(standing.costs))
    if name == standing.ranking()[0]:
        return []
    beside = _beside_fixed(standing, name)
    return [replace(beside, text=f"{name} costs {beside}.")]


def about_hindsight(standing: Standing) -> Sentence:
    """Say what switching could have been worth at all. These numbers are exact."""
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
    """Say whether the halves and quarters, each on its own, would have led to the same advice."""
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
    """Capitalise the first letter."""
    return words[0].upper() + words[1:]


def compared(difference: Estimate, base: float) -> str:
    """Return “4.0 % more (3.1 to 4.9 %)”, or “between 2.0 % less and 1.0 % more (not decided)” around zero."""
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
    """Return an amount in per cent of a positive `base`, to two digits; in the trace's own units otherwise.

    >>> size(1.0, 30.0), size(0.001, 30.0), size(1e-14, 30.0)  # the last is what rounding leaves
    ('3.3 %', '0.003 %', '0 %')
    """
    if base <= 0:
        return short(amount)
    percent = 100.0 * amount / base if amount > 1e-12 * base else 0.0
    digits = f"{percent:.0f}" if percent >= 9.95 else f"{percent:.1f}" if percent >= 0.095 else f"{percent:.1g}"
    return f"{digits} %" if unit else digits


# One recommendation: do this, because, unless. Decided by intervals, and said where they do not decide.
#
# "Because" introduces reasons only: a policy that costs more than the best arm follows a colon instead.
#
# Comparisons are on this record. It recommends a policy where it is cheaper than staying with the best arm in
# hindsight by more than one per cent; staying, where nothing is and that arm was the best throughout, or where no
# policy has learnt enough to beat a random arm; and otherwise the cheapest policy, since the best arm was not known
# beforehand. Among policies within one per cent of the cheapest it prefers one that has a bound and follows changes.

NOT_SEEN = "you do not see what the other arms lose"


@dataclass(frozen=True)
class Recommendation:
    """Recommended action at one λ."""

    at: str
    """Switching cost, in words."""
    action: str
    because: str
    """Reason, with braces where the `gains` go."""
    gains: tuple[str, ...]
    unless: str
    then: str
    """Action in that case; empty where nothing is known to help."""
    decided: bool
    numbers: dict[str, float]
    argues: bool = True
    """True if `because` supports the action."""

    def sentence(self) -> Sentence:
        """Return the recommendation as one sentence."""
        open_ = "" if self.decided else " This is close: the intervals do not decide it."
        because = self.because.format(*self.gains)
        text = f"{sentence_case(self.action)}{_joint(self.argues)}{because}{_exception([self], self.argues)}{open_}"
        return Sentence(text, self.decided, self.numbers)


def recommendation(
    standing: Standing, parts: Mapping[str, Sequence[Standing]], sees: Sequence[str] = ("all", "own")
) -> Recommendation:
    """Recommend an action at one λ, from the whole record and its parts, among policies with this feedback."""
    arm, base = standing.best_arm, standing.best_arm_cost
    least = NOTABLE * abs(base)
    names = standing.ranking(*sees)
    same, of = _same_arm(standing, parts)
    often = "throughout the record" if same == of else f"in only {same} of {of} quarters"
    if not names:
        because = f"nothing else was played. It was the best single choice in hindsight, and the best {often}"
        return Recommendation(
            standing.at, f"stay with {arm}", _braced(because), (), "that changes", "", True, {}, argues=False
        )
    name = _safest(standing, names)
    excess = standing.amount(name, among=len(names)).less(base)
    numbers = {**excess.named("excess"), "best_arm_cost": base}
    decided = excess.high < -least or excess.low >= -least
    if excess.mean >= -least and (same == of or not _learnt(standing, name)):
        saves = "nothing that was played costs less" if excess.mean >= 0 else "nothing that was played saves 1 %"
        because = f"{saves} and it was the best {often}"
        if not _learnt(standing, name):
            because = "no policy costs less than an arm taken at random"
        follower = next((other for other in names if standing.played[other].follows), name)
        then = f"use {follower}{_caveat(standing, follower)}"
        unless = "another may become the best"
        return Recommendation(standing.at, f"stay with {arm}", _braced(because), (), unless, then, decided, numbers)
    gain, word = size(abs(excess.mean), base), "more" if excess.mean > 0 else "less"
    reasons = [(f"{{}} {word} than always using {_braced(arm)}, the best single choice in hindsight", gain)]
    if excess.mean >= -least:
        known = f"which nobody knew beforehand and which was the best {often}"
        reasons = [(f"{{}} {word} than {_braced(arm)}, the best single choice, {known}", gain)]
    unless, then = _no_bound(standing, name)
    if standing.played[name].sees == "all":
        unless, then = NOT_SEEN, _without_seeing(standing, parts)
        beside = _beside(standing, name)
        reasons = [*reasons, *beside] if excess.mean < -least else [*beside, *reasons]
    because = f"it costs {', and '.join(words for words, _ in reasons)}"
    gains = tuple(amount for _, amount in reasons)
    argues = excess.mean <= 0
    return Recommendation(standing.at, f"use {name}", because, gains, unless, then, decided, numbers, argues)


def _braced(words: str) -> str:
    """Escape braces in names, for `format`."""
    return words.replace("{", "{{").replace("}", "}}")


def _beside(standing: Standing, name: str) -> list[tuple[str, str]]:
    """Compare with the cheapest bandit policy, if decided: words with braces for the gain, and the gain."""
    own = standing.ranking("own")
    if not own or standing.difference(name, own[0], among=len(own)).sign >= 0:
        return []
    other, base = own[0], float(standing.costs[own[0]].mean())
    saved = base - float(standing.costs[name].mean())
    return [(f"{{}} less than {_braced(other)}, the cheapest that sees its own arm only", size(saved, base))]


def _without_seeing(standing: Standing, parts: Mapping[str, Sequence[Standing]]) -> str:
    """Recommend an action without full information; with a policy that has a bound, where the cheapest has none."""
    own = standing.ranking("own")
    if not own:
        return "replay with sees='own'"
    action = recommendation(standing, parts, ("own",)).action
    bounded = [name for name in own if standing.played[name].bounded]
    if not bounded or action == f"use {bounded[0]}":
        return action
    use = "" if action.startswith("use ") else "use "
    return f"{action}, or {use}{bounded[0]}{_caveat(standing, bounded[0])}"


def _no_bound(standing: Standing, name: str) -> tuple[str, str]:
    """Return when not to use the policy, and one with a bound to use then."""
    if standing.played[name].bounded:
        return "the next rounds are nothing like this record", ""
    bounded = [other for other in standing.ranking("own") if standing.played[other].bounded]
    unless = "losses may come that are made against it, for which it has no bound"
    return unless, f"use {bounded[0]}{_caveat(standing, bounded[0])}" if bounded else ""


def _safest(standing: Standing, names: Sequence[str]) -> str:
    """Return a policy that costs nearly the least, has a bound and follows changes, if there is one."""
    cost = {name: float(standing.costs[name].mean()) for name in names}
    most = cost[names[0]] + NOTABLE * abs(standing.best_arm_cost)
    close, played = [name for name in names if cost[name] <= most], standing.played
    return max(close, key=lambda name: played[name].bounded + played[name].follows)  # of equals the cheapest


def _learnt(standing: Standing, name: str) -> bool:
    """Tell whether a policy costs less than a random arm."""
    return bool(standing.costs[name].mean() < standing.random_fixed_cost)


def _caveat(standing: Standing, name: str) -> str:
    """Return the sentence on a policy that is not the cheapest."""
    own = standing.played[name]
    wanting = ["follows changes late"] if own.bounded and not own.follows else []
    wanting += [] if _learnt(standing, name) else ["costs more here than an arm taken at random"]
    against = " and ".join(wanting)
    if not own.bounded:
        return f", which {against}" if against else ""
    return f", which has a bound against every fixed arm{', but ' if against else ''}{against}"


def _same_arm(standing: Standing, parts: Mapping[str, Sequence[Standing]]) -> tuple[int, int]:
    """Count the quarters, or halves of a short record, in which the overall best arm was the best, and all of them."""
    finest = list(parts.values())[-1] if parts else [standing]
    return sum(part.best_arm == standing.best_arm for part in finest), len(finest)


def joint_recommendation(by_cost: Mapping[float, Recommendation]) -> Sentence:
    """Return one recommendation for all λ: each action once, with its values of λ."""
    ordered = [by_cost[lam] for lam in sorted(by_cost)]
    decided = all(one.decided for one in ordered)
    if len(ordered) == 1:
        return ordered[0].sentence()
    numbers = {f"{name} {one.at}": value for one in ordered for name, value in one.numbers.items()}
    texts = []
    for _, group in groupby(ordered, key=lambda one: one.action):
        some = list(group)
        texts.append(_of_group(some, alone=len(some) == len(ordered)))
    close = [one.at.removeprefix("at ") for one in ordered if not one.decided]
    if close:
        texts.append(f"This is close, and not decided by the intervals, at {listed_words(close)}.")
    return Sentence(" ".join(texts), decided, numbers)


def _of_group(some: Sequence[Recommendation], *, alone: bool) -> str:
    """Join recommendations with the same action: the gains of each λ in one sentence where the reason is the same."""
    first, last = some[0], some[-1]
    lambdas = listed_words([one.at.removeprefix("at λ = ") for one in some])
    same = len({one.because for one in some}) == 1
    if same:
        gains = [listed_words(one) for one in zip(*(one.gains for one in some), strict=True)]
        because = f"at λ = {lambdas} {first.because.format(*gains)}"
    else:
        because = "; ".join(f"{one.at} {one.because.format(*one.gains)}" for one in (first, last))
    head = "" if alone or same else f"at λ = {lambdas} "
    argues = all(one.argues for one in some)
    return sentence_case(f"{head}{first.action}{_joint(argues)}{because}{_exception(some, argues)}")


def _joint(argues: bool) -> str:
    """Return the words between an action and its reason."""
    return ", because " if argues else ": "


def _exception(some: Sequence[Recommendation], argues: bool) -> str:
    """Say when not to act so, and what to do then; an action has one exception, whose remedy may depend on λ."""
    thens = [next(group) for _, group in groupby(some, key=lambda one: one.then)]
    later = [f"from λ = {one.at.removeprefix('at λ = ')} on {one.then}" for one in thens[1:]]
    then, unless = "; ".join([thens[0].then, *later]), some[0].unless
    if argues:
        return f", unless {unless}{': then ' if then else ''}{then}."
    return f". If {unless}, {then}." if then else "."
