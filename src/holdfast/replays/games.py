"""Policies on recorded losses: which are played, on which stretches of the trace, and which arms they held.

A *piece* is one policy at one λ, on the whole trace and on each of its halves and quarters, every stretch played from
its beginning by a policy that knows nothing yet.

Most policies are played many times by `simulate`. Of one that mixes paths on the losses of all arms the expected cost
is known exactly (`holdfast.replays.expected`), and it is played once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from holdfast.environments import LossTable
from holdfast.errors import InvalidParameter
from holdfast.extras import pl
from holdfast.paths import (
    FixedArm,
    FoundSeason,
    GivenForecast,
    Path as HedgePath,
    SeasonalPlan,
    Smoothed,
    WorkFunction,
)
from holdfast.policies.adaptive import AdaptiveTsallisSwitch
from holdfast.policies.hedge_switch import AdaptiveHedgeSwitch
from holdfast.policies.hold_forever import HoldForever
from holdfast.policies.policy import Policy
from holdfast.policies.registry import entry_of, find_policy
from holdfast.policies.switching_costs import CostTable
from holdfast.policies.tsallis_switch import TsallisSwitch
from holdfast.replays.cost_table import GameTotals
from holdfast.replays.expected import ExpectedGame, expected_game
from holdfast.replays.forecasts import Forecasts
from holdfast.results import SCHEMA, Result
from holdfast.runs.record import plain
from holdfast.simulation.backends import Backend
from holdfast.simulation.costs import Costs
from holdfast.simulation.run import fitted, simulate
from holdfast.simulation.tasks import Task, run_task
from holdfast.studies.policies import study_policy

WHOLE = "whole"
COLUMNS = pl.Schema({"switching_cost": pl.Float64, "stretch": pl.String} | SCHEMA | {"switches": pl.Float64})
"""The table of a piece: that of every result, with λ and stretch before it, and switches that may be expected ones."""

OWN_LOSS: tuple[dict[str, Any], ...] = (
    {"policy": "adaptive"},
    {"policy": "tsallis-switch"},
    {"policy": "follow-the-leader", "cooldown": 10, "name": "leader-cooldown-10"},
)
"""The adaptive policy, the paper's, and what people write by hand. What a random arm costs is known without playing."""

IN_SIGHT, WITH_FORECASTS = "hedge-switch", "hedge-forecasts"
"""The mixture of paths on the losses of all arms, without and with the user's forecasts."""
LONGEST_FORECAST = 48

LOOKING_AHEAD: Mapping[str, tuple[type[HedgePath], ...]] = {
    "none": (FixedArm, WorkFunction),
    "naive": (Smoothed,),
    "seasonal": (FoundSeason, SeasonalPlan),
    "given": (GivenForecast,),
}
"""Kinds of paths: those that do not look ahead, that take the next rounds to be like the last ones, that look for days
or weeks in the record, that have the user's forecasts."""

WITH_BOUND = (AdaptiveHedgeSwitch, AdaptiveTsallisSwitch, TsallisSwitch)
"""Policies whose regret has a proven bound for any losses."""

PolicyLike = str | Mapping[str, Any] | Policy


@dataclass(frozen=True)
class Stretch:
    """A part of the record: what its rounds lost, and what else was known of them."""

    table: LossTable
    losses: NDArray[Any]
    """The same as they were given, a row per round."""
    closed: NDArray[np.bool_] | None
    """True where an arm was not available."""
    forecasts: Forecasts | None


Stretches = Mapping[str, Stretch]


@dataclass(frozen=True)
class Piece:
    """One policy at one λ, as it plays each stretch."""

    switching_cost: float
    name: str
    policies: Mapping[str, Policy]
    code: Mapping[str, str]
    """The modules of a user-defined policy, each with the checksum of its source."""

    @property
    def policy(self) -> Policy:
        """The one that plays the whole trace."""
        return self.policies[WHOLE]

    def settings(self) -> dict[str, Any]:
        """What its numbers depend on besides the trace, as JSON has it."""
        described = {stretch: policy.settings() for stretch, policy in self.policies.items()}
        return plain({"name": self.name, "policies": described, "code": dict(self.code)})


def all_losses(period: Any, forecasts: bool) -> list[dict[str, Any]]:
    """The mixture of paths that sees all losses, without the user's forecasts and with them."""
    common = {"policy": "hedge-switch", **({} if period is None else {"period": period})}
    rounds = {WITH_FORECASTS: LONGEST_FORECAST, IN_SIGHT: 0} if forecasts else {IN_SIGHT: 0}
    return [{**common, "forecast_rounds": most, "name": name} for name, most in rounds.items()]


def pieces_of(
    given: object, costs: Sequence[float], stretches: Stretches, *, pairs: CostTable | None, defaults: Sequence[Any]
) -> list[Piece]:
    """Every policy at every λ, checked; `defaults` where none are given.

    A policy by its id or table has λ, the arms, the rounds and the units filled in; with a cost for each pair of arms
    it gets those, if it takes them, or else λ, the largest. An object is played as it is, at every λ.
    """
    entries = list(defaults) if given is None else _entries(given)
    pieces = []
    for lam in costs:
        names: set[str] = set()
        for i, entry in enumerate(entries):
            piece = _piece(f"policies[{i}]", entry, lam, stretches, pairs)
            if piece.name in names:
                rule = "must have different names; give one with name=..."
                raise InvalidParameter("policies", rule, piece.name)
            names.add(piece.name)
            pieces.append(piece)
    return pieces


def _entries(given: object) -> list[Any]:
    if isinstance(given, (str, Policy)) or (isinstance(given, Mapping) and "policy" in given):
        given = [given]
    if isinstance(given, Mapping):
        return [_renamed(str(name), entry) for name, entry in given.items()]
    if not isinstance(given, Sequence) or not given:
        rule = 'must be ids such as "adaptive", tables such as {"policy": "exp3"}, or policies'
        raise InvalidParameter("policies", rule, given)
    return [entry_of(entry) if isinstance(entry, str) else entry for entry in given]


def _renamed(name: str, entry: Any) -> Any:
    if isinstance(entry, Policy):
        return name, entry
    table = entry_of(entry) if isinstance(entry, str) else entry
    return {**table, "name": name} if isinstance(table, Mapping) else table


def _piece(place: str, entry: Any, lam: float, stretches: Stretches, pairs: CostTable | None) -> Piece:
    label, given = entry[:2] if isinstance(entry, tuple) else (None, entry)
    if isinstance(given, Mapping):
        given = dict(given)
        if pairs is not None and issubclass(find_policy(given.get("policy"))[0], AdaptiveHedgeSwitch):
            given.setdefault("switching_cost", pairs)
    policies: dict[str, Policy] = {}
    name, code = "", dict[str, str]()
    for stretch, part in stretches.items():
        table = part.table
        if isinstance(given, Policy):
            name = given.label if label is None else label
            try:
                policies[stretch] = fitted(given, table, table.rounds)
            except InvalidParameter as error:
                raise InvalidParameter(f"{error.parameter} of {name}", error.rule, error.value) from None
        else:
            name, policies[stretch], code = study_policy(place, given, table, table.rounds, Costs.of(lam), Path.cwd())
    return Piece(lam, name, policies, code)


def is_exact(policy: Policy) -> TypeGuard[AdaptiveHedgeSwitch]:
    """Whether its expected cost is computed instead of sampled."""
    return isinstance(policy, AdaptiveHedgeSwitch) and policy.announces is None


def totals_of(policy: Policy, last: pl.DataFrame, pairs: CostTable | None) -> GameTotals:
    """What a policy came to on one stretch, from the last rows of its games."""
    losses, paid = last["total_loss"].to_numpy(), (last["total_cost"] - last["total_loss"]).to_numpy()
    return GameTotals(
        losses,
        last["switches"].to_numpy(),
        None if pairs is None else paid,
        "nothing" if isinstance(policy, HoldForever) else policy.kernels.sees,
        isinstance(policy, WITH_BOUND),
    )


@dataclass(frozen=True)
class PieceRunner:
    """How pieces are played."""

    parts: Stretches
    replications: int
    seed: int
    marks: tuple[int, ...]
    """The rounds of the whole trace that are recorded; of the other stretches only the last is."""
    backend: Backend
    pairs: CostTable | None = None
    """What a switch costs from each arm to each other, where that is not the same."""
    drawn: dict[tuple[str, float], NDArray[np.int32]] = field(default_factory=dict, compare=False)
    """The arms that were drawn while expected costs were computed, by policy and λ."""

    @property
    def rows(self) -> int:
        """Rows of a piece's table."""
        return self.replications * (len(self.marks) + len(self.parts) - 1)

    def play(self, piece: Piece) -> Result:
        """All stretches in one table. What draws nothing is played once, and its rows repeated."""
        frames = []
        provenance: dict[str, Any] = {}
        exact = self._exact(piece) if is_exact(piece.policy) else {}
        for name, part in self.parts.items():
            policy = piece.policies[name]
            once = policy.deterministic or name in exact
            if name in exact:
                frame = exact[name]
            else:
                result = simulate(
                    {piece.name: policy},
                    part.table,
                    switching_cost=piece.switching_cost if self.pairs is None else self.pairs,
                    replications=1 if once else self.replications,
                    seed=self.seed,
                    checkpoints=self._marks(name),
                    backend=self.backend,
                    progress=False,
                )
                provenance = provenance or {"versions": result.provenance["versions"]}
                frame = result.frame
            if once:
                again = [frame.with_columns(replication=pl.lit(i, pl.Int64)) for i in range(self.replications)]
                frame = pl.concat(again)
            keys = [pl.lit(piece.switching_cost, pl.Float64).alias("switching_cost"), pl.lit(name).alias("stretch")]
            frames.append(frame.select(*keys, pl.all()).cast(COLUMNS))
        return Result(pl.concat(frames), provenance)

    def _marks(self, name: str) -> tuple[int, ...]:
        return self.marks if name == WHOLE else (self.parts[name].table.rounds,)

    def _exact(self, piece: Piece) -> dict[str, pl.DataFrame]:
        """For each stretch one row per mark: what the game costs on average."""

        def rows(name: str) -> pl.DataFrame:
            game = self._expected(piece.policies[name], name, self._marks(name), piece.name)
            if name == WHOLE:
                self.drawn[piece.name, piece.switching_cost] = game.arms
            table = self.parts[name].table
            return _rows(piece.name, self._marks(name), table, game)

        with ThreadPoolExecutor() as pool:  # the kernels let go of the interpreter
            return dict(zip(self.parts, pool.map(rows, self.parts), strict=True))

    def _expected(
        self, policy: Policy, name: str, marks: Sequence[int], label: str, only: Sequence[int] | None = None
    ) -> ExpectedGame:
        assert is_exact(policy)
        part = self.parts[name]
        return expected_game(
            policy,
            part.losses,
            marks,
            closed=part.closed,
            forecasts=part.forecasts,
            only=only,
            seed=self.seed,
            name=label,
        )

    def looking_ahead(self, pieces: Sequence[Piece]) -> dict[str, float]:
        """What a mixture of the default paths costs on the whole trace with more and more kinds of them."""
        policies = [piece.policy for piece in pieces]
        known = [policy for policy in policies if is_exact(policy) and policy.paths is None]
        if not known:
            return {}
        policy = max(known, key=lambda one: one.forecast_rounds)
        forecasts = policy.forecast_rounds and self.parts[WHOLE].forecasts is not None
        kinds = list(LOOKING_AHEAD.values())[: None if forecasts else -1]

        def cost(count: int) -> float:
            mixed = tuple(kind for some in kinds[:count] for kind in some)
            only = [i for i, path in enumerate(policy.mixed) if isinstance(path, mixed)]
            game = self._expected(policy, WHOLE, self.marks[-1:], "", only)
            return float(game.losses[-1] + game.paid[-1])

        with ThreadPoolExecutor() as pool:
            return dict(zip(LOOKING_AHEAD, pool.map(cost, range(1, len(kinds) + 1)), strict=False))

    def arms(self, piece: Piece, replication: int) -> NDArray[np.int32]:
        """The arm of each round of the whole trace in one replication."""
        if is_exact(piece.policy):
            found = self.drawn.get((piece.name, piece.switching_cost))
            return found if found is not None else self._expected(piece.policy, WHOLE, self.marks[-1:], piece.name).arms
        table = self.parts[WHOLE].table
        costs = replace(Costs.of(piece.switching_cost, blocks=table.rounds), unit=table.unit)
        game = Task(
            piece.name, piece.policy, table, table.rounds, costs, (table.rounds,), self.seed, replication, count=1
        )
        played = run_task(game, with_arms=True)
        assert played is not None  # nothing stops it
        held: NDArray[np.int32] = played.arms[0]
        return held


def _rows(name: str, marks: Sequence[int], table: LossTable, game: ExpectedGame) -> pl.DataFrame:
    """Rows of one game as `simulate` has them."""
    regret = game.losses - np.array([table.expected(0, mark).min() for mark in marks])
    return pl.DataFrame(
        {
            "policy": [name] * len(marks),
            "replication": [0] * len(marks),
            "round": list(marks),
            "pseudo_regret": regret,
            "switches": game.switches,
            "regret_with_switching": regret + game.paid,
            "total_loss": game.losses,
            "total_cost": game.losses + game.paid,
        },
        schema=dict(SCHEMA | {"switches": pl.Float64}),
    )
