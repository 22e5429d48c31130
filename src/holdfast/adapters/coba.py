"""coba: Holdfast's policies as learners of a `coba.Experiment`.

HoldfastLearner(hf.AdaptiveTsallisSwitch(3, switching_cost=0.3))
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from holdfast.adapters import bandit, check_arms, loss_of
from holdfast.checks import number_range
from holdfast.errors import MissingExtra
from holdfast.players.player import Player
from holdfast.policies.policy import Policy

try:
    from coba.primitives import Learner
except ModuleNotFoundError as error:
    raise MissingExtra(f"this adapter needs {error.name}: pip install 'holdfast[coba]'") from None


class HoldfastLearner(Learner):
    """A learner for coba: contexts are ignored, and arms are the places of the actions.

    Parameters
    ----------
    policy
        A policy with bandit feedback, for as many arms as there are actions.
    rewards
        Lowest and highest reward; those outside are clipped.
    seed
        See `Policy.player`.
    """

    def __init__(self, policy: Policy, rewards: tuple[float, float] = (0.0, 1.0), seed: int | None = None) -> None:
        self.policy, self.rewards, self.seed = bandit(policy), number_range("rewards", rewards), seed
        self._player: Player | None = None
        self._played: Any = None

    @property
    def params(self) -> Mapping[str, Any]:
        """Columns of coba's table of results."""
        return {"family": f"holdfast {self.policy.label}", "seed": self.seed}

    @property
    def switches(self) -> int:
        """Changes of arm so far, including the first play."""
        return 0 if self._player is None else self._player.switches

    def _ask(self, actions: Sequence[Any]) -> int:
        if self._player is None:
            check_arms(list(actions), self.policy)
            self._player = self.policy.player(seed=self.seed)
        arm = self._player.ask()
        return int(arm) if self.policy.arms is None else list(self.policy.arms).index(arm)

    def score(self, context: Any, actions: Sequence[Any], action: Any) -> float:
        """Return the probability with which an action is played now."""
        self._ask(actions)
        assert self._player is not None
        return float(self._player.probabilities[list(actions).index(action)])

    def predict(self, context: Any, actions: Sequence[Any]) -> tuple[Any, float]:
        """Return the action to play, and the probability with which its block drew it; 1 where that is not known."""
        action = actions[self._ask(actions)]
        assert self._player is not None
        self._played = action
        return action, self._player.probability if self.policy.knows_probabilities else 1.0

    def learn(self, context: Any, action: Any, reward: float, probability: float, **kwargs: Any) -> None:
        """Learn from the reward of the action that was predicted last; others were not drawn by the policy."""
        if self._player is not None and self._played is not None and action == self._played:
            self._player.tell(loss_of(reward, self.rewards, self.policy))
            self._played = None
