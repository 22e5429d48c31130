"""Costs of policies on one stretch of a trace at one λ, compared with fixed arms and plans in hindsight."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Literal

import numpy as np

from holdfast.errors import InvalidParameter
from holdfast.numerics.layout import Array
from holdfast.numerics.statistics import interval


@dataclass(frozen=True)
class Amount:
    """A mean over replications with its confidence interval; three equal numbers if it is known exactly."""

    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, sample: Array, confidence: float) -> Amount:
        """Return the mean with Student's interval; equal numbers count as known exactly."""
        if np.ptp(sample) == 0.0:
            return cls(*[float(sample[0])] * 3)
        return cls(*interval(sample, confidence))

    def less(self, number: float) -> Amount:
        """Subtract a number that is known exactly."""
        return Amount(self.mean - number, self.low - number, self.high - number)

    def named(self, name: str) -> dict[str, float]:
        """Return the amount as columns of a table."""
        return {name: self.mean, f"{name}_low": self.low, f"{name}_high": self.high}

    @property
    def sign(self) -> int:
        """1 or −1 when the interval lies above or below zero, 0 when that is not decided."""
        return int(self.low > 0.0) - int(self.high < 0.0)

    @property
    def decided(self) -> bool:
        """True if the interval excludes zero, or the amount is known exactly."""
        return self.sign != 0 or self.low == self.high


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

    def amount(self, policy: str, *, among: int = 1) -> Amount:
        """Return the total cost of a policy; `among` intervals hold jointly at the confidence asked for."""
        return Amount.of(self.costs[policy], 1.0 - (1.0 - self.confidence) / among)

    def difference(self, first: str, second: str, *, among: int = 1) -> Amount:
        """Return how much more the first policy costs than the second."""
        return Amount.of(self.costs[first] - self.costs[second], 1.0 - (1.0 - self.confidence) / among)

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
            row |= Amount.of(played.losses, self.confidence).named("losses")
            row |= Amount.of(played.switches, self.confidence).named("switches")
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
