"""What a game plays, and what it has learnt: as objects, and as the text that a store keeps."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any

from holdfast.decisions.codec import (
    block_numbers,
    finite_json,
    learner_content,
    learner_from,
    policy_from,
    settings_of,
    sums_from,
    undamaged,
)
from holdfast.decisions.ids import Ids, checked_arm
from holdfast.decisions.models import Block, Decision, Game, Head, new_token
from holdfast.decisions.settings import Settings
from holdfast.errors import BadSavedState, BadStore
from holdfast.players.document import described
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

    def name_of(self, arm: int) -> int | str:
        """The name of an arm, or its number where arms have none."""
        if not 0 <= arm < len(self.names):
            raise BadStore(f"the store is damaged: game {self.game.name!r} has no arm {arm}")
        return self.names[arm]

    def bounds_of(self, block: Block) -> tuple[float, float]:
        """The range of its losses."""
        return self.policy.bounds if block.bound is None else (0.0, block.bound)

    def decisions(self, block: Block | Head, rounds: range, at: float) -> list[Decision]:
        """Rounds of a block, or of the current one, that were handed out together."""
        number = block.block if isinstance(block, Head) else block.number
        name, probability, id_of = self.name_of(block.arm), block.probability, self.ids.id_of
        return [Decision(id_of(number, round), name, probability, number, at) for round in rounds]


@dataclass
class ArmSums:
    """One arm so far, without the blocks that are still open."""

    blocks: int = 0
    rounds: int = 0
    told: int = 0
    losses: list[float] = field(default_factory=list)
    last_used: float | None = None
    """When its latest block began."""

    def add(self, block: Block) -> None:
        """One settled block more."""
        self.blocks += 1
        self.rounds += block.rounds
        self.told += block.told
        self.losses = exact_sum([*self.losses, *block.losses])
        self.last_used = block.began if self.last_used is None else max(self.last_used, block.began)


@dataclass
class State:
    """What was learnt: the policy's numbers and stream, and sums for each arm. It changes with blocks, not rounds."""

    learner: Learner
    arms: list[ArmSums]


def setup_of(game: Game, given: Policy | None) -> Setup:
    """The setup that a game's row describes; `given` is the policy that the user gave, if any."""
    with undamaged(f"the settings of game {game.name!r}", BadSavedState):  # that names a policy to give
        settings = settings_of(game.settings)
        policy = policy_from(game.policy, given)
        arms = json.loads(game.arms)
        names = tuple(number if name is None else name for number, (name, _) in enumerate(arms))
        active = tuple(number for number, (_, retired) in enumerate(arms) if not retired)
        played = [names[arm] for arm in active]
        if played != list(policy.arms or range(policy.n_arms)):
            raise ValueError(f"the arms {played} are not those of the policy")
    return Setup(game, policy, settings, names, active, Ids(game.uid, game.secret))


def changed_game(setup: Setup, policy: Policy, settings: Settings, arms: list[tuple[str | None, bool]]) -> Game:
    """The row of a game with other settings."""
    for name, _ in arms:
        checked_arm("arms", name or "")
    return setup.game._replace(**_texts(policy, settings, arms))


def new_game(name: str, policy: Policy, settings: Settings, now: float, uid: str, secret: str) -> Game:
    """The row of a game that begins.

    Parameters
    ----------
    name
        The game's name.
    policy
        What it plays.
    settings
        How it waits for losses.
    now
        When it begins.
    uid
        What the ids of its decisions begin with.
    secret
        What they are signed with.
    """
    names: list[str | None] = [None] * policy.n_arms if policy.arms is None else list(policy.arms)
    arms = [(None if arm is None else checked_arm("arms", arm), False) for arm in names]
    return Game(id=0, name=name, uid=uid, secret=secret, created=now, **_texts(policy, settings, arms))


def _texts(policy: Policy, settings: Settings, arms: list[tuple[str | None, bool]]) -> dict[str, Any]:
    return {
        "policy": json.dumps(described(policy)),
        "arms": json.dumps(arms),
        "settings": settings.as_json(),
        "settings_version": new_token(),
    }


def first_head(game: Game, now: float) -> Head:
    """The head of a game that begins."""
    return Head(
        revision=1,
        settings_version=game.settings_version,
        state_version=new_token(),
        block=0,
        arm=-1,
        rounds=0,
        handed=0,
        probability=0.0,
        asked=0,
        switches=0,
        paid=(),
        settled=0,
        forgotten=0,
        kept=0,
        removed=0,
        clock=now,
        next_due=None,
    )


def state_text(state: State) -> str:
    """What is kept of a state."""
    return finite_json("the state", learner_content(state.learner) | {"arms": [asdict(arm) for arm in state.arms]})


def state_from(setup: Setup, head: Head, text: str, current: Block | None) -> State:
    """The state that a store describes; `current` is the block of the head, if it is open."""
    whole = len(setup.active) == len(setup.names)  # else the block may have been drawn among other arms
    block = block_numbers(setup.policy, setup.game.name, current) if current is not None and whole else None
    with undamaged(f"the state of game {setup.game.name!r}"):
        content: Any = json.loads(text)
        learner = learner_from(content, setup.policy, head.block, block, strict=whole)
        arms = [ArmSums(**sums) for sums in sums_from(content["arms"], len(setup.names))]
    return State(learner, arms)
