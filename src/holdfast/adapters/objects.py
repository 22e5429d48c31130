"""Policies that are Python objects, in our worlds: a plain loop that gives the same table as `simulate`.

play({"mine": lambda replication: MyPolicy()}, world, horizon=1000, switching_cost=0.5)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from holdfast.checks import real_number, whole_number
from holdfast.environments.changing import ChangingEnvironment
from holdfast.environments.environment import Environment
from holdfast.errors import HoldfastError, InvalidParameter
from holdfast.numerics.layout import Array
from holdfast.numerics.random import Stream, check_seed
from holdfast.numerics.regret import pseudo_regret
from holdfast.results import Result, rows
from holdfast.simulation.run import Checkpoints, checked_horizon, checkpoint_rounds


def play(
    policies: Mapping[str, Callable[[int], Any]],
    environment: Environment,
    *,
    horizon: int | None = None,
    switching_cost: float,
    replications: int = 10,
    seed: object = 0,
    checkpoints: Checkpoints | None = None,
) -> Result:
    """Play objects with ``ask()``, which returns an arm's number, and ``tell(loss)``, round by round.

    It is not compiled: some fifty thousand rounds a second. `Result.concat` puts the result beside one of `simulate`
    with the same seed, and `compare` compares them.

    Parameters
    ----------
    policies
        By name, functions from the number of a replication to a new object. A player of ours is one.
    environment
        The source of losses. One that reacts to what is played, or closes arms, is refused.
    horizon, switching_cost, replications, seed, checkpoints
        See `simulate`; λ is a number.

    Examples
    --------
    >>> import holdfast as hf
    >>> ours = lambda replication: hf.Exp3(2).player(seed=0, replication=replication)
    >>> result = play({"exp3": ours}, hf.Bernoulli([0.3, 0.5]), horizon=100, switching_cost=0.1)
    >>> result.frame.height
    1000
    """
    if not isinstance(environment, Environment):
        raise InvalidParameter("environment", "must be an environment such as holdfast.Bernoulli", environment)
    environment.check_itself()
    if environment.closes_arms or getattr(environment, "react_kernel", None) is not None:
        raise InvalidParameter("environment", "must neither close arms nor react to what is played", environment)
    if not isinstance(policies, Mapping) or not policies or not all(map(callable, policies.values())):
        rule = 'must be functions by name, such as {"mine": lambda replication: MyPolicy()}'
        raise InvalidParameter("policies", rule, policies)
    T = checked_horizon(horizon, environment)
    cost = real_number("switching_cost", switching_cost, least=0)
    count, number = whole_number("replications", replications, least=1), check_seed(seed)
    marks = checkpoint_rounds(checkpoints, T, count * len(policies))
    worlds = [World(environment, T, number, replication) for replication in range(count)]
    games = [[_played(name, make(i), world) for i, world in enumerate(worlds)] for name, make in policies.items()]
    least = np.array([world.expected(marks).min(axis=1) for world in worlds])

    def measures(played: list[tuple[Array, Array]]) -> dict[str, Array]:
        at = np.array(marks) - 1
        loss, switches = (np.array([game[part] for game in played])[:, at] for part in (0, 1))
        regret = pseudo_regret(loss, least[:, :, None])
        return {
            "pseudo_regret": regret,
            "switches": switches,
            "regret_with_switching": regret + cost * switches,
            "total_loss": loss,
            "total_cost": loss + cost * switches,
        }

    provenance = {
        "horizon": T,
        "switching_cost": cost,
        "replications": count,
        "seed": number,
        "checkpoints": list(marks),
        "backend": "objects",
        "environment": environment.settings(),
        "policies": {name: getattr(make, "__qualname__", repr(make)) for name, make in policies.items()},
    }
    return Result(rows(marks, [(name, 0, count) for name in policies], map(measures, games)), provenance)


class World:
    """Losses of a replication, as `simulate` draws them for policies that play in blocks of one round."""

    def __init__(self, environment: Environment, horizon: int, seed: int, replication: int) -> None:
        self.environment, self.rounds, self._place = environment, horizon, (seed, "environment", replication)
        self._path: Array | None = None
        if isinstance(environment, ChangingEnvironment):
            self._path = environment.path(horizon, seed=seed, replication=replication)
        self.begin()

    def begin(self) -> None:
        """Begin again with the same stream."""
        self._stream = Stream(*self._place)
        K = self.environment.n_arms
        self._shift = int(self._stream.uniform() * K) if self.environment.shuffled else 0

    def lose(self, arm: int, t: int) -> tuple[float, float]:
        """Return a loss in round t, and its expectation."""
        place = (arm + self._shift) % self.environment.n_arms
        if self._path is None:
            drawn = self.environment.draw(place, t, t + 1, self._stream)
            return drawn, float(self.environment.expected(t, t + 1)[place])
        mean = float(self._path[t, place])
        noise = isinstance(self.environment, ChangingEnvironment) and self.environment.noise
        return float(self._stream.uniform() < mean) if noise else mean, mean

    def expected(self, marks: tuple[int, ...]) -> Array:
        """Return the expected total loss of each arm up to each round."""
        if self._path is None:
            return np.array([self.environment.expected(0, mark) for mark in marks])
        return np.asarray(self._path.cumsum(axis=0)[np.array(marks) - 1])


def _played(name: str, policy: Any, world: World) -> tuple[Array, Array]:
    """Return expected loss and switches after each round of a game."""
    world.begin()
    T, K = world.rounds, world.environment.n_arms
    means, arms = np.empty(T), np.empty(T, dtype=np.int64)
    for t in range(T):
        try:
            arm = whole_number(f"arm of {name}", policy.ask(), least=0, most=K - 1)
            loss, means[t] = world.lose(arm, t)
            policy.tell(loss)
        except InvalidParameter:
            raise
        except Exception as error:
            raise HoldfastError(f"{name} failed in round {t + 1}: {type(error).__name__}: {error}") from error
        arms[t] = arm
    return means.cumsum(), np.cumsum(np.diff(arms, prepend=-1) != 0)
