"""Environments that draw a new path in each game: random changes, drifts, outages, seasons, jumps, Markov chains.

    move(tables, state, t, streams)           write the mean of every arm in round t to state.mean; called once a round
    react(tables, state, arm, start, stop)    optional: learn which arm was played in the rounds [start, stop)

are the kernels. `state` is a game's own, a NamedTuple of `Scalar` and `PerArm` numbers that are 0 at the beginning,
`mean` among them. `streams` is for the path alone, so all policies meet the same path in a replication, whatever they
play and however many losses they see; with `react` the path answers them. A round of an arm loses 1 with the arm's mean
as probability, or just the mean (`noise=False`).

Regret is measured from the arm that is best on the path that was drawn.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from holdfast._numba.compile import kernel
from holdfast.checks import array_of, flag, or_none, real, real_number, whole, whole_number
from holdfast.environments.environment import LAST_ROUND, Environment, Tables
from holdfast.errors import HoldfastError, InvalidParameter
from holdfast.numerics.layout import Array, PerArm, layout_of
from holdfast.numerics.random import Stream, check_seed, next_uniform, normal, started, stream_key

PATH = "environment/path"
"""The name of the stream that paths are drawn from."""

SHARE = real(least=0, most=1)
ROUNDS = real(least=1)


@dataclass(frozen=True)
class ChangingEnvironment(Environment):
    """Losses whose means are drawn in each game, round by round. Derive from it for your own."""

    state: ClassVar[type]
    """NamedTuple of what a game keeps, `mean: PerArm` among it."""
    move_kernel: ClassVar[Callable[..., Any]]
    react_kernel: ClassVar[Callable[..., Any] | None] = None

    n_arms: int = field(default=0, metadata=whole(least=2))
    """K."""
    noise: bool = field(default=True, kw_only=True, metadata=flag())
    """True if losses are 0 or 1 with these means, False if they equal them."""

    @property
    @abstractmethod
    def tables(self) -> Tables:
        """Arrays that the kernels read."""

    @property
    def reference(self) -> int:
        raise self._has_none("reference")

    def expected(self, start: int, stop: int) -> Array:
        raise self._has_none("expected")

    def excess(self, stop: int) -> Array:
        raise self._has_none("excess")

    def draw(self, arm: int, start: int, stop: int, stream: Stream) -> float:
        raise self._has_none("draw")

    def _has_none(self, name: str) -> HoldfastError:
        own = type(self).__name__
        return HoldfastError(f"{own} draws a new path in each game, so it has no {name}: path() returns one")

    def path(
        self, horizon: int, *, seed: object = 0, replication: int = 0, played: Sequence[int] | None = None
    ) -> Array:
        """Return the mean of every arm in each round, a row for each, as `simulate` draws them.

        Arms are in the environment's own order.

        Parameters
        ----------
        horizon
            The number of rounds.
        seed, replication
            Seed and replication of the game.
        played
            For an environment that reacts: the arm of each round, in blocks of one. If nothing is played unless given.
        """
        T = whole_number("horizon", horizon, least=1, most=LAST_ROUND)
        layout, K = layout_of(self.state), self.n_arms
        kept = layout.named(np.zeros(layout.n_numbers), np.zeros(layout.n_vectors * K))
        parts = (part.reshape(-1, 1) if layout.kinds[name].per_arm else part for name, part in kept._asdict().items())
        state, tables, means = layout.record(*parts), self.tables, np.empty((T, K))
        number = whole_number("replication", replication, least=0)
        streams = started(stream_key(check_seed(seed), PATH), number).reshape(-1, 1)
        for t in range(T):
            self.move_kernel(tables, state, float(t), streams)
            means[t] = state.mean[:, 0]
            if played is not None and self.react_kernel is not None:
                self.react_kernel(tables, state, int(played[t]), float(t), t + 1.0)
        return means

    def check_itself(self) -> None:
        """Refuse a user-defined class that cannot be played."""
        own = type(self).__name__
        kinds = layout_of(self.state).kinds
        if "mean" not in kinds or not kinds["mean"].per_arm:
            raise InvalidParameter(f"state of {own}", "must have a field mean: PerArm", list(kinds))
        whole_number(f"n_arms of {own}", self.n_arms, least=1)


def _between(low: float, high: float) -> tuple[float, float]:
    """Return the range of means, checked."""
    return real_number("low", low, least=0, most=1), real_number("high", high, least=low, most=1)


@dataclass(frozen=True)
class WithinRange(ChangingEnvironment):
    """An environment whose means, or the levels that they move around, are uniform on a range."""

    low: float = field(default=0.1, kw_only=True)
    high: float = field(default=0.9, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, value in zip(("low", "high"), _between(self.low, self.high), strict=True):
            self._set(name, value)


class Means(NamedTuple):
    """The state of a world that needs no more than its means."""

    mean: PerArm


@kernel
def uniform_between(streams: Any, low: float, high: float) -> float:
    """Draw a uniform number."""
    return low + (high - low) * next_uniform(streams, 0)


# Random changes, of all means or of one.


@kernel
def move_at_random(tables: Any, state: Any, t: float, streams: Any) -> None:
    """Draw all means at first; then, with the probability of a change, all of them or that of one arm."""
    chance, alone, low, high = tables[0]
    K = state.mean.shape[0]
    if t == 0.0:
        for i in range(K):
            state.mean[i, 0] = uniform_between(streams, low, high)
    elif chance > 0.0 and next_uniform(streams, 0) < chance:
        first, count = (min(int(next_uniform(streams, 0) * K), K - 1), 1) if alone > 0.0 else (0, K)
        for i in range(first, first + count):
            state.mean[i, 0] = uniform_between(streams, low, high)


@dataclass(frozen=True)
class RandomChanges(WithinRange):
    """Means that stay, and now and then are drawn again: all of them, or that of one arm.

    Parameters
    ----------
    n_arms
        K.
    every
        Rounds between changes, in the mean: each round begins with one with probability 1/`every`. None for a world
        that is drawn once in each game and never changes.
    alone
        True if one arm changes at a time, False if all do.
    low, high
        Means are uniform between them.
    noise, shuffled
        See `ChangingEnvironment`.

    Examples
    --------
    >>> RandomChanges(2, every=2).path(4, seed=1).round(2).tolist()
    [[0.84, 0.48], [0.38, 0.57], [0.89, 0.14], [0.89, 0.14]]
    """

    id = "random-changes"
    state = Means
    move_kernel = staticmethod(move_at_random)

    every: float | None = field(default=None, kw_only=True, metadata=or_none(ROUNDS))
    alone: bool = field(default=False, kw_only=True, metadata=flag())

    @property
    def tables(self) -> Tables:
        chance = 0.0 if self.every is None else 1.0 / self.every
        return (np.array([chance, float(self.alone), self.low, self.high]),)


# Means that drift: Ornstein–Uhlenbeck processes.


class Drift(NamedTuple):
    mean: PerArm
    level: PerArm
    away: PerArm  # from the level, not yet cut off


@kernel
def move_in_drift(tables: Any, state: Any, t: float, streams: Any) -> None:
    """Move each arm towards its level, and by chance; at first as far away as it is in the long run."""
    stays, step, deviation, low, high = tables[0]
    for i in range(state.mean.shape[0]):
        if t == 0.0:
            state.level[i, 0] = uniform_between(streams, low, high)
            state.away[i, 0] = deviation * normal(streams[:, 0])
        else:
            state.away[i, 0] = stays * state.away[i, 0] + step * normal(streams[:, 0])
        state.mean[i, 0] = min(max(state.level[i, 0] + state.away[i, 0], 0.0), 1.0)


@dataclass(frozen=True)
class OrnsteinUhlenbeck(WithinRange):
    """Means that drift around a level of their own and come back to it: Ornstein–Uhlenbeck processes, seen each round.

    Cut off at 0 and 1.

    Parameters
    ----------
    n_arms
        K.
    time
        Rounds within which a mean forgets where it was: correlations fall by e.
    deviation
        The standard deviation around the level.
    low, high
        Levels are uniform between them, drawn in each game.
    noise, shuffled
        See `ChangingEnvironment`.

    Examples
    --------
    >>> OrnsteinUhlenbeck(2, time=100, deviation=0.1).path(3, seed=1).shape
    (3, 2)
    """

    id = "ornstein-uhlenbeck"
    state = Drift
    move_kernel = staticmethod(move_in_drift)

    time: float = field(default=1000.0, kw_only=True, metadata=ROUNDS)
    deviation: float = field(default=0.15, kw_only=True, metadata=real(least=0, most=10))
    low: float = field(default=0.3, kw_only=True)
    high: float = field(default=0.7, kw_only=True)

    @property
    def tables(self) -> Tables:
        stays = math.exp(-1.0 / self.time)
        step = self.deviation * math.sqrt(-math.expm1(-2.0 / self.time))
        return (np.array([stays, step, self.deviation, self.low, self.high]),)


# Outages: arms that go down and come back.


class Up(NamedTuple):
    mean: PerArm
    level: PerArm
    down: PerArm


@kernel
def move_on_and_off(tables: Any, state: Any, t: float, streams: Any) -> None:
    """Let each arm go down, or come back, with its probability."""
    falls, rises, loss, low, high = tables[0]
    for i in range(state.mean.shape[0]):
        if t == 0.0:
            state.level[i, 0] = uniform_between(streams, low, high)
        elif next_uniform(streams, 0) < (rises if state.down[i, 0] > 0.0 else falls):
            state.down[i, 0] = 1.0 - state.down[i, 0]
        state.mean[i, 0] = loss if state.down[i, 0] > 0.0 else state.level[i, 0]


@dataclass(frozen=True)
class Outages(WithinRange):
    """Arms that are up at a level of their own, go down now and then, each for itself, and come back.

    Parameters
    ----------
    n_arms
        K.
    every
        Rounds for which an arm is up, in the mean.
    length
        Rounds for which it is down, in the mean.
    down
        Its mean loss then.
    low, high
        Levels are uniform between them, drawn in each game.
    noise, shuffled
        See `ChangingEnvironment`.

    Examples
    --------
    >>> bool((Outages(3, every=10, length=5).path(100, seed=1) == 1.0).any())
    True
    """

    id = "outages"
    state = Up
    move_kernel = staticmethod(move_on_and_off)

    every: float = field(default=3000.0, kw_only=True, metadata=ROUNDS)
    length: float = field(default=200.0, kw_only=True, metadata=ROUNDS)
    down: float = field(default=1.0, kw_only=True, metadata=SHARE)
    low: float = field(default=0.1, kw_only=True)
    high: float = field(default=0.4, kw_only=True)

    @property
    def tables(self) -> Tables:
        return (np.array([1.0 / self.every, 1.0 / self.length, self.down, self.low, self.high]),)


# Seasons, every arm at a time of its own.


class Season(NamedTuple):
    mean: PerArm
    phase: PerArm


@kernel
def move_in_season(tables: Any, state: Any, t: float, streams: Any) -> None:
    """Swing; the phases are drawn at first."""
    period, swing, middle = tables[0]
    for i in range(state.mean.shape[0]):
        if t == 0.0:
            state.phase[i, 0] = next_uniform(streams, 0)
        turn = t % period / period + state.phase[i, 0]
        state.mean[i, 0] = min(max(middle + swing * math.sin(2.0 * math.pi * turn), 0.0), 1.0)


@dataclass(frozen=True)
class Seasons(ChangingEnvironment):
    """Means that swing with a season, every arm with a phase of its own, which is drawn in each game.

    Parameters
    ----------
    n_arms
        K.
    period
        Rounds of a season.
    swing, middle
        The mean is `middle` + `swing`·sin(2π(t/`period` + phase)), cut off at 0 and 1.
    noise, shuffled
        See `ChangingEnvironment`.

    Examples
    --------
    >>> path = Seasons(2, period=4).path(8, seed=1)
    >>> bool(np.allclose(path[:4], path[4:]))
    True
    """

    id = "seasons"
    state = Season
    move_kernel = staticmethod(move_in_season)

    period: int = field(default=1000, kw_only=True, metadata=whole(least=2, most=LAST_ROUND))
    swing: float = field(default=0.25, kw_only=True, metadata=SHARE)
    middle: float = field(default=0.5, kw_only=True, metadata=SHARE)

    @property
    def tables(self) -> Tables:
        return (np.array([float(self.period), self.swing, self.middle]),)


# All levels jump together.


class Jumps(NamedTuple):
    mean: PerArm
    apart: PerArm


@kernel
def move_together(tables: Any, state: Any, t: float, streams: Any) -> None:
    """Draw the common level at first, and then with the probability of a jump."""
    chance, gap = tables[0]
    K = state.mean.shape[0]
    if t == 0.0:
        for i in range(K):
            state.apart[i, 0] = gap * next_uniform(streams, 0)
    if t == 0.0 or next_uniform(streams, 0) < chance:
        level = (1.0 - gap) * next_uniform(streams, 0)
        for i in range(K):
            state.mean[i, 0] = level + state.apart[i, 0]


@dataclass(frozen=True)
class CommonJumps(ChangingEnvironment):
    """Arms that keep their distances while the level of all of them jumps: nothing is gained by moving.

    An arm's mean is the common level, uniform on [0, 1 − `gap`], and its distance, uniform on [0, `gap`].

    Parameters
    ----------
    n_arms
        K.
    every
        Rounds between jumps, in the mean.
    gap
        The largest distance.
    noise, shuffled
        See `ChangingEnvironment`.

    Examples
    --------
    >>> path = CommonJumps(2, every=5).path(50, seed=1)
    >>> bool(np.allclose(np.ptp(path[:, 0] - path[:, 1]), 0.0))
    True
    """

    id = "common-jumps"
    state = Jumps
    move_kernel = staticmethod(move_together)

    every: float = field(default=2500.0, kw_only=True, metadata=ROUNDS)
    gap: float = field(default=0.2, kw_only=True, metadata=SHARE)

    @property
    def tables(self) -> Tables:
        return (np.array([1.0 / self.every, self.gap]),)


# Markov chains: one for all arms, or one for each.


class Chain(NamedTuple):
    mean: PerArm
    at: PerArm  # the state of the arm's chain


@kernel
def move_in_chains(tables: Any, state: Any, t: float, streams: Any) -> None:
    """Move each chain by a step; a chain for all arms is the first arm's."""
    means, upto, own = tables
    S, K = upto.shape[0], state.mean.shape[0]
    for i in range(K):
        if own[0] > 0.0 or i == 0:
            u, at, row = next_uniform(streams, 0), 0, int(state.at[i, 0])
            while at < S - 1 and u >= (upto[row, at] if t > 0.0 else (at + 1.0) / S):
                at += 1
            state.at[i, 0] = float(at)
        else:
            state.at[i, 0] = state.at[0, 0]
        state.mean[i, 0] = means[int(state.at[i, 0]), i]


@dataclass(frozen=True)
class MarkovChain(ChangingEnvironment):
    """A Markov chain whose state gives the means of all arms; or restless arms, each with a chain of its own.

    The first state is uniform; from round to round the state goes from row to column of `transitions`.

    Parameters
    ----------
    state_means
        A row for each state with the mean of every arm. A single number in place of a row is the mean of any arm in
        that state; then every arm has a chain of its own, and `n_arms` says how many there are.
    transitions
        A row for each state: the probabilities of the next one, which sum to 1.
    n_arms
        K, where every arm has a chain of its own.
    noise, shuffled
        See `ChangingEnvironment`.

    Examples
    --------
    >>> rush = MarkovChain([[0.2, 0.4], [0.9, 0.5]], [[0.99, 0.01], [0.05, 0.95]])
    >>> rush.n_arms
    2
    >>> restless = MarkovChain([0.2, 0.8], [[0.9, 0.1], [0.3, 0.7]], n_arms=5)
    >>> set(restless.path(20, seed=1).ravel().tolist()) == {0.2, 0.8}
    True
    """

    id = "markov-chain"
    state = Chain
    move_kernel = staticmethod(move_in_chains)

    n_arms: int = field(default=0, kw_only=True)
    state_means: Sequence[Any] = ()
    transitions: Sequence[Sequence[float]] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        means = _table("state_means", self.state_means, (1, 2))
        if means.ndim == 2:
            if self.n_arms not in (0, means.shape[1]):
                rule = f"must be left out, or {means.shape[1]}, as many as a row of state_means has"
                raise InvalidParameter("n_arms", rule, self.n_arms)
            self._set("n_arms", whole_number("n_arms", means.shape[1], least=1))
        self._set("n_arms", whole_number("n_arms", self.n_arms, least=1))
        steps = _table("transitions", self.transitions, (2,))
        if steps.shape != (len(means), len(means)):
            rule = f"must have a row and a column for each of the {len(means)} states"
            raise InvalidParameter("transitions", rule, f"{steps.shape[0]} x {steps.shape[1]}")
        for i, total in enumerate(steps.sum(axis=1).tolist()):
            if abs(total - 1.0) > 1e-9:
                raise InvalidParameter(f"transitions[{i}]", "must sum to 1", total)
        self._set("state_means", tuple(map(_as_tuples, means.tolist())))
        self._set("transitions", tuple(map(tuple, steps.tolist())))

    @property
    def tables(self) -> Tables:
        means, upto = np.array(self.state_means, dtype=np.float64), np.cumsum(self.transitions, axis=1)
        own = np.array([float(means.ndim == 1)])
        return (np.repeat(means[:, None], self.n_arms, axis=1) if means.ndim == 1 else means), upto, own


def _as_tuples(row: Any) -> Any:
    return tuple(row) if isinstance(row, list) else row


def _table(name: str, given: object, dimensions: tuple[int, ...]) -> Array:
    """Return a table of numbers from 0 to 1."""
    rule = "must be a table of numbers from 0 to 1"
    table = array_of(name, given, rule)
    if table.ndim not in dimensions or not table.size or not ((table >= 0.0) & (table <= 1.0)).all():
        raise InvalidParameter(name, rule, given)
    return table


# Arms that tire: they answer what is played.


class Load(NamedTuple):
    mean: PerArm
    level: PerArm
    tired: PerArm  # from 0 to 1


@kernel
def move_by_load(tables: Any, state: Any, t: float, streams: Any) -> None:
    """Let each mean lie between the arm's level and 1, as tired as it is."""
    low, high = tables[0][1], tables[0][2]
    for i in range(state.mean.shape[0]):
        if t == 0.0:
            state.level[i, 0] = uniform_between(streams, low, high)
        state.mean[i, 0] = state.level[i, 0] + (1.0 - state.level[i, 0]) * state.tired[i, 0]


@kernel
def tire(tables: Any, state: Any, arm: int, start: float, stop: float) -> None:
    """Tire the arm that was played, and let the others rest, for as long as the block was."""
    stays = math.exp((start - stop) / tables[0][0])
    for i in range(state.mean.shape[0]):
        state.tired[i, 0] = stays * state.tired[i, 0] + (1.0 - stays if i == arm else 0.0)


@dataclass(frozen=True)
class TiringArms(WithinRange):
    """Arms that get worse while they are played and recover while others are: the world answers after each block.

    After a block of n rounds the played arm has gone the share 1 − e^(−n/`time`) of its way to a mean of 1, every other
    arm as far back to its level. Theorems are about losses fixed in advance; here the "best fixed arm" is the best one
    on the path that this very game made, and says nothing of what holding it would have cost.

    Parameters
    ----------
    n_arms
        K.
    time
        Rounds within which an arm tires, or recovers, by all but 1/e.
    low, high
        Levels are uniform between them, drawn in each game.
    noise, shuffled
        See `ChangingEnvironment`.

    Examples
    --------
    >>> TiringArms(2, time=5).path(2, seed=1).round(2).tolist()  # if nothing is played
    [[0.38, 0.24], [0.38, 0.24]]
    """

    id = "tiring-arms"
    state = Load
    move_kernel = staticmethod(move_by_load)
    react_kernel = staticmethod(tire)

    time: float = field(default=100.0, kw_only=True, metadata=ROUNDS)
    low: float = field(default=0.1, kw_only=True)
    high: float = field(default=0.4, kw_only=True)

    @property
    def tables(self) -> Tables:
        return (np.array([self.time, self.low, self.high]),)
