"""Online play: a game in progress, with ask and tell.

A player validates its input and counts. All numbers behind a decision come from the policy's kernels.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike

from holdfast.checks import real_number, whole_number
from holdfast.errors import BadSavedState, HoldfastError, InvalidParameter, OutOfTurn, from_users, nearest
from holdfast.numerics.layout import Array
from holdfast.numerics.random import STATE_SIZE
from holdfast.numerics.regret import NO_ARM
from holdfast.numerics.schedules import LONGEST
from holdfast.numerics.sums import exact_sum
from holdfast.players.game import Game
from holdfast.players.saves import described, named_numbers, opened, policy_of, sealed
from holdfast.policies.policy import (
    Mask,
    Policy,
    announced_value,
    must_be,
    name_of,
    normalised_total,
    number_of,
    outside_range,
)

if TYPE_CHECKING:
    from holdfast.policies.guarded import Guard, Guarding

KEPT_PIECES = 256
"""Losses of a block kept singly before they are summed exactly into a few numbers."""

SLACK = 2.0**-48
"""Relative rounding forgiven in the total of several rounds: ten losses of 0.1 may add up to 1.0000000000000002."""


class RoundsSoFar(Sequence[tuple[int | str, float]]):
    """The rounds told so far, (arm, loss) each: a list that cannot be changed, and is never copied."""

    __slots__ = ("_rounds",)

    def __init__(self, rounds: list[tuple[int | str, float]]) -> None:
        self._rounds = rounds

    def __len__(self) -> int:
        return len(self._rounds)

    def __getitem__(self, place: Any) -> Any:
        return self._rounds[place]

    def __iter__(self) -> Iterator[tuple[int | str, float]]:
        return iter(self._rounds)

    def __repr__(self) -> str:
        return repr(self._rounds)


class Player:
    """One game of one policy: `ask` which arm to play, `tell` what it lost.

    Parameters
    ----------
    policy
        The policy in play.
    seed
        The same seed and replication play the same arms. None: an unpredictable seed.
    replication
        Index of the game among those of this seed, from 0.

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
        "_history",
        "_left",
        "_out",
        "_pieces",
        "_playing",
        "_rounds",
        "_rule",
        "_switches",
        "policy",
    )

    policy: Policy
    """The policy in play."""

    def __new__(cls, policy: Policy, seed: object = None, replication: int = 0) -> Player:
        if isinstance(policy, Policy):
            return object.__new__(FullInformationPlayer if policy.full_information else Player)
        return object.__new__(cls)

    def __getnewargs__(self) -> tuple[Policy]:
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
        self._rule = policy.rule_of
        self._history: list[tuple[int | str, float]] = []  # kept for a rule that is a function of it
        self._rounds = 0
        self._switches = 0

    def __repr__(self) -> str:
        held = f", holding {self._arm!r} for {self._left} more" if self._left else ""
        return f"<Player of {self.policy.label}: {self._rounds} rounds, {self._switches} switches{held}>"

    def _repr_html_(self) -> str:
        from holdfast.report.html import bar, view

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
        """Changes of arm so far, including the first play."""
        return self._switches

    @property
    def guard(self) -> Guard:
        """State of the guard: what it has spent, its estimates, whether it has taken over and why."""
        if not self.policy.has_guard:
            raise AttributeError(f"{self.policy.label} has no guard: use holdfast.Guarded")
        return cast("Guarding", self.policy).guard_of(self._game.state)

    @property
    def hold(self) -> int:
        """Rounds for which the current arm is certain; 0 if the next `ask` may change it."""
        return self._left

    @property
    def probabilities(self) -> Array:
        """Distribution of the current arm; between blocks, of the next one."""
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
        """Probability with which the current arm was drawn, for logging and off-policy evaluation.

        Raises an error if the policy does not know it (`knows_probabilities`), as with Thompson sampling.
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
        rule: int | str | None = None,
        available: Sequence[int | str] | None = None,
    ) -> Any:
        """Return the arm to play now: its name, or its number from 0.

        The same until its block ends or it becomes unavailable.

        Parameters
        ----------
        switching_cost, loss_bound
            Announcements to the policy at the start of a block (`policy.announces`); ignored inside a block.
        rule
            The arm that your own rule chooses now, announced in the same way to `Guarded`.
        available
            The arms that can be played now; all by default. While the block's arm is not among them, the
            next best is played, and the block learns what that one lost.
        """
        silent = switching_cost is None and loss_bound is None and rule is None
        if silent and self._left and available is None and self._out is None:
            return self._arm
        given = {"switching_cost": switching_cost, "loss_bound": loss_bound, "rule": rule}
        out = None if available is None else self._unavailable(available)
        if self._left:
            if not silent and self.policy.announces is None:
                announced_value(self.policy, given)
            if out is self._out is None:
                return self._arm
        else:
            if rule is None and self._rule is not None:
                given["rule"] = self._rule(RoundsSoFar(self._history))
                number_of(self.policy, given["rule"], "rule")  # None is no arm either
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
        """Return which arms are unavailable, if any, or raise an error."""
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
        """Report the loss of the current arm: of one round, or the sum over `rounds` held rounds.

        Within a block losses may come in any order and in any pieces: only their exact sum counts. After an error the
        player is as before.

        Parameters
        ----------
        loss
            Loss of one round, or the sum over `rounds` rounds, in the policy's `units`.
        rounds
            Number of rounds that the loss covers; at most `hold`.
        reward
            Instead of a loss: the loss is lowest + highest − reward in each round.
        arm
            If given, it must be the arm in play, so that a loss for another arm is rejected.
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
            total = loss
        else:
            pieces, rounds = self._checked(loss, rounds, reward, arm)
            self._pieces += pieces
            total = sum(pieces)
        if self._rule is not None:
            self._history += [(self._arm, total / rounds)] * rounds  # type: ignore[list-item]  # an arm is in play
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
        """Return numbers that add up to the loss, and its rounds. Raise an error before anything has changed."""
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
        """Return True if `arm` names the arm in play. An array or True, which may equal it, does not."""
        named = isinstance(arm, (str, int, np.integer)) and not isinstance(arm, bool)
        return named and bool(arm == self._arm)

    def _refuse_arm(self, arm: object) -> None:
        known = self.policy.arms if self.policy.arms is not None else range(self.policy.n_arms)
        if isinstance(arm, (str, int, np.integer)) and not isinstance(arm, bool) and arm in known:
            raise InvalidParameter("arm", f"must be the one being played, {self._arm!r}", arm)
        names = ", ".join(map(repr, known[:8])) + (", …" if len(known) > 8 else "")
        raise InvalidParameter("arm", f"must be one of {names}{nearest(arm, self.policy.arms or ())}", arm)

    def save(self) -> str:
        """Return the whole game as JSON. `Player.load` continues it exactly, randomness included, in any process."""
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
                **({"history": self._history} if self._history else {}),
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
            A document returned by `save`.
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
            if not isinstance(error, HoldfastError) and from_users(error):
                raise
            raise BadSavedState(f"saved player data is damaged: {error!r}") from None

    @classmethod
    def _restored(cls, policy: Policy, content: Mapping[str, Any]) -> Player:
        """Return the player that `content` describes, every number of it checked."""
        K = policy.n_arms

        def count(name: str, most: int = int(LONGEST)) -> int:
            return whole_number(name, content[name], least=0, most=most)

        state, block = named_numbers(content["state"], policy.state_layout, K, "state"), None
        begun, left = count("begun"), count("left")
        if content["block"] is not None:
            block = named_numbers(content["block"], policy.kernels.block_layout, K, "block")
            must_be(1 <= left <= block["rounds"], f"of {block['rounds']:g} rounds at least 1 must be left")
        else:
            must_be(left == 0, "without a block no rounds can be left")
        player = cls(policy, seed=0)
        if begun:
            player._playing = count("last_arm", K - 1)
        if out := [whole_number("out", arm, least=0, most=K - 1) for arm in content.get("out", [])]:
            player._out = np.isin(np.arange(K), out)
        player._rounds, player._switches = count("rounds"), count("switches")  # an outage may add some to a block
        stream = content["stream"]
        must_be(
            isinstance(stream, list)
            and len(stream) == STATE_SIZE
            and all(type(word) is int and 0 <= word < 2**64 for word in stream)
            and any(stream),
            f"stream must be {STATE_SIZE} words of 64 bits, not all 0",
        )
        low, high = (real_number("bounds", bound) for bound in content["bounds"])
        must_be(low < high, "bounds must be two numbers, the first smaller")
        player._bounds, player._left = (low, high), left
        player._pieces = [real_number("pieces", piece) for piece in content["pieces"]]
        for arm, loss in content.get("history", []):
            player._history.append((name_of(policy, number_of(policy, arm)), real_number("history", loss)))
        player._game.restore(state, block, begun, np.array(stream, dtype=np.uint64))
        if left:
            player._arm = name_of(policy, player._playing)
        return player


# Online play with full information.


class FullInformationPlayer(Player):
    """One game of a full-information policy: `ask` which arm to play, `tell` what every arm lost.

    Parameters
    ----------
    policy
        The policy in play.
    seed
        The same seed and replication play the same arms. None: an unpredictable seed.
    replication
        Index of the game among those of this seed, from 0.

    Examples
    --------
    >>> import holdfast as hf
    >>> policy = hf.AdaptiveHedgeSwitch(arms=["us-east", "eu-west"], switching_cost=0.35, period=24)
    >>> player = policy.player(seed=7)
    >>> arm = player.ask(available=["eu-west"])
    >>> arm
    'eu-west'
    >>> player.tell(losses={"us-east": 0.3, "eu-west": 0.42})
    """

    __slots__ = ("_announced", "_given", "_low", "_stale", "_state", "_unit")

    def __init__(self, policy: Policy, seed: object = None, replication: int = 0) -> None:
        super().__init__(policy, seed, replication)
        self._given = np.zeros(policy.n_arms)
        self._stale = float(getattr(policy, "stale", 0))
        self._state = self._game.state
        self._low, self._unit = policy.units[0], policy.unit
        self._announced = policy.announces is not None

    @property
    def certificate(self) -> float:
        """Bound on the mean excess cost over the best expert so far, in units of losses.

        The mean is over the policy's own draws: the losses are those told, whatever they are. Only a mixture of experts
        has one.
        """
        if not hasattr(self.policy, "certificate"):
            raise AttributeError(f"{self.policy.label} has no certificate: use holdfast.AdaptiveHedgeSwitch")
        return self.policy.certificate(self._state)  # type: ignore[no-any-return]

    def ask(  # type: ignore[override]  # a loss bound is not announced to such a policy
        self,
        *,
        forecast: ArrayLike | Mapping[Any, Sequence[float]] | None = None,
        available: Any = None,
        switching_cost: float | None = None,
    ) -> Any:
        """Return the arm to play in this round: its name, or its number from 0.

        The same until its losses are told.

        Parameters
        ----------
        forecast
            Losses expected in this and the next rounds: a row for each round, a column for each arm; or a list of
            losses for each arm by name. Between two forecasts, the rest of the last one is used.
        available
            The arms that can be played in this round: their names or numbers, or True and False for each arm; or a
            table of True and False, with a row for this and each of the next rounds. All arms, if left out.
        switching_cost
            λ of this round, if it is announced.
        """
        if self._left:
            return self._arm
        policy, game = self.policy, self._game
        announced = 0.0
        if switching_cost is not None or self._announced:
            announced, _ = announced_value(policy, {"switching_cost": switching_cost})
        if available is not None or forecast is not None:
            rows = None if forecast is None else checked_forecast(policy, self._state, forecast)
            closed = None if available is None else self._closed(available)
            if rows is not None:
                use_forecast(self._state, rows)
            if closed is not None:
                use_available(self._state, closed)
        arm, self._left = game.begin(announced)
        if arm != self._playing:
            self._playing = arm
            self._switches += 1
        self._arm = arm if policy.arms is None else policy.arms[arm]
        return self._arm

    def tell(self, losses: Any = None) -> None:  # type: ignore[override]  # not one loss, but all of them
        """Report the losses of all arms in this round: a list in the order of the arms, or ``{arm: loss}``.

        A loss that is left out, None or NaN is unknown: the last known one replaces it, for up to `stale` rounds of
        the policy; for an unavailable arm, the highest loss does.
        """
        if not self._left:
            raise OutOfTurn("there is no round to tell the losses of: call ask() first")
        given = self._given
        if type(losses) is not list and isinstance(losses, Mapping):
            losses = self._by_name(losses)
        try:
            if len(losses) != len(given):
                raise ValueError
            given[:] = losses
        except (TypeError, ValueError):
            rule = f"must be {len(given)} numbers, one for each arm, or numbers by arm"
            raise InvalidParameter("losses", rule, losses) from None
        refused = self._game.observe_all(given, self._low, self._unit, self._stale)
        if refused:
            raise refused_loss(self.policy, self._state, refused, given)
        self._left = 0
        self._rounds += 1

    def _by_name(self, losses: Mapping[Any, Any]) -> Array:
        found = np.full(self.policy.n_arms, np.nan)
        for arm, loss in losses.items():
            found[number_of(self.policy, arm)] = np.nan if loss is None else real_number(f"loss of {arm!r}", loss)
        return found

    def _closed(self, available: Any) -> Array:
        """Return 1 where an arm is unavailable, a row for each round."""
        K = self.policy.n_arms
        most = max(len(getattr(self._state, "closed", ())) // K, 1)
        if isinstance(available, (list, tuple, set, frozenset)) and not _are_flags(available):
            closed = np.ones((1, K))
            closed[0, [number_of(self.policy, arm) for arm in available]] = 0.0
        else:
            try:
                table = np.atleast_2d(np.asarray(available))
            except ValueError:  # rows of different lengths
                table = np.empty(0)
            if table.dtype != bool or table.ndim != 2 or table.shape[1] != K:
                rule = f"must be arms, or True and False for each of the {K} arms"
                raise InvalidParameter("available", rule, available)
            closed = 1.0 - table
        if closed[0].all():
            raise InvalidParameter("available", "must have at least one arm in this round", available)
        return np.asarray(closed[:most], dtype=np.float64)


def _are_flags(values: Collection[Any]) -> bool:
    """Return True if these are booleans, or rows of them, rather than names or numbers of arms."""
    return len(values) > 0 and all(isinstance(v, (bool, np.bool_, list, tuple, np.ndarray)) for v in values)


def checked_forecast(policy: Policy, state: Any, forecast: Any) -> Array:
    """Return the normalised rows of a forecast, as many as are used."""
    K = policy.n_arms
    most = len(getattr(state, "forecast", ())) // K
    rule = f"must be a table of finite numbers with a row for each round and {K} columns, one for each arm"
    if most == 0:
        raise InvalidParameter("forecast", f"must be left out: {policy.label} looks at none", forecast)
    if isinstance(forecast, Mapping):
        columns = {number_of(policy, arm): np.atleast_1d(values) for arm, values in forecast.items()}
        if len(columns) < K:
            raise InvalidParameter(
                "forecast", f"must have a loss, or a list of them, for each of the {K} arms", forecast
            )
    try:
        if isinstance(forecast, Mapping):
            forecast = [list(row) for row in zip(*(columns[i] for i in range(K)), strict=False)]
        table = np.array(forecast, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidParameter("forecast", rule, forecast) from None
    if table.ndim == 1:
        table = table.reshape(1, -1)
    if table.ndim != 2 or table.shape[1] != K or len(table) == 0 or not np.isfinite(table).all():
        raise InvalidParameter("forecast", rule, forecast)
    normalised: Array = np.clip((table[:most] - policy.units[0]) / policy.unit, -1e6, 1e6)
    return normalised


def use_forecast(state: Any, rows: Array) -> None:
    """Write a normalised forecast into the state of a game."""
    state.forecast[: rows.size] = rows.ravel()
    state.first[0], state.rows[0] = 0.0, len(rows)


def use_available(state: Any, closed: Array) -> None:
    """Write unavailable arms into the state of a game as 1, a row for this and each following round."""
    state.shut[:] = closed[0]
    if hasattr(state, "closed"):
        closed = closed[: max(len(state.closed) // closed.shape[1], 1)]
        state.closed[: closed.size] = closed.ravel()[: len(state.closed)]
        state.closed_rows[0] = len(closed)


def refused_loss(policy: Policy, state: Any, refused: int, losses: Array) -> InvalidParameter:
    """Return the error for losses that a game's kernel refused, naming the arm."""
    i = abs(refused) - 1
    arm = name_of(policy, i)
    if refused > 0:
        return outside_range(f"loss of {arm!r}", policy.bounds, 1, float(losses[i]))
    rule = "must be given in the first round"
    if state.n[0] > 1.0:
        stale = int(getattr(policy, "stale", 0))
        rule = f"must be given: it was not for the last {int(state.age[i])} rounds, and the policy's stale is {stale}"
    return InvalidParameter(f"loss of {arm!r}", rule, None)
