"""Gymnasium: an environment of Holdfast whose reward has the switching cost in it.

HoldfastEnv(hf.Bernoulli.with_gap(8, 0.05), switching_cost=1.0, horizon=10_000)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from holdfast.checks import real_number, whole_number
from holdfast.environments.environment import Environment
from holdfast.errors import InvalidParameter, MissingExtra
from holdfast.numerics.random import Stream

try:
    import gymnasium
except ModuleNotFoundError as error:
    raise MissingExtra(f"this adapter needs {error.name}: pip install 'holdfast[gymnasium]'") from None


class HoldfastEnv(gymnasium.Env):
    """Rounds of an environment. An action is an arm; the reward is −loss, and −λ where the arm was changed.

    ``info`` has both parts, ``loss`` and ``switched``. An observation is the arm that is held, as ones and zeros, and
    its last loss; all zeros at first. The first arm is no switch. An episode is truncated after `horizon` rounds.

    Parameters
    ----------
    environment
        The source of losses. Its arms keep their own order, even if it is `shuffled`.
    switching_cost
        λ.
    horizon
        Rounds of an episode.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012  # as Gymnasium has it

    def __init__(self, environment: Environment, switching_cost: float, horizon: int) -> None:
        if not isinstance(environment, Environment):
            rule = "must be an environment such as holdfast.Bernoulli.with_gap(8, 0.05)"
            raise InvalidParameter("environment", rule, environment)
        most = 2**53 if environment.rounds is None else environment.rounds
        self.environment, self.horizon = environment, whole_number("horizon", horizon, least=1, most=most)
        self.switching_cost = real_number("switching_cost", switching_cost, least=0)
        low, high = environment.units
        self.action_space = gymnasium.spaces.Discrete(environment.n_arms)
        bottom = np.append(np.zeros(environment.n_arms), min(low, 0.0)).astype(np.float32)
        top = np.append(np.ones(environment.n_arms), max(high, 0.0)).astype(np.float32)
        self.observation_space = gymnasium.spaces.Box(bottom, top, dtype=np.float32)
        self._stream: Stream | None = None
        self._round, self._arm, self._loss = 0, -1, 0.0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode. The same seed gives the same losses for the same arms."""
        super().reset(seed=seed)
        self._stream = Stream(int(self.np_random.integers(2**32)), "environment")
        self._round, self._arm, self._loss = 0, -1, 0.0
        return self._seen(), {"loss": 0.0, "switched": False}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Play an arm for a round."""
        if self._stream is None:
            self.reset()
        assert self._stream is not None
        arm = whole_number("action", action, least=0, most=self.environment.n_arms - 1)
        self._loss = self.environment.draw(arm, self._round, self._round + 1, self._stream)
        switched = self._arm not in (arm, -1)
        self._arm, self._round = arm, self._round + 1
        reward = -self._loss - self.switching_cost * switched
        info = {"loss": self._loss, "switched": switched}
        return self._seen(), reward, False, self._round >= self.horizon, info

    def _seen(self) -> Any:
        seen = np.zeros(self.environment.n_arms + 1, dtype=np.float32)
        if self._arm >= 0:
            seen[self._arm], seen[-1] = 1.0, self._loss
        return seen
