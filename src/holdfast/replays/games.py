"""Policies on recorded losses: which are played, on which stretches of the trace, and which arms they held.

A *piece* is one policy at one λ, on the whole trace and on each of its halves and quarters, every stretch played from
its beginning by a policy that knows nothing yet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.checks import whole_number
from holdfast.environments import LossTable
from holdfast.errors import InvalidParameter
from holdfast.extras import pl
from holdfast.policies import Policy
from holdfast.policies.registry import entry_of
from holdfast.results import Result
from holdfast.rng import check_seed
from holdfast.runs.record import plain
from holdfast.simulation.backends import Backend
from holdfast.simulation.checkpoints import checkpoint_rounds
from holdfast.simulation.costs import Costs
from holdfast.simulation.run import fitted, simulate
from holdfast.simulation.tasks import Task, arms_played
from holdfast.studies.policies import study_policy

WHOLE = "whole"
COLUMNS = {"switching_cost": pl.Float64, "stretch": pl.String}
"""What the table of a piece has before the columns of every result."""

DEFAULT_POLICIES: tuple[dict[str, Any], ...] = (
    {"policy": "adaptive"},
    {"policy": "tsallis-switch"},
    {"policy": "follow-the-leader", "cooldown": 10, "name": "leader-cooldown-10"},
    {"policy": "hold-forever"},
)
"""The adaptive policy, the paper's, what people write by hand, and one arm taken at random."""

PolicyLike = str | Mapping[str, Any] | Policy
Stretches = Mapping[str, LossTable]


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


def pieces_of(given: object, costs: Sequence[float], stretches: Stretches) -> list[Piece]:
    """Every policy at every λ, checked: a policy by its id or table has λ, the arms, the rounds and the units filled
    in; an object is played as it is, at every λ."""
    entries = _entries(given)
    pieces = []
    for lam in costs:
        names: set[str] = set()
        for i, entry in enumerate(entries):
            piece = _piece(f"policies[{i}]", entry, lam, stretches)
            if piece.name in names:
                rule = "must have different names; give one with name=..."
                raise InvalidParameter("policies", rule, piece.name)
            names.add(piece.name)
            pieces.append(piece)
    return pieces


def _entries(given: object) -> list[Any]:
    if given is None:
        return list(DEFAULT_POLICIES)
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


def _piece(place: str, entry: Any, lam: float, stretches: Stretches) -> Piece:
    policies: dict[str, Policy] = {}
    name = ""
    code: dict[str, str] = {}
    for stretch, table in stretches.items():
        given = entry[1] if isinstance(entry, tuple) else entry
        if isinstance(given, Policy):
            name = entry[0] if isinstance(entry, tuple) else given.label
            try:
                policies[stretch] = fitted(given, table, table.rounds)
            except InvalidParameter as error:
                raise InvalidParameter(f"{error.parameter} of {name}", error.rule, error.value) from None
        else:
            table_of = dict(given) if isinstance(given, Mapping) else given
            name, policies[stretch], code = study_policy(
                place, table_of, table, table.rounds, Costs.of(lam), Path.cwd()
            )
    return Piece(lam, name, policies, code)


@dataclass(frozen=True)
class PieceRunner:
    """How pieces are played."""

    stretches: Stretches
    replications: int
    seed: int
    marks: tuple[int, ...]
    """The rounds of the whole trace that are recorded; of the other stretches only the last is."""
    backend: Backend

    @classmethod
    def of(cls, stretches: Stretches, replications: object, seed: object, points: int, backend: Backend) -> PieceRunner:
        """Checked: intervals need two replications."""
        count = whole_number("replications", replications, least=2, most=2**32)
        marks = checkpoint_rounds(points, stretches[WHOLE].rounds)
        return cls(stretches, count, check_seed(seed), marks, backend)

    @property
    def rows(self) -> int:
        """Rows of a piece's table."""
        return self.replications * (len(self.marks) + len(self.stretches) - 1)

    def play(self, piece: Piece) -> Result:
        """All stretches in one table. What draws nothing is played once, and its rows repeated."""
        frames = []
        provenance: dict[str, Any] = {}
        for stretch, table in self.stretches.items():
            policy = piece.policies[stretch]
            result = simulate(
                {piece.name: policy},
                table,
                switching_cost=piece.switching_cost,
                replications=1 if policy.deterministic else self.replications,
                seed=self.seed,
                checkpoints=self.marks if stretch == WHOLE else [table.rounds],
                backend=self.backend,
                progress=False,
            )
            provenance = provenance or {"versions": result.provenance["versions"]}
            frame = result.frame
            if policy.deterministic:
                again = [frame.with_columns(replication=pl.lit(i, pl.Int64)) for i in range(self.replications)]
                frame = pl.concat(again)
            keys = [pl.lit(piece.switching_cost, pl.Float64).alias("switching_cost"), pl.lit(stretch).alias("stretch")]
            frames.append(frame.select(*keys, pl.all()))
        return Result(pl.concat(frames), provenance)


# ---- which arms were held ----


def arms_held(
    table: LossTable, name: str, policy: Policy, lam: float, *, seed: int, replication: int
) -> NDArray[np.int32]:
    """The arm of each round in one replication, as `simulate` plays it."""
    costs = replace(Costs.of(lam, blocks=table.rounds), unit=table.unit)
    task = Task(name, policy, table, table.rounds, costs, (table.rounds,), seed, replication, 1)
    held: NDArray[np.int32] = arms_played(task)[0]
    return held
