"""What a game plays, and what it has learnt."""

from __future__ import annotations

from dataclasses import dataclass, field

from holdfast.decisions.ids import Ids
from holdfast.decisions.models import Block, Decision, Game
from holdfast.decisions.settings import Settings
from holdfast.errors import BadStore
from holdfast.layouts import Layout
from holdfast.players.game import Game as Learner
from holdfast.players.losses import exact_sum
from holdfast.policies.policy import Policy


@dataclass(frozen=True)
class Setup:
    """What a game plays and how, as its row says."""

    game: Game
    policy: Policy
    settings: Settings
    names: tuple[int | str, ...]
    """All arms there ever were."""
    active: tuple[int, ...]
    """Those that are not retired; the policy's arm i is `active[i]`."""
    ids: Ids
    bounds: tuple[float, float]
    """The range of a loss, unless another one is announced with a block."""
    announces: str | None
    """What the policy is told at the beginning of a block."""
    has_patience: bool
    follows_lateness: bool
    """Whether patience depends on the lateness seen."""
    state_layout: Layout
    block_names: tuple[str, ...]

    def name_of(self, arm: int) -> int | str:
        """The name of an arm, or its number where arms have none."""
        if not 0 <= arm < len(self.names):
            raise BadStore(f"the store is damaged: game {self.game.name!r} has no arm {arm}")
        return self.names[arm]

    def bounds_of(self, block: Block) -> tuple[float, float]:
        """The range of its losses."""
        return self.bounds if block.bound is None else (0.0, block.bound)

    def decisions(self, block: Block, rounds: range, at: float) -> list[Decision]:
        """Rounds of a block that were handed out together."""
        name, probability, id_of, number = self.name_of(block.arm), block.probability, self.ids.id_of, block.number
        return [Decision(id_of(number, round), name, probability, number, at) for round in rounds]


@dataclass
class ArmSums:
    """One arm so far, without the blocks that are still open."""

    blocks: int = 0
    rounds: int = 0
    told: int = 0
    losses: list[float] = field(default_factory=list)
    stood_in: list[float] = field(default_factory=list)
    """Parts of what counted for losses that did not come."""
    dropped: int = 0
    """Rounds without a loss for which nothing counted."""
    last_used: float | None = None
    """When its latest block began."""

    def add(self, block: Block) -> None:
        """One settled block more."""
        self.blocks += 1
        self.rounds += block.rounds
        self.told += block.told
        self.losses = exact_sum([*self.losses, *block.losses])
        missing = block.rounds - block.told
        if missing and block.stand_in is None:
            self.dropped += missing
        elif missing and block.stand_in is not None:
            self.stood_in = exact_sum([*self.stood_in, missing * block.stand_in])
        self.last_used = block.began if self.last_used is None else max(self.last_used, block.began)


@dataclass
class State:
    """What was learnt: the policy's numbers and stream, and sums for each arm. It changes with blocks, not rounds."""

    learner: Learner
    arms: list[ArmSums]
