"""What a game plays, and what it has learnt."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from holdfast.decisions.ids import Ids
from holdfast.decisions.models import Block, Decision, Game, Loss
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
    since: tuple[int, ...]
    """For each arm, the block after which it came back: earlier ones are not learnt from."""
    paused: tuple[tuple[int, float], ...]
    """Arms that are down, and until when."""
    pin: tuple[int, float] | None
    """The arm that an operator wants, and until when."""
    ids: Ids
    bounds: tuple[float, float]
    """The range of a loss, unless another one is announced with a block."""
    announces: str | None
    """What the policy is told at the beginning of a block."""
    sees_all: bool
    """Whether the policy is told the losses of all arms."""
    has_patience: bool
    """Whether blocks are settled without losses that do not come."""
    follows_lateness: bool
    """Whether patience depends on the lateness seen."""
    state_layout: Layout
    block_layout: Layout

    def name_of(self, arm: int) -> int | str:
        """The name of an arm, or its number where arms have none."""
        if not 0 <= arm < len(self.names):
            raise BadStore(f"the store is damaged: game {self.game.name!r} has no arm {arm}")
        return self.names[arm]

    def bounds_of(self, block: Block | None) -> tuple[float, float]:
        """The range of its losses; of a block that is not known, that of the game."""
        return self.bounds if block is None or block.bound is None else (0.0, block.bound)

    def decisions(self, block: Block, rounds: range, at: float) -> list[Decision]:
        """Rounds of a block that were handed out together."""
        name, probability, id_of, number = self.name_of(block.arm), block.probability, self.ids.id_of, block.number
        if not block.played:
            return [Decision(id_of(number, round), name, probability, number, at) for round in rounds]
        by = players_of(block, rounds.stop)
        return [Decision(id_of(number, r), self.name_of(by[r][0]), by[r][1], number, at) for r in rounds]

    def due(self, clock: float, asked: int) -> float | None:
        """When a block runs out of patience whose last round was handed out by the call that ends now."""
        return self.settings.due(clock, asked) if self.has_patience else None

    def learns_from(self, block: Block) -> bool:
        """Whether the policy drew it, and plays its arm still."""
        return not block.forced and self.plays(block)

    def plays(self, block: Block) -> bool:
        """Whether its arm was not retired since."""
        return block.arm in self.active and block.number > self.since[block.arm]


def players_of(block: Block, handed: int) -> list[tuple[int, float]]:
    """For each round handed out the arm that plays it, and with which probability."""
    by = [(block.arm, block.probability)] * handed
    try:
        for first, count, arm, probability in json.loads(block.played or "[]"):
            for round in range(first, min(first + count, handed)):
                by[round] = int(arm), float(probability)
    except (ValueError, TypeError) as error:
        raise BadStore(f"the store is damaged: block {block.number} cannot be read ({error})") from None
    return by


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

    def add(self, part: Part, block: Block) -> None:
        """Its part of a settled block."""
        self.blocks += 1
        self.rounds += part.rounds
        self.told += part.told
        self.losses = exact_sum([*self.losses, *part.losses])
        missing = part.rounds - part.told
        if missing and block.stand_in is None:
            self.dropped += missing
        elif missing and block.stand_in is not None:
            self.stood_in = exact_sum([*self.stood_in, missing * block.stand_in])
        self.last_used = block.began if self.last_used is None else max(self.last_used, block.began)


class Part(NamedTuple):
    """Rounds of a block that one arm played."""

    rounds: int
    told: int
    losses: Sequence[float]


def parts_of(block: Block, handed: int, losses: Callable[[], Iterable[Loss]]) -> dict[int, Part]:
    """What each arm played of a block so far; `losses` are read only where there are several."""
    if not block.played:
        return {block.arm: Part(handed, block.told, block.losses)}
    by = players_of(block, handed)
    lost = {loss.round: loss.loss for loss in losses() if not loss.late}
    parts = {}
    for player in {arm for arm, _ in by}:
        rounds = [n for n in range(handed) if by[n][0] == player]
        told = [lost[n] for n in rounds if n in lost]
        parts[player] = Part(len(rounds), len(told), exact_sum(told))
    return parts


@dataclass
class State:
    """What was learnt: the policy's numbers and stream, and sums for each arm. It changes with blocks, not rounds."""

    learner: Learner
    arms: list[ArmSums]
