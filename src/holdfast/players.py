"""Online play: one game in progress, two verbs.

The object checks what it is told and counts; every number that decides comes from the policy's kernels.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from holdfast.checks import real_number, whole_number
from holdfast.errors import BadSavedState, InvalidParameter, OutOfTurn, nearest
from holdfast.policies import POLICIES, make_policy
from holdfast.policies.protocol import ARM, BLOCK, LARGEST, N_SCALARS, ROUNDS, Array, Policy, State
from holdfast.rng import STATE_SIZE, check_seed, start_stream, stream_key

FORMAT = "holdfast.player"
VERSION = 1

KEPT_PIECES = 256
"""Losses of a block kept apart before they are summed exactly into a few numbers."""

SLACK = 2.0**-48
"""Relative rounding forgiven in the total of several rounds: ten losses of 0.1 may add up to 1.0000000000000002."""


class Player:
    """One game of one policy: `ask` which arm to play, `tell` what it lost.

    >>> import holdfast as hf
    >>> player = hf.TsallisSwitch(arms=["us-east", "eu-west"], switching_cost=0.35).player(seed=7)
    >>> player.ask() in ("us-east", "eu-west")
    True
    >>> player.tell(0.42)
    >>> player.rounds, player.switches
    (1, 1)
    """

    __slots__ = (
        "_arm",
        "_bounds",
        "_left",
        "_observe",
        "_params",
        "_pieces",
        "_rounds",
        "_state",
        "_stream",
        "_switches",
        "policy",
    )

    policy: Policy
    """What is played."""

    def __init__(self, policy: Policy, seed: object = None, replication: int = 0) -> None:
        self.policy = policy
        self._params = policy.parameters()
        self._state = State.fresh(policy.n_arms)
        self._observe: Callable[..., Any] = policy.observe
        self._stream = np.zeros(STATE_SIZE, dtype=np.uint64)
        number = whole_number("replication", replication, least=0)
        start_stream(policy_key(check_seed(seed), policy.label), number, self._stream)
        self._arm: int | str | None = None
        self._bounds = policy.bounds
        self._left = 0
        self._pieces: list[float] = []
        self._rounds = 0
        self._switches = 0

    def __repr__(self) -> str:
        held = f", holding {self._arm!r} for {self._left} more" if self._left else ""
        return f"<Player of {self.policy.label}: {self._rounds} rounds, {self._switches} switches{held}>"

    @property
    def rounds(self) -> int:
        """Rounds told so far."""
        return self._rounds

    @property
    def switches(self) -> int:
        """Changes of arm so far; the first play is one."""
        return self._switches

    @property
    def hold(self) -> int:
        """Rounds the current arm is certain to be held from now on; 0 when the next `ask` may name another."""
        return self._left

    @property
    def probabilities(self) -> Array:
        """The distribution the current arm was drawn from; between blocks, the one the next will be drawn from."""
        if self._left:
            return self.policy.probabilities(self._params, self._state)
        if self.policy.announces is not None:
            raise OutOfTurn(
                f"the probabilities of the next block depend on its {self.policy.announces}: "
                f"call ask({self.policy.announces}=...) first"
            )
        state = State(self._state.x.copy(), self._state.C.copy(), self._state.w.copy())
        self._extend_schedule()
        self.policy.choose(self._params, state.x, state.C, state.w, 0.0, self._stream.copy())
        return self.policy.probabilities(self._params, state)

    @property
    def probability(self) -> float:
        """The probability with which the current arm was drawn, for logging and off-policy evaluation."""
        if not self._left:
            raise OutOfTurn("no arm is being played: call ask() first")
        return float(self.probabilities[int(self._state.x[ARM])])

    def ask(self, *, switching_cost: float | None = None, loss_bound: float | None = None) -> Any:
        """The arm to play now: its name, or its number from 0. The same until its block ends.

        A policy that is told something at the start of a block (`policy.announces`) takes it here; inside a
        block it is not needed and not looked at.
        """
        if self._left:
            if (switching_cost is not None or loss_bound is not None) and self.policy.announces is None:
                self._announced(switching_cost=switching_cost, loss_bound=loss_bound)
            return self._arm
        announced = self._announced(switching_cost=switching_cost, loss_bound=loss_bound)
        self._extend_schedule()
        x, previous = self._state.x, self._state.x[ARM]
        arm = int(self.policy.choose(self._params, x, self._state.C, self._state.w, announced, self._stream))
        if arm != previous or x[BLOCK] == 1.0:
            self._switches += 1
        self._left = int(x[ROUNDS])
        self._arm = arm if self.policy.arms is None else self.policy.arms[arm]
        return self._arm

    def tell(
        self,
        loss: float | None = None,
        rounds: int = 1,
        *,
        reward: float | None = None,
        arm: int | str | None = None,
    ) -> None:
        """The loss of the current arm: of one round, or the sum over `rounds` held rounds.

        Within a block losses may come in any order and in any pieces: only their exact sum counts. With
        `reward` instead, the loss is lowest + highest − reward in each round. `arm`, if given, must be the arm
        that is being played. After an error the player is as before.
        """
        low, high = self._bounds
        if (
            type(loss) is float
            and low <= loss <= high
            and type(rounds) is int
            and rounds == 1
            and reward is arm is None
            and self._left
        ):
            self._pieces.append(loss)
        else:
            pieces, rounds = self._checked(loss, rounds, reward, arm)
            self._pieces += pieces
        if len(self._pieces) > KEPT_PIECES:
            self._pieces = exact_sum(self._pieces)
        self._rounds += rounds
        self._left -= rounds
        if not self._left:
            self._end_block()

    def _end_block(self) -> None:
        x, C, w = self._state.x, self._state.C, self._state.w
        length = float(x[ROUNDS])
        low = self.policy.loss_range[0]
        highest = self._bounds[1] - low
        total = math.fsum([*self._pieces, -low * length]) if low else math.fsum(self._pieces)
        total = min(max(total, 0.0), highest * length) / self.policy.unit
        self._pieces = []
        self._observe(self._params, x, C, w, total, length)

    def _checked(self, loss: object, rounds: object, reward: object, arm: int | str | None) -> tuple[list[float], int]:
        """Numbers that add up to the loss, and its rounds; or an error before anything has changed."""
        if not self._left:
            raise OutOfTurn("there is no arm to tell the loss of: call ask() first")
        if arm is not None and arm != self._arm:
            self._refuse_arm(arm)
        count = whole_number("rounds", rounds, least=1)
        if count > self._left:
            raise InvalidParameter("rounds", f"must not exceed the {self._left} the arm is held for (hold)", rounds)
        if loss is None and reward is None:
            raise InvalidParameter("loss", "must be given, or a reward instead", None)
        if loss is not None and reward is not None:
            raise InvalidParameter("loss, reward", "must not both be given", (loss, reward))
        name, given = ("loss", loss) if reward is None else ("reward", reward)
        low, high = self._bounds
        value = real_number(name, given)
        slack = SLACK * count * max(abs(low), abs(high)) if count > 1 else 0.0
        if not count * low - slack <= value <= count * high + slack:
            of = "one round" if count == 1 else f"{count} rounds"
            hint = "; give loss_range=(lowest, highest) to use your own units" if (low, high) == (0.0, 1.0) else ""
            raise InvalidParameter(name, f"of {of} must be from {count * low:g} to {count * high:g}{hint}", given)
        return ([value] if reward is None else [count * (low + high), -value]), count

    def _refuse_arm(self, arm: int | str) -> None:
        known = self.policy.arms if self.policy.arms is not None else range(self.policy.n_arms)
        if arm in known:
            raise InvalidParameter("arm", f"must be the one being played, {self._arm!r}", arm)
        names = ", ".join(map(repr, known[:8])) + (", …" if len(known) > 8 else "")
        raise InvalidParameter("arm", f"must be one of {names}{nearest(arm, map(str, known))}", arm)

    def _announced(self, **told: float | None) -> float:
        """What the policy is told at the start of a block, in normalised units."""
        wanted = self.policy.announces
        for name, value in told.items():
            if value is not None and name != wanted:
                raise InvalidParameter(name, f"is not announced to {self.policy.label}", value)
        if wanted is None:
            return 0.0
        value = told[wanted]
        if value is None:
            raise InvalidParameter(wanted, f"must be announced when a block begins: ask({wanted}=...)", None)
        if wanted == "loss_bound":
            bound = real_number("loss_bound", value, least=1 / LARGEST, most=LARGEST)
            self._bounds = (0.0, bound)
            return bound
        return real_number("switching_cost", value, least=0, most=LARGEST * self.policy.unit) / self.policy.unit

    def _extend_schedule(self) -> None:
        """Tabulate a schedule given as functions further; one given as lists may be at its end."""
        begun, covered = self._state.x[BLOCK], self.policy.blocks_covered(self._params)
        if begun < covered:
            return
        params = self.policy.parameters(blocks=2 * int(covered))
        if begun >= self.policy.blocks_covered(params):
            raise InvalidParameter(
                "block_lengths and learning_rates",
                f"must reach block {int(begun) + 1}; give functions of n for an endless game",
                f"{int(covered)} blocks",
            )
        self._params = params

    def save(self) -> str:
        """The whole game as JSON: `Player.load` continues it exactly, randomness included, in any process."""
        settings = self.policy.settings()
        functions = sorted(name for name, value in settings.items() if callable(value))
        content = {
            "policy": {name: value for name, value in settings.items() if name not in functions},
            "functions": functions,
            "x": self._state.x.tolist(),
            "C": self._state.C.tolist(),
            "w": self._state.w.tolist(),
            "stream": [int(word) for word in self._stream],
            "bounds": list(self._bounds),
            "left": self._left,
            "pieces": exact_sum(self._pieces),
            "rounds": self._rounds,
            "switches": self._switches,
        }
        return json.dumps({"format": FORMAT, "version": VERSION, "check": _check(content), "player": content})

    @classmethod
    def load(cls, data: str | bytes, *, policy: Policy | None = None) -> Player:
        """Continue a saved game. `policy` is needed where it is one of your own, or has functions for a schedule."""
        content = _opened(data)
        try:
            functions = content["functions"]
            if policy is None and functions:
                raise BadSavedState(
                    f"this game's policy has functions for {' and '.join(functions)}, which cannot be saved: "
                    "give the same policy, Player.load(data, policy=...)"
                )
            saved = content["policy"]
            if policy is None and saved["policy"] not in POLICIES:
                raise BadSavedState(
                    f"this game was played by {saved['policy']!r}, which is not one of Holdfast's own policies: "
                    "give the policy, Player.load(data, policy=...)"
                )
            if policy is None:
                policy = make_policy(saved)
            given = {k: v for k, v in policy.settings().items() if k not in functions}
            if json.loads(json.dumps(given)) != saved:
                raise BadSavedState(f"this game was played by {saved}, not by {given}")
            return cls._restored(policy, content)
        except BadSavedState:
            raise
        except (KeyError, TypeError, IndexError, AttributeError, OverflowError, ValueError) as error:
            raise BadSavedState(f"saved player data is damaged: {error!r}") from None

    @classmethod
    def _restored(cls, policy: Policy, content: dict[str, Any]) -> Player:
        player = cls(policy, seed=0)
        for name, size in (("x", N_SCALARS), ("C", policy.n_arms), ("w", policy.n_arms)):
            values = np.array(content[name], dtype=np.float64)
            if values.shape != (size,) or not np.isfinite(values).all():
                raise BadSavedState(f"saved player data is damaged: {name} must be {size} finite numbers")
            getattr(player._state, name)[:] = values
        stream = np.array(content["stream"], dtype=np.uint64)
        if stream.shape != (STATE_SIZE,):
            raise BadSavedState(f"saved player data is damaged: stream must be {STATE_SIZE} whole numbers")
        player._stream[:] = stream
        player._bounds = (float(content["bounds"][0]), float(content["bounds"][1]))
        player._left = whole_number("left", content["left"], least=0)
        player._pieces = [real_number("pieces", piece) for piece in content["pieces"]]
        player._rounds = whole_number("rounds", content["rounds"], least=0)
        player._switches = whole_number("switches", content["switches"], least=0)
        while player._state.x[BLOCK] > policy.blocks_covered(player._params):
            player._params = policy.parameters(blocks=2 * int(policy.blocks_covered(player._params)))
        if player._left:
            arm = int(player._state.x[ARM])
            player._arm = arm if policy.arms is None else policy.arms[arm]
        return player


def policy_key(seed: int, label: str) -> np.ndarray[Any, np.dtype[np.uint64]]:
    """The streams of the policy called `label` under `seed`, in online play and in simulation."""
    return stream_key(seed, f"policy/{label}")


def exact_sum(pieces: Iterable[float]) -> list[float]:
    """A few numbers whose sum is exactly that of `pieces`, in whatever order they came."""
    left = list(pieces)
    parts: list[float] = []
    while (part := math.fsum(left)) != 0.0:
        parts.append(part)
        left.append(-part)
    return parts


def _check(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:32]


def _opened(data: object) -> dict[str, Any]:
    """The content of saved data, after every check that needs no policy."""
    if not isinstance(data, (str, bytes)):
        raise BadSavedState(f"saved player data must be the text that save() returned; got {type(data).__name__}")
    try:
        document = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise BadSavedState(f"saved player data must be JSON; it is damaged or cut short ({error})") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise BadSavedState(f"saved player data must have the format {FORMAT!r}; this is something else")
    version = document.get("version")
    if version != VERSION:
        raise BadSavedState(
            f"saved player data must be of version {VERSION}; got version {version!r}"
            + ("; a newer Holdfast wrote it" if isinstance(version, int) and version > VERSION else "")
        )
    content = document.get("player")
    if not isinstance(content, dict) or document.get("check") != _check(content):
        raise BadSavedState("saved player data is damaged: its contents do not match its check sum")
    return content
