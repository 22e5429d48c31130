"""Online play: one game in progress, two verbs.

The object checks what it is given and counts; every number that decides comes from the policy's kernels.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, ClassVar

import numpy as np

from holdfast.checks import one_of, real_number, whole_number
from holdfast.errors import BadSavedState, HoldfastError, InvalidParameter, OutOfTurn, nearest
from holdfast.layouts import Array
from holdfast.players.document import checked, described, opened, policy_of, rehearse, sealed
from holdfast.players.game import Game
from holdfast.players.losses import announced_value, exact_sum, normalised_total, outside_range
from holdfast.policies.policy import Mask, Policy
from holdfast.regret import NO_ARM

KEPT_PIECES = 256
"""Losses of a block kept apart before they are summed exactly into a few numbers."""

SLACK = 2.0**-48
"""Relative rounding forgiven in the total of several rounds: ten losses of 0.1 may add up to 1.0000000000000002."""


class Player:
    """One game of one policy: `ask` which arm to play, `tell` what it lost.

    Parameters
    ----------
    policy
        What is played.
    seed
        With the same seed and replication it plays the same arms. None: an unpredictable seed.
    replication
        Which of many games of this seed, from 0.

    Examples
    --------
    >>> import holdfast as hf
    >>> player = hf.AdaptiveTsallisSwitch(arms=["us-east", "eu-west"], switching_cost=0.35).player(seed=7)
    >>> player.ask() in ("us-east", "eu-west")
    True
    >>> player.tell(0.42)
    >>> player.rounds, player.switches
    (1, 1)
    """

    __slots__ = (
        "_arm",
        "_bounds",
        "_game",
        "_left",
        "_out",
        "_pieces",
        "_playing",
        "_rounds",
        "_switches",
        "policy",
    )

    policy: Policy
    """What is played."""

    _kinds: ClassVar[dict[str, type[Player]]] = {}
    """The class of players for what a policy sees, where it is another one."""

    def __init_subclass__(cls, sees: str) -> None:
        Player._kinds[sees] = cls

    def __new__(cls, policy: Policy, seed: object = None, replication: int = 0) -> Player:
        """A player of the kind that the policy needs."""
        return object.__new__(Player._kinds.get(policy.sees, Player) if isinstance(policy, Policy) else cls)

    def __getnewargs__(self) -> tuple[Policy]:
        """What a copy is made with."""
        return (self.policy,)

    def __init__(self, policy: Policy, seed: object = None, replication: int = 0) -> None:
        self.policy = policy
        self._game = Game(policy, seed, replication)
        self._arm: int | str | None = None
        self._bounds = policy.bounds
        self._left = 0
        self._out: Mask | None = None  # arms that were not available at the last ask
        self._playing = NO_ARM
        self._pieces: list[float] = []
        self._rounds = 0
        self._switches = 0

    def __repr__(self) -> str:
        held = f", holding {self._arm!r} for {self._left} more" if self._left else ""
        return f"<Player of {self.policy.label}: {self._rounds} rounds, {self._switches} switches{held}>"

    def _repr_html_(self) -> str:
        from holdfast.report.notebook import bar, view

        rows = []
        if self.policy.knows_probabilities and (self._left or self.policy.announces is None):
            names = self.policy.arms or range(self.policy.n_arms)
            rows = [[str(arm), bar(share)] for arm, share in zip(names, self.probabilities, strict=True)]
        return view(repr(self).strip("<>"), ["arm", "probability"], rows)

    @property
    def rounds(self) -> int:
        """Rounds whose losses were reported."""
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
            return self._game.played_from(self._out)
        if self.policy.announces is not None:
            raise OutOfTurn(
                f"the probabilities of the next block depend on its {self.policy.announces}: "
                f"call ask({self.policy.announces}=...) first"
            )
        ahead = self._game.copy()
        ahead.begin()
        return ahead.probabilities()

    @property
    def probability(self) -> float:
        """The probability with which the current arm was drawn, for logging and off-policy evaluation.

        An error where the policy does not know it (`knows_probabilities`), as Thompson sampling does not.
        """
        if not self._left:
            raise OutOfTurn("no arm is being played: call ask() first")
        if not self.policy.knows_probabilities:
            raise HoldfastError(f"{self.policy.label} does not know the probability with which its arm was drawn")
        return float(self._game.block[2] if self._out is None else self._game.played_from(self._out)[self._playing])

    def ask(
        self,
        *,
        switching_cost: float | None = None,
        loss_bound: float | None = None,
        available: Sequence[int | str] | None = None,
    ) -> Any:
        """The arm to play now: its name, or its number from 0. The same until its block ends or it is not available.

        Parameters
        ----------
        switching_cost, loss_bound
            What the policy must know when a block begins (`policy.announces`); ignored inside a block.
        available
            The arms that can be played now; all of them if not given. While the arm of the block is not among them, the
            next best is played, and the block learns what that one lost.
        """
        given = {"switching_cost": switching_cost, "loss_bound": loss_bound}
        out = None if available is None else self._unavailable(available)
        if self._left:
            if (switching_cost is not None or loss_bound is not None) and self.policy.announces is None:
                announced_value(self.policy, given)
            if out is self._out is None:
                return self._arm
        else:
            announced, self._bounds = announced_value(self.policy, given)
            _, self._left = self._game.begin(announced)
        self._out = out
        arm = int(self._game.block.item(0))
        if out is not None and out[arm]:
            arm = self._game.next_best(out)
        if arm != self._playing:
            self._playing = arm
            self._switches += 1
        self._arm = arm if self.policy.arms is None else self.policy.arms[arm]
        return self._arm

    def _unavailable(self, available: Sequence[int | str]) -> Mask | None:
        """Which arms are not available, if any; or an error."""
        if isinstance(available, (str, bytes)) or not isinstance(available, Collection) or len(available) == 0:
            raise InvalidParameter("available", "must be a list of arms, at least one", available)
        out = np.ones(self.policy.n_arms, dtype=bool)
        for arm in available:
            out[number_of(self.policy, arm, "available")] = False
        return out if out.any() else None

    def tell(
        self,
        loss: float | None = None,
        rounds: int = 1,
        *,
        reward: float | None = None,
        arm: int | str | None = None,
    ) -> None:
        """The loss of the current arm: of one round, or the sum over `rounds` held rounds.

        Within a block losses may come in any order and in any pieces: only their exact sum counts. After an error the
        player is as before.

        Parameters
        ----------
        loss
            Of one round, or the sum over `rounds` rounds, in the policy's `units`.
        rounds
            How many rounds it is the loss of; at most `hold`.
        reward
            Instead of a loss: the loss is lowest + highest − reward in each round.
        arm
            If given, it must be the arm that is being played, so that a loss for another arm is rejected.
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
        block = self._game.block
        length = block.item(1)
        total = normalised_total(self.policy, self._bounds, self._pieces, length)
        self._pieces = []
        self._game.observe(block, total, length)

    def _checked(self, loss: object, rounds: object, reward: object, arm: int | str | None) -> tuple[list[float], int]:
        """Numbers that add up to the loss, and its rounds; or an error before anything has changed."""
        if not self._left:
            raise OutOfTurn("there is no arm to tell the loss of: call ask() first")
        if arm is not None and not self._is_playing(arm):
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
            raise outside_range(name, (low, high), count, given)
        return ([value] if reward is None else [count * (low + high), -value]), count

    def _is_playing(self, arm: object) -> bool:
        """Whether `arm` names the arm being played: an array or True, which may be equal to it, do not."""
        named = isinstance(arm, (str, int, np.integer)) and not isinstance(arm, bool)
        return named and bool(arm == self._arm)

    def _refuse_arm(self, arm: object) -> None:
        known = self.policy.arms if self.policy.arms is not None else range(self.policy.n_arms)
        if isinstance(arm, (str, int, np.integer)) and not isinstance(arm, bool) and arm in known:
            raise InvalidParameter("arm", f"must be the one being played, {self._arm!r}", arm)
        names = ", ".join(map(repr, known[:8])) + (", …" if len(known) > 8 else "")
        raise InvalidParameter("arm", f"must be one of {names}{nearest(arm, self.policy.arms or ())}", arm)

    def save(self) -> str:
        """The whole game as JSON: `Player.load` continues it exactly, randomness included, in any process."""
        game = self._game
        return sealed(
            {
                **described(self.policy),
                "state": game.saved_state(),
                "block": game.saved_block() if self._left else None,
                "begun": game.begun,
                "last_arm": self._playing if game.begun else None,
                "stream": [int(word) for word in game.stream],
                "bounds": list(self._bounds),
                "left": self._left,
                "pieces": exact_sum(self._pieces),
                "rounds": self._rounds,
                "switches": self._switches,
                **({} if self._out is None or not self._left else {"out": np.flatnonzero(self._out).tolist()}),
            }
        )

    @classmethod
    def load(
        cls, data: str | bytes, *, policy: Policy | None = None, allow: Iterable[str | type[Policy]] = ()
    ) -> Player:
        """Continue a saved game.

        Parameters
        ----------
        data
            What `save` returned.
        policy
            The policy that was played; needed where it has functions for a schedule.
        allow
            User-defined policies that may be imported, since a saved game only names its policy: classes,
            ``"module:Class"`` or ``"module"``. Nothing else is.
        """
        try:
            content = opened(data)
            return cls._restored(policy_of(content, policy, allow), content)
        except BadSavedState:
            raise
        except (KeyError, TypeError, IndexError, AttributeError, OverflowError, ValueError) as error:
            raise BadSavedState(f"saved player data is damaged: {error!r}") from None

    @classmethod
    def _restored(cls, policy: Policy, content: dict[str, Any]) -> Player:
        saved = checked(content, policy)
        player = cls(policy, seed=0)
        game = player._game
        game.restore(saved.state, saved.block, saved.begun, np.array(saved.stream, dtype=np.uint64))
        if saved.last_arm is not None:
            player._playing = saved.last_arm
        if saved.out:
            player._out = np.isin(np.arange(policy.n_arms), saved.out)
        player._bounds, player._left = saved.bounds, saved.left
        player._pieces, player._rounds, player._switches = saved.pieces, saved.rounds, saved.switches
        if player._left:
            arm = player._playing
            player._arm = arm if policy.arms is None else policy.arms[arm]
        rehearse(game, saved)
        return player


def number_of(policy: Policy, arm: object, parameter: str = "arm") -> int:
    """The number of an arm, which is given as `parameter`."""
    if policy.arms is None:
        return whole_number(parameter, arm, least=0, most=policy.n_arms - 1)
    return policy.arms.index(one_of(parameter, arm, policy.arms))
