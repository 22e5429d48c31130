"""A game as its rows say: what it plays, what it has learnt, and who plays a block; as values and as JSON.

Reading refuses anything that Holdfast cannot have written.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import math
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple

import numpy as np

from holdfast.decisions.models import (
    BY_RULE,
    MOST_COUNT,
    PINNED,
    Block,
    Decision,
    Game,
    Head,
    Loss,
    new_token,
    undamaged,
)
from holdfast.decisions.options import checked_arm
from holdfast.decisions.settings import AUTO, Settings
from holdfast.errors import (
    BadSavedState,
    BadStore,
    Call,
    HoldfastError,
    InvalidParameter,
    NoArmAvailable,
    UnknownDecision,
    Words,
    nearest,
)
from holdfast.numerics.layout import Array, Layout
from holdfast.numerics.sums import exact_sum
from holdfast.players.game import Game as Learner
from holdfast.players.saves import described, named_numbers, policy_of
from holdfast.policies.policy import Policy

# ---- what a game plays, and what it has learnt


@dataclass(frozen=True)
class Setup:
    """Policy and settings of a game, as its row says."""

    game: Game
    policy: Policy
    settings: Settings
    names: tuple[int | str, ...]
    """All arms that ever existed."""
    active: tuple[int, ...]
    """Arms that are not retired; the policy's arm i is `active[i]`."""
    since: tuple[int, ...]
    """For each arm, the block after which it was re-added; earlier ones are not learnt from."""
    paused: tuple[tuple[int, float], ...]
    """Paused arms with their ends."""
    pin: tuple[int, float] | None
    """The pinned arm and its end."""
    ids: Ids
    bounds: tuple[float, float]
    """Range of a loss, unless announced with a block."""
    announces: str | None
    """Announcement the policy needs at the start of a block."""
    sees_all: bool
    """True for a full-information policy."""
    follows_lateness: bool
    """True if patience depends on the lateness seen."""
    state_layout: Layout
    block_layout: Layout

    def name_of(self, arm: int) -> int | str:
        """Return an arm's name, or its number where arms have none."""
        if not 0 <= arm < len(self.names):
            raise BadStore(f"the store is damaged: game {self.game.name!r} has no arm {arm}")
        return self.names[arm]

    def bounds_of(self, block: Block | None) -> tuple[float, float]:
        """Return the range of a block's losses; for an unknown block, that of the game."""
        return self.bounds if block is None or block.bound is None else (0.0, block.bound)

    def decisions(self, block: Block, rounds: range, at: float) -> list[Decision]:
        """Return the decisions for rounds of a block handed out together."""
        name, probability, id_of, number = self.name_of(block.arm), block.probability, self.ids.id_of, block.number
        if not block.played:
            return [Decision(id_of(number, round), name, probability, number, at) for round in rounds]
        by = players_of(block, rounds.stop)
        return [Decision(id_of(number, r), self.name_of(by[r][0]), by[r][1], number, at) for r in rounds]

    def arm_of(self, parameter: str, name: object) -> int:
        """Return the number of an arm that can be drawn. Raise an error if there is none of this name."""
        known = {self.names[arm]: arm for arm in self.active}
        if name not in list(known):  # whatever it is
            raise self.no_arm(parameter, name)
        return known[name]

    def no_arm(self, parameter: str, name: object) -> InvalidParameter:
        """Return the error for what is no arm that can be drawn."""
        known = [self.names[arm] for arm in self.active]
        rule = f"must be an arm of the game, {', '.join(map(repr, known))}{nearest(str(name), map(str, known))}"
        return InvalidParameter(parameter, rule, name)

    def down(self, clock: float, available: Collection[int | str] | None) -> frozenset[int]:
        """Return the policy's arms that are unavailable now. Raise an error if none is left."""
        down = {arm for arm, until in self.paused if until > clock and arm in self.active}
        if available is not None:
            for name in available:
                if name not in self.names:  # a retired one is: callers list the arms that they can reach
                    raise self.no_arm("available", name)
            down |= {arm for arm in self.active if self.names[arm] not in available}
        if len(down) == len(self.active):
            raise NoArmAvailable(Words("no arm can be played: all are paused or not available; use ", Call("resume")))
        return frozenset(down)

    def learns_from(self, block: Block) -> bool:
        """Return True if the policy drew the block and still has its arm."""
        return not block.forced and self.plays(block)

    def plays(self, block: Block) -> bool:
        """Return True if the block's arm has not been retired since."""
        return block.arm in self.active and block.number > self.since[block.arm]


def assigned(block: Block) -> tuple[int, float]:
    """Return the arm that plays a block while no arm is down, and its probability."""
    if block.played.startswith(f"[[0, {MOST_COUNT}, "):
        with undamaged(f"block {block.number}"):
            _, _, arm, probability = json.loads(block.played)[0]
            return int(arm), float(probability)
    return block.arm, block.probability


def odds_of(block: Block) -> dict[int, float]:
    """Return the probabilities with which a block was given to each arm; empty unless there were shares."""
    with undamaged(f"block {block.number}"):
        return {int(arm): float(p) for arm, p in json.loads(block.odds)["given"].items()} if block.odds else {}


def stretches_of(block: Block) -> list[tuple[int, int, int, float]]:
    """Return the rounds that other arms played: first round, count, arm, its probability."""
    with undamaged(f"block {block.number}"):
        found = json.loads(block.played or "[]")
        return [(int(first), int(count), int(arm), float(probability)) for first, count, arm, probability in found]


def players_of(block: Block, handed: int) -> list[tuple[int, float]]:
    """Return for each round handed out the arm that plays it and its probability."""
    by = [(block.arm, block.probability)] * handed
    for first, count, arm, probability in stretches_of(block):
        by[first : min(first + count, handed)] = [(arm, probability)] * (min(first + count, handed) - first)
    return by


class Move(NamedTuple):
    """A conversation leaves its arm."""

    round: int
    """The first at the new arm, from 0."""
    arm: int
    reason: str
    """``down``, ``failing`` or ``gain``."""


def moves_of(block: Block) -> list[Move]:
    """Return the moves of a conversation."""
    with undamaged(f"block {block.number}"):
        return [Move(int(round), int(arm), str(reason)) for round, arm, reason in json.loads(block.moves or "[]")]


def player_of(block: Block, round: int) -> tuple[int, float]:
    """Return the arm that plays a round, and its probability."""
    for first, count, arm, probability in reversed(stretches_of(block)):
        if first <= round < first + count:
            return arm, probability
    return block.arm, block.probability


@dataclass
class ArmSums:
    """Sums of one arm so far, without open blocks."""

    blocks: int = 0
    rounds: int = 0
    told: int = 0
    losses: list[float] = field(default_factory=list)
    stood_in: list[float] = field(default_factory=list)
    """Parts of the exact sum of substitutes for missing losses."""
    dropped: int = 0
    """Rounds without a loss that were not counted."""
    squares: float = 0.0
    """Sum of the squares of the losses."""
    switches: int = 0
    """Changes of arm to this one."""
    last_used: float | None = None
    """Start time of its latest block."""

    def add(self, part: Part, block: Block) -> None:
        """Add its part of a settled block."""
        self.blocks += 1
        self.rounds += part.rounds
        self.told += part.told
        self.losses = exact_sum([*self.losses, *part.losses])
        self.squares += part.squares
        missing = part.rounds - part.told
        if missing:
            self._stand_in(missing, block.stand_in)
        self.last_used = block.began if self.last_used is None else max(self.last_used, block.began)

    def hear(self, loss: float, stand_in: float | None) -> None:
        """Count a late loss in place of what stood for it."""
        self.told += 1
        self.losses = exact_sum([*self.losses, loss])
        self.squares += loss * loss
        self._stand_in(-1, stand_in)

    def _stand_in(self, rounds: int, stand_in: float | None) -> None:
        if stand_in is None:
            self.dropped += rounds
        else:
            self.stood_in = exact_sum([*self.stood_in, rounds * stand_in])


class Part(NamedTuple):
    """Rounds of a block played by one arm."""

    rounds: int
    told: int
    losses: Sequence[float]
    squares: float


def parts_of(block: Block, handed: int, losses: Callable[[], Iterable[Loss]]) -> dict[int, Part]:
    """Return each arm's part of a block so far. `losses` is called only if there are several arms."""
    if not block.played:
        return {block.arm: Part(handed, block.told, block.losses, block.squares)}
    by = players_of(block, handed)
    lost = {loss.round: loss.loss for loss in losses()}
    parts = {}
    for player in {arm for arm, _ in by}:
        rounds = [n for n in range(handed) if by[n][0] == player]
        told = [lost[n] for n in rounds if n in lost]
        parts[player] = Part(len(rounds), len(told), exact_sum(told), math.fsum(loss * loss for loss in told))
    return parts


LATEST = 20
"""Losses of an arm that its recent mean is of, about."""

FAILURES = 5
"""Turns of an arm that failed in a row, after which all leave it. Of few, some fail by chance in a row."""


@dataclass
class Recent:
    """The latest losses of an arm in conversations that may move."""

    mean: float = 0.0
    heard: int = 0
    failures: int = 0
    """Turns that failed since the last one that did not."""

    def hear(self, loss: float, failed: bool) -> None:
        """Count a loss."""
        self.heard += 1
        self.mean += (loss - self.mean) / min(self.heard, LATEST)
        self.failures = self.failures + 1 if failed else 0

    @property
    def fails(self) -> bool:
        """True if its latest turns failed."""
        return self.failures >= FAILURES


@dataclass
class State:
    """Learnt state: the policy's numbers and stream, and sums per arm. Changes once per block."""

    learner: Learner
    arms: list[ArmSums]
    day: int = 0
    """Day of the latest settlement, counted from 1970; 0 before the first."""
    recent: list[Recent] = field(default_factory=list)
    """Latest losses of each arm in conversations that may move; empty without such."""
    ended: int = 0
    """Conversations that might have moved and have ended."""
    turns: int = 0
    """Their turns."""
    moves: int = 0
    """Moves of conversations."""
    switched: list[float] = field(default_factory=list)
    """Times of the latest switches, where there is a budget of them."""

    def recently(self) -> list[Recent]:
        """Return the latest losses of each arm in conversations that may move, for changing."""
        self.recent += [Recent() for _ in range(len(self.arms) - len(self.recent))]
        return self.recent

    def count_conversation(self, turns: int) -> None:
        """Count the turns of a conversation that has ended."""
        self.ended, self.turns = self.ended + 1, self.turns + turns

    def turns_to_come(self, had: int) -> float:
        """Return how many turns a conversation that had so many is expected to have yet."""
        return max(float(had), self.turns / self.ended if self.ended else 0.0)


# ---- signed ids of decisions

RULE = Words("must be the id of a decision, as ", Call("ask"), " gave it")


def no_id(given: object) -> InvalidParameter:
    """Return the error for what is no text; a whole decision has its id."""
    return InvalidParameter("id", Words(RULE, ": its `.id`") if isinstance(given, Decision) else RULE, given)


NOT_RECORDED = Words("was not recorded: there was no decision, and ", Call("ask"), " answered with its fallback")

UNRECORDED = "unrecorded"
"""Id prefix of decisions that no store has."""


class Ids:
    """Signed ids of one game's decisions: each names a block and a round, counted from 0.

    >>> ids = Ids("a1", "secret")
    >>> ids.parse(ids.id_of(12, 3))
    (12, 3)
    """

    def __init__(self, uid: str, secret: str) -> None:
        self._uid = uid
        self._signing = hashlib.blake2b(key=secret.encode(), digest_size=8)

    def id_of(self, block: int, number: int) -> str:
        """Return the id of a round of a block."""
        signing = self._signing.copy()
        signing.update(b"%d-%d" % (block, number))
        return f"{self._uid}-{block}-{number}-{signing.hexdigest()}"

    def parse(self, text: object) -> tuple[int, int]:
        """Return the block and round of an id. Raise an error unless this game signed it."""
        if not isinstance(text, str):
            raise no_id(text)
        parts = text.split("-") if text.isascii() else []
        if parts[:1] == [UNRECORDED]:
            raise UnknownDecision(text, NOT_RECORDED)
        if len(parts) != 4 or not (parts[1].isdigit() and parts[2].isdigit()):
            raise UnknownDecision(text, RULE)
        uid, block, number, signature = parts
        if uid != self._uid:
            raise UnknownDecision(text, "is another game's")
        signing = self._signing.copy()
        signing.update(f"{block}-{number}".encode())
        if not hmac.compare_digest(signature, signing.hexdigest()):
            raise UnknownDecision(text, "was never handed out by this game")
        return int(block), int(number)


# ---- as JSON, and back

Arm = tuple[str | None, bool, int]
"""Name, whether it is retired, and the block after which it was re-added."""

CHOSEN_BY = {0: "policy", PINNED: "operator", BY_RULE: "rule"}


def finite_json(what: str, content: object) -> str:
    """Return JSON, refusing NaN and infinity: a game that cannot be read back is worse than an error."""
    try:
        return json.dumps(content, allow_nan=False)
    except ValueError:
        raise HoldfastError(
            f"{what} of the policy's kernels must be finite; got {content}: nothing was changed"
        ) from None


def policy_from(text: str, given: Policy | None, allow: Iterable[str | type[Policy]] = ()) -> Policy:
    """Return the policy described by a store.

    The user's own policy, `given`, supplies what no store can keep: functions, and its class.

    Without it, user-defined policies that `allow` names are imported.
    """
    content = json.loads(text)
    if given is None:
        return policy_of(content, None, allow)
    values = {name: value for name, value in content["policy"].items() if name not in ("policy", "rule")}
    if "arms" in values:
        values["n_arms"] = 0
    return replace(given, **values)


def block_text(setup: Setup, values: Sequence[float]) -> str:
    """Return a block's numbers by name, as JSON."""
    return finite_json("a block", dict(zip(setup.block_layout.names, values, strict=True)))


def block_numbers(setup: Setup, block: Block) -> dict[str, Any]:
    """Return a block's numbers by name."""
    with undamaged(f"block {block.number} of game {setup.game.name!r}"):
        return named_numbers(json.loads(block.data), setup.block_layout, 0, "block")


def chosen_by(block: Block) -> str | None:
    """Return who chose a block's arm: the policy, the operator or their rule; of a guard also its look, or itself."""
    if block.forced or '"look"' not in block.data:
        return CHOSEN_BY.get(block.forced)
    with undamaged(f"block {block.number}"):
        content = json.loads(block.data)
        return "guard" if content.get("acting") else "look" if content["look"] else CHOSEN_BY[0]


def block_values(setup: Setup, block: Block) -> Array:
    """Return a block as the policy's kernels take it, with the current arm numbers."""
    values = np.zeros(setup.block_layout.n_numbers)
    setup.block_layout.restore(block_numbers(setup, block), values, np.zeros(0))
    if block.arm in setup.active:
        values[0] = setup.active.index(block.arm)
    return values


def _learner_from(content: Any, policy: Policy, begun: int) -> Learner:
    """Return a policy's numbers from a store, all finite and within their ranges."""
    numbers = named_numbers(content["numbers"], policy.state_layout, policy.n_arms, "state")
    stream = content["stream"]
    learner = Learner(policy, seed=0)
    if len(stream) != len(learner.stream) or not any(stream):
        raise ValueError("the random stream has another length, or is empty")
    learner.restore(numbers, None, begun, np.array(stream, dtype=np.uint64))
    return learner


def _sums_from(values: Any, count: int) -> list[ArmSums]:
    if not isinstance(values, list) or len(values) != count:
        raise ValueError(f"there must be sums of {count} arms")
    for sums in values:
        counts = [sums["blocks"], sums["rounds"], sums["told"], sums["dropped"], sums["switches"]]
        if not all(type(number) is int and 0 <= number <= MOST_COUNT for number in counts):
            raise ValueError("counts of an arm must be whole numbers")
        numbers = [
            sums["squares"],
            *sums["losses"],
            *sums["stood_in"],
            *([] if sums["last_used"] is None else [sums["last_used"]]),
        ]
        if not all(type(number) is float and math.isfinite(number) for number in numbers):
            raise ValueError("sums of an arm must be numbers")
    return [ArmSums(**sums) for sums in values]


def availability_of(text: str, count: int) -> tuple[tuple[tuple[int, float], ...], tuple[int, float] | None]:
    """Return the paused arms, each with its end, and the pinned arm."""
    content = json.loads(text)
    found = [(int(arm), math.inf if until is None else float(until)) for arm, until in content.get("paused", [])]
    pins = [(int(arm), math.inf if until is None else float(until)) for arm, until in content.get("pin", [])]
    if not all(0 <= arm < count for arm, _ in found + pins):
        raise ValueError(f"there are {count} arms")
    return tuple(found), pins[0] if pins else None


def availability_text(paused: Sequence[tuple[int, float]], pin: tuple[int, float] | None) -> str:
    """Return availability as JSON, the inverse of `availability_of`."""
    plain = [
        [(arm, None if until == math.inf else until) for arm, until in some] for some in (paused, [pin] if pin else [])
    ]
    return json.dumps({"paused": plain[0], "pin": plain[1]})


def _settings_from(game: Game) -> Settings:
    """Return a game's settings. One that is unknown here was set by a newer version, and means something."""
    stored = json.loads(game.settings)
    unknown = ", ".join(sorted(stored.keys() - {one.name for one in fields(Settings) if one.init}))
    if unknown:
        raise BadStore(f"another Holdfast has set {unknown} for game {game.name!r}: nothing was changed")
    return Settings(**stored)


def setup_of(game: Game, given: Policy | None, allow: Iterable[str | type[Policy]] = ()) -> Setup:
    """Return the setup described by a game's row; `given` and `allow` as in `policy_from`."""
    with undamaged(f"the settings of game {game.name!r}", BadSavedState):  # that names a policy to give
        settings = _settings_from(game)
        policy = policy_from(game.policy, given, allow)
        arms = json.loads(game.arms)
        names = tuple(number if name is None else name for number, (name, _, _) in enumerate(arms))
        active = tuple(number for number, (_, retired, _) in enumerate(arms) if not retired)
        since = tuple(int(block) for _, _, block in arms)
        paused, pin = availability_of(game.availability, len(names))
        played = [names[arm] for arm in active]
        if played != list(policy.arms or range(policy.n_arms)):
            raise ValueError(f"the arms {played} are not those of the policy")
        ids = Ids(game.uid, game.secret)
    return Setup(
        game=game,
        policy=policy,
        settings=settings,
        names=names,
        active=active,
        since=since,
        paused=paused,
        pin=pin,
        ids=ids,
        bounds=policy.bounds,
        announces=policy.announces,
        sees_all=policy.full_information,
        follows_lateness=settings.patience == AUTO,
        state_layout=policy.state_layout,
        block_layout=policy.kernels.block_layout,
    )


def changed_game(setup: Setup, policy: Policy, settings: Settings, arms: list[Arm]) -> Game:
    """Return a game's row with other settings."""
    for name, _, _ in arms:
        checked_arm("arms", name or "")
    return setup.game._replace(**_texts(policy, settings, arms))


def new_game(name: str, policy: Policy, settings: Settings, now: float, uid: str, secret: str) -> Game:
    """Return the row of a new game. Its decision ids start with `uid` and are signed with `secret`."""
    names: list[str | None] = [None] * policy.n_arms if policy.arms is None else list(policy.arms)
    arms = [(None if arm is None else checked_arm("arms", arm), False, 0) for arm in names]
    return Game(
        id=0, name=name, uid=uid, secret=secret, created=now, availability="{}", **_texts(policy, settings, arms)
    )


def _texts(policy: Policy, settings: Settings, arms: list[Arm]) -> dict[str, Any]:
    return {
        "policy": json.dumps(described(policy)),
        "arms": json.dumps(arms),
        # without what is not set: a version that does not know it yet may go on
        "settings": json.dumps({name: value for name, value in settings.plain().items() if value is not None}),
        "settings_version": new_token(),
    }


def first_head(game: Game, now: float) -> Head:
    """Return the head of a new game."""
    return Head(revision=1, settings_version=game.settings_version, state_version=new_token(), clock=now)


def state_text(setup: Setup, state: State) -> str:
    """Return a state as JSON."""
    learner = state.learner
    content = {
        "numbers": setup.state_layout.saved(learner.numbers, learner.vectors),
        "stream": learner.stream.tolist(),
        "arms": [vars(arm) for arm in state.arms],
        "day": state.day,
    }
    if state.switched:
        content["switched"] = state.switched
    if state.recent or state.ended or state.moves:
        counts = {"ended": state.ended, "turns": state.turns, "moves": state.moves}
        content["conversations"] = {"recent": [vars(arm) for arm in state.recent], **counts}
    return finite_json("the state", content)


def state_from(setup: Setup, head: Head, text: str) -> State:
    """Return the state described by a store."""
    with undamaged(f"the state of game {setup.game.name!r}"):
        content: Any = json.loads(text)
        learner = _learner_from(content, setup.policy, head.drawn)
        arms = _sums_from(content["arms"], len(setup.names))
        day = content["day"]
        if type(day) is not int:
            raise ValueError("the day must be a whole number")
        talks = content.get("conversations", {"recent": [], "ended": 0, "turns": 0, "moves": 0})
        recent = [Recent(**arm) for arm in talks["recent"]]
        ended, turns, moves = (talks[name] for name in ("ended", "turns", "moves"))
        whole = [ended, turns, moves, *(count for arm in recent for count in (arm.heard, arm.failures))]
        if not all(type(count) is int and 0 <= count <= MOST_COUNT for count in whole) or not all(
            type(arm.mean) is float and math.isfinite(arm.mean) for arm in recent
        ):
            raise ValueError("what conversations lost of late must be numbers")
        switched = [float(at) for at in content.get("switched", [])]
    return State(learner, arms, day, recent, ended, turns, moves, switched)
