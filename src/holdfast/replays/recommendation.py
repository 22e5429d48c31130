"""One recommendation: do this, because, unless. Decided by intervals, and said where they do not decide.

"Because" is said of a reason only: that a policy costs more than the best arm is none, and follows a colon.

What is compared is on this record. It recommends a policy where it is cheaper than staying with the best arm in
hindsight by more than one per cent; staying, where nothing is and that arm was the best throughout, or where no
policy has learnt enough to beat a random arm; and otherwise the cheapest policy, since nobody knew beforehand which
arm would be the best.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from holdfast.replays.advice import NOTABLE, Sentence, listed_words, sentence_case, size
from holdfast.replays.cost_table import Standing

NOT_SEEN = "you do not see what the other arms lose"


@dataclass(frozen=True)
class Recommendation:
    """What to do at one λ."""

    at: str
    """At which switching cost, in words."""
    action: str
    because: str
    """With braces where the `gains` stand."""
    gains: tuple[str, ...]
    unless: str
    then: str
    """What to do in that case; empty where nothing is known to help."""
    decided: bool
    numbers: dict[str, float]
    argues: bool = True
    """Whether `because` speaks for the action."""

    def sentence(self) -> Sentence:
        """In one sentence."""
        open_ = "" if self.decided else " This is close: the intervals do not decide it."
        because = self.because.format(*self.gains)
        text = f"{sentence_case(self.action)}{_joint(self.argues)}{because}{_exception([self], self.argues)}{open_}"
        return Sentence(text, self.decided, self.numbers)


def recommendation(
    standing: Standing, parts: Mapping[str, Sequence[Standing]], sees: Sequence[str] = ("all", "own")
) -> Recommendation:
    """What to do at one λ, by the whole record and its halves and quarters, with policies that see so much."""
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
    name = names[0]
    excess = standing.amount(name, among=len(names)).less(base)
    numbers = {**excess.named("excess"), "best_arm_cost": base}
    decided = excess.high < -least or excess.low >= -least
    if excess.mean >= -least and (same == of or not _learnt(standing, name)):
        saves = "nothing that was played costs less" if excess.mean >= 0 else "nothing that was played saves 1 %"
        because = f"{saves} and it was the best {often}"
        if not _learnt(standing, name):
            because = "no policy costs less than an arm taken at random"
        safe = next((other for other in names if standing.played[other].bounded), name)
        then = f"use {safe}{_guarantee(standing, safe)}"
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
    """Names with braces in them, for `format`."""
    return words.replace("{", "{{").replace("}", "}}")


def _beside(standing: Standing, name: str) -> list[tuple[str, str]]:
    """Beside the cheapest policy that sees its own arm only, if decided: words with braces for the gain, and it."""
    own = standing.ranking("own")
    if not own or standing.difference(name, own[0], among=len(own)).sign >= 0:
        return []
    other, base = own[0], float(standing.costs[own[0]].mean())
    saved = base - float(standing.costs[name].mean())
    return [(f"{{}} less than {_braced(other)}, the cheapest that sees its own arm only", size(saved, base))]


def _without_seeing(standing: Standing, parts: Mapping[str, Sequence[Standing]]) -> str:
    """What to do without seeing all arms; with a policy that has a bound, where the cheapest has none."""
    own = standing.ranking("own")
    if not own:
        return "replay with sees='own'"
    action = recommendation(standing, parts, ("own",)).action
    bounded = [name for name in own if standing.played[name].bounded]
    if not bounded or bounded[0] == own[0]:
        return action
    use = "" if action.startswith("use ") else "use "
    return f"{action}, or {use}{bounded[0]}{_guarantee(standing, bounded[0])}"


def _no_bound(standing: Standing, name: str) -> tuple[str, str]:
    """A warning where the policy has no bound, and one to use that has."""
    if standing.played[name].bounded:
        return "the next rounds are nothing like this record", ""
    bounded = [other for other in standing.ranking("own") if standing.played[other].bounded]
    unless = "the best arm may change suddenly, for which it has no guarantee"
    return unless, f"use {bounded[0]}{_guarantee(standing, bounded[0])}" if bounded else ""


def _learnt(standing: Standing, name: str) -> bool:
    """Whether a policy costs less than an arm taken at random."""
    return bool(standing.costs[name].mean() < standing.random_fixed_cost)


def _guarantee(standing: Standing, name: str) -> str:
    """What is to be known before a policy is used that is not the cheapest."""
    has = ["has a guarantee"] if standing.played[name].bounded else []
    has += [] if _learnt(standing, name) else ["costs more here than an arm taken at random"]
    return f", which {' but '.join(has)}" if has else ""


def _same_arm(standing: Standing, parts: Mapping[str, Sequence[Standing]]) -> tuple[int, int]:
    """In how many quarters, or halves of a short record, the best arm of all was the best."""
    finest = list(parts.values())[-1] if parts else [standing]
    return sum(part.best_arm == standing.best_arm for part in finest), len(finest)


def joint_recommendation(by_cost: Mapping[float, Recommendation]) -> Sentence:
    """One recommendation for all λ: each action once, with the λ that it is for."""
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
    """Recommendations with the same action: the gains of each λ in one sentence where the reason is the same."""
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
    """What stands between an action and what is said of it."""
    return ", because " if argues else ": "


def _exception(some: Sequence[Recommendation], argues: bool) -> str:
    """When not, and what to do then; one action has one exception, but what to do then may depend on λ."""
    thens = [next(group) for _, group in groupby(some, key=lambda one: one.then)]
    later = [f"from λ = {one.at.removeprefix('at λ = ')} on {one.then}" for one in thens[1:]]
    then, unless = "; ".join([thens[0].then, *later]), some[0].unless
    if argues:
        return f", unless {unless}{': then ' if then else ''}{then}."
    return f". If {unless}, {then}." if then else "."
