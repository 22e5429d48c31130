"""Settings, cells and plans: experiments as data.

A `Setting` is a place to play: an environment, what a switch costs there, and for how many rounds. A `Cell` is some
policies that meet in one, all that `simulate` takes. A `Plan` is a list of cells.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from holdfast.bounds import theorem_1
from holdfast.environments import (
    Bernoulli,
    ChangingBest,
    ConstrainedBernoulli,
    Corrupted,
    Drifting,
    Environment,
    JumpingLevels,
    MultiScaleWalk,
    Reversal,
    Seasonal,
    UnseenTurn,
)
from holdfast.policies.policy import Policy
from holdfast.results import Result
from holdfast.runs import plain
from holdfast.simulation import Backend, simulate
from holdfast.simulation.costs import Costs, SwitchingCost
from holdfast.simulation.run import checkpoint_rounds, described_policies

# ---- cells and plans ----


@dataclass(frozen=True)
class Cell:
    """Policies that play the same games."""

    policies: Mapping[str, Policy]
    environment: Environment
    switching_cost: SwitchingCost
    horizon: int
    checkpoints: tuple[int, ...]
    replications: int = 1
    seed: int = 0
    name: str = ""
    """Name of its table; cells of one name are joined, unless kept in a folder."""
    keys: Mapping[str, Any] = field(default_factory=dict)
    """Values that distinguish the cell in its plan, by field."""
    columns: Mapping[str, Any] = field(default_factory=dict)
    """The same values as columns of its table."""
    source: Mapping[str, Any] = field(default_factory=dict)
    """File of a loss table and its checksum, code of a user-defined environment, or nothing."""
    code: Mapping[str, str] = field(default_factory=dict)
    """The modules of user-defined policies, each with the checksum of its source."""
    record: tuple[str, ...] = ()
    """Measures on request, as `simulate` takes them."""

    def settings(self) -> dict[str, Any]:
        """Return everything the numbers depend on, as JSON."""
        return plain(
            {
                "environment": self.environment.settings() | dict(self.source),
                "policies": {name: policy.settings() for name, policy in self.policies.items()},
                "horizon": self.horizon,
                "replications": self.replications,
                "seed": self.seed,
                "switching_cost": Costs.of(self.switching_cost).described(),
                "checkpoints": self.checkpoints,
                "code": dict(self.code),
                **({"record": self.record} if self.record else {}),
            }
        )

    def play(self, backend: str | Backend = "threads", *, first: int = 0, count: int | None = None) -> Result:
        """Play all replications, or `count` of them starting at number `first`."""
        return simulate(
            self.policies,
            self.environment,
            horizon=self.horizon,
            switching_cost=self.switching_cost,
            replications=self.replications if count is None else count,
            first_replication=first,
            seed=self.seed,
            checkpoints=self.checkpoints,
            record=self.record,
            backend=backend,
            progress=False,
        )


@dataclass(frozen=True)
class Plan:
    """Cells to be played, in this order."""

    name: str
    cells: tuple[Cell, ...]
    written: Mapping[str, Any] = field(default_factory=dict)
    """Settings in the user's words, for messages about what changed."""

    @property
    def is_named(self) -> bool:
        """True if the user gave the name; otherwise it may change."""
        return "name" in self.written

    @property
    def checkpoints_are_given(self) -> bool:
        """True if the user gave checkpoints; otherwise they follow from the replications."""
        return "checkpoints" in self.written or "checkpoints" in self.cells[0].keys

    def renamed(self, name: str) -> Plan:
        """Return the same plan under another name; a single cell without keys takes it too."""
        if len(self.cells) == 1 and not self.cells[0].keys:
            return replace(self, name=name, cells=(replace(self.cells[0], name=name),))
        return replace(self, name=name)


# ---- settings ----


@dataclass(frozen=True)
class Setting:
    """A place to play."""

    name: str
    group: str
    environment: Environment
    switching_cost: float
    horizon: int
    source: Mapping[str, Any] = field(default_factory=dict)
    """File of a trace and its checksum, or nothing."""

    @cached_property
    def bound(self) -> float:
        """Theorem 1's bound, in the units of the losses."""
        unit = self.environment.unit
        cost = self.switching_cost / unit
        return unit * theorem_1(n_arms=self.environment.n_arms, switching_cost=cost, horizon=self.horizon)

    def cell(
        self,
        policies: Mapping[str, Policy] | Sequence[Mapping[str, Any]],
        *,
        checkpoints: int | Sequence[int] = 1,
        replications: int = 1,
        seed: int = 0,
        name: str | None = None,
        columns: Mapping[str, Any] | None = None,
    ) -> Cell:
        """Return a cell in which these policies play here.

        Parameters
        ----------
        policies
            By name, or as tables that `described_policy` takes.
        checkpoints
            Number of rounds to record, evenly spaced, or the rounds themselves.
        replications, seed
            See `simulate`.
        name, columns
            Keys of its table; the name is the setting's unless given.
        """
        code: dict[str, str] = {}
        if not isinstance(policies, Mapping):
            costs = Costs.of(self.switching_cost)
            policies, code = described_policies(policies, self.environment, self.horizon, costs)
        if isinstance(checkpoints, int):
            checkpoints = min(checkpoints, self.horizon)
        return Cell(
            policies=policies,
            environment=self.environment,
            switching_cost=self.switching_cost,
            horizon=self.horizon,
            checkpoints=checkpoint_rounds(checkpoints, self.horizon),
            replications=replications,
            seed=seed,
            name=self.name if name is None else name,
            keys={"environment": self.name, "horizon": self.horizon},
            columns=columns or {},
            source=self.source,
            code=code,
        )


EASY_GAP, EASY_COST = 0.2, 0.025
HARD_GAP, HARD_COST = 0.05, 1.0
TIES_GAP, TIES_COST = 0.2, 1.0
ADVERSARIAL_COST = 1.0
ARMS = (2, 4, 8, 16, 32)
"""Numbers of arms in the paper's figures."""


def paper_settings(horizon: int, n_arms: int = 8) -> dict[str, Setting]:
    """Return the settings of the paper's figures by name.

    Two of them come again with the best arm anywhere. The ties are those of three best arms, or of as many as there
    are beside another.
    """
    K, T, best = n_arms, horizon, min(3, n_arms - 1)
    stochastic, constrained = Bernoulli.with_gap, ConstrainedBernoulli
    settings: dict[str, tuple[Environment, float]] = {
        "stochastic-easy": (stochastic(K, EASY_GAP), EASY_COST),
        "stochastic-hard": (stochastic(K, HARD_GAP), HARD_COST),
        "stochastic-free": (stochastic(K, HARD_GAP), 0.0),
        "constrained-easy": (constrained(K, EASY_GAP), EASY_COST),
        "constrained-hard": (constrained(K, HARD_GAP), HARD_COST),
        "constrained-easy-shuffled": (constrained(K, EASY_GAP, shuffled=True), EASY_COST),
        "constrained-hard-shuffled": (constrained(K, HARD_GAP, shuffled=True), HARD_COST),
        "adversarial": (Reversal(K, T), ADVERSARIAL_COST),
        "ties-stochastic": (stochastic(K, TIES_GAP, best_arms=best), TIES_COST),
        "ties-constrained": (constrained(K, TIES_GAP, best_arms=best), TIES_COST),
        **{f"arms-{count}": (constrained(count, HARD_GAP), HARD_COST) for count in ARMS},
    }
    return {name: Setting(name, "paper", environment, cost, T) for name, (environment, cost) in settings.items()}


HARD_CASES: Mapping[str, Callable[[int, int, float], Environment]] = {
    "corrupted": lambda K, T, cost: Corrupted(K, T, corrupted=T // 30),
    "corrupted-often": lambda K, T, cost: Corrupted(K, T, corrupted=T // 10, stretches=20),
    "drifting": lambda K, T, cost: Drifting(K, T),
    "seasonal": lambda K, T, cost: Seasonal(K, T, period=max(T // 100, 24)),
    "seasonal-common": lambda K, T, cost: Seasonal(K, T, period=max(T // 100, 24), lag=0.0),
    "changing-best": lambda K, T, cost: ChangingBest(K, T),
    "unseen-turn": lambda K, T, cost: UnseenTurn(K, T),
    "unseen-turn-quiet": lambda K, T, cost: UnseenTurn(K, T, noise=False),
    "jumping-levels": lambda K, T, cost: JumpingLevels(K, T, stretch=max(T // 200, 1)),
    "multi-scale-walk": lambda K, T, cost: MultiScaleWalk(K, T, switching_cost=cost),
}
"""Worlds that are hard for one policy or another, from K, T and λ."""


def hard_setting(case: str, horizon: int, switching_cost: float, name: str = "") -> Setting:
    """Return one of the hard cases with eight arms and this cost."""
    environment = HARD_CASES[case](8, horizon, switching_cost)
    return Setting(name or case, "hard", environment, switching_cost, horizon)
