"""river: Holdfast's policies in `river.bandit`, as in ``bandit.evaluate``, and river's in our worlds.

HoldfastPolicy(hf.AdaptiveTsallisSwitch(10, switching_cost=0.3))
play({"UCB": theirs(bandit.UCB(delta=1), n_arms=10)}, world, horizon=1000, switching_cost=0.3)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from holdfast.adapters import bandit, check_arms, loss_of
from holdfast.checks import number_range
from holdfast.errors import InvalidParameter, MissingExtra
from holdfast.players.player import Player
from holdfast.policies.policy import Policy

try:
    from river.bandit.base import Policy as RiverPolicy
except ModuleNotFoundError as error:
    raise MissingExtra(f"this adapter needs {error.name}: pip install 'holdfast[river]'") from None


class HoldfastPolicy(RiverPolicy):
    """A policy for river. Arms are those that it is first asked about, in their order; any of them may be away later.

    Parameters
    ----------
    policy
        A policy with bandit feedback, for as many arms.
    rewards
        Lowest and highest reward; those outside are clipped.
    seed
        See `Policy.player`.
    reward_obj, reward_scaler, burn_in
        See river. Nothing is learnt during the burn-in.
    """

    def __init__(
        self,
        policy: Policy,
        rewards: tuple[float, float] = (0.0, 1.0),
        seed: int | None = None,
        reward_obj: Any = None,
        reward_scaler: Any = None,
        burn_in: int = 0,
    ) -> None:
        super().__init__(reward_obj=reward_obj, reward_scaler=reward_scaler, burn_in=burn_in)
        self.policy, self.rewards, self.seed = bandit(policy), number_range("rewards", rewards), seed
        self._player: Player | None = None
        self._arms: list[Any] = []
        self._waiting: Any = None

    def _pull(self, arm_ids: Any) -> Any:
        arms = list(arm_ids)
        if self._player is None:
            check_arms(arms, self.policy)
            self._player, self._arms = self.policy.player(seed=self.seed), arms
        if not arms or any(arm not in self._arms for arm in arms):
            raise InvalidParameter("arm_ids", f"must be among {self._arms}, which it was asked about first", arms)
        names = self.policy.arms or range(self.policy.n_arms)
        available = None if len(arms) == len(self._arms) else [names[self._arms.index(arm)] for arm in arms]
        played = self._player.ask(available=available)
        self._waiting = self._arms[list(names).index(played)]
        return self._waiting

    def update(self, arm_id: Any, *reward_args: Any, **reward_kwargs: Any) -> None:
        """Learn from a reward, if it is that of the arm pulled last."""
        super().update(arm_id, *reward_args, **reward_kwargs)
        if self._player is not None and self._waiting is not None and arm_id == self._waiting and reward_args:
            self._player.tell(loss_of(reward_args[0], self.rewards, self.policy))
            self._waiting = None


def theirs(policy: RiverPolicy, n_arms: int) -> Callable[[int], Any]:
    """Return a policy of river's for `holdfast.adapters.objects.play`: its reward is −loss, and seeds differ by game.

    Parameters
    ----------
    policy
        It is cloned for each game, and stays as it is.
    n_arms
        K.
    """

    def make(replication: int) -> _Theirs:
        seed = policy._get_params().get("seed")
        return _Theirs(policy.clone({} if seed is None else {"seed": seed + replication}), list(range(n_arms)))

    return make


class _Theirs:
    """One game of a policy of river's."""

    def __init__(self, policy: RiverPolicy, arms: list[int]) -> None:
        self._policy, self._arms, self._arm = policy, arms, 0

    def ask(self) -> int:
        self._arm = self._policy.pull(self._arms)
        return self._arm

    def tell(self, loss: float) -> None:
        self._policy.update(self._arm, -loss)
