"""Online play where the losses of all arms are seen after each round."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from holdfast.checks import real_number
from holdfast.errors import InvalidParameter, OutOfTurn
from holdfast.layouts import Array
from holdfast.players.losses import announced_value, outside_range
from holdfast.players.player import Player, number_of
from holdfast.policies.policy import Policy


class AllLossesPlayer(Player, sees="all"):
    """One game of a policy that sees the losses of all arms: `ask` which arm to play, `tell` what every arm lost.

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
        """What this policy has cost more than the best of its paths so far, at most and on average, in units of losses.

        On average over its own draws: the losses are those that were told, whatever they are. Only a mixture of paths
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
        """The arm to play in this round: its name, or its number from 0. The same until its losses are told.

        Parameters
        ----------
        forecast
            Losses expected in this and the next rounds: a row for each round, a column for each arm; or a list of
            losses for each arm by name. Between two forecasts what is left of the last one is used.
        available
            The arms that can be played in this round: their names or numbers, or True and False for each arm; or a
            table of True and False, with a row for this and each of the next rounds. All arms, if left out.
        switching_cost
            λ of this round, where it is announced.
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
        """The losses of all arms in this round: a list in the order of the arms, or by name, ``{arm: loss}``.

        A loss that is left out, None or NaN is not known: the last known one stands for it, for up to `stale` rounds of
        the policy; that of an arm that was not available is the highest.
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
        """1 where an arm is not available, a row for each round."""
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
    """Whether these are True and False, or rows of them, and not names or numbers of arms."""
    return len(values) > 0 and all(isinstance(v, (bool, np.bool_, list, tuple, np.ndarray)) for v in values)


def checked_forecast(policy: Policy, state: Any, forecast: Any) -> Array:
    """Normalised rows of a forecast, no more than are looked at."""
    K = policy.n_arms
    most = len(getattr(state, "forecast", ())) // K
    rule = f"must be a table of finite numbers with a row for each round and {K} columns, one for each arm"
    if most == 0:
        raise InvalidParameter("forecast", f"must be left out: {policy.label} looks at none", forecast)
    if isinstance(forecast, Mapping):
        columns = {number_of(policy, arm): values for arm, values in forecast.items()}
        if len(columns) < K:
            raise InvalidParameter("forecast", f"must have a list of losses for each of the {K} arms", forecast)
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
    """Write a forecast, normalised, into the state of a game."""
    state.forecast[: rows.size] = rows.ravel()
    state.first[0], state.rows[0] = 0.0, len(rows)


def use_available(state: Any, closed: Array) -> None:
    """Write into the state of a game which arms are not available: 1 for each, a row for this and each next round."""
    state.shut[:] = closed[0]
    if hasattr(state, "closed"):
        closed = closed[: max(len(state.closed) // closed.shape[1], 1)]
        state.closed[: closed.size] = closed.ravel()[: len(state.closed)]
        state.closed_rows[0] = len(closed)


def refused_loss(policy: Policy, state: Any, refused: int, losses: Array) -> InvalidParameter:
    """What is wrong with the losses that a game's kernel refused; it names the arm."""
    i = abs(refused) - 1
    arm = i if policy.arms is None else policy.arms[i]
    if refused > 0:
        return outside_range(f"loss of {arm!r}", policy.bounds, 1, float(losses[i]))
    rule = "must be given in the first round"
    if state.n[0] > 1.0:
        stale = int(getattr(policy, "stale", 0))
        rule = f"must be given: it was not for the last {int(state.age[i])} rounds, and the policy's stale is {stale}"
    return InvalidParameter(f"loss of {arm!r}", rule, None)
