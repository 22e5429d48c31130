"""A game played with a policy's two kernels, as the player and the simulation play it."""

from typing import Any

import numpy as np

from holdfast import Policy, Stream
from holdfast.policies.protocol import ARM, ROUNDS, State
from holdfast.rng import uniform


class KernelGame:
    """The state of one game of `policy`: choose a block, observe its loss, look at p."""

    def __init__(self, policy: Policy, name: str = "kernel game", seed: int = 11, blocks: int = 2000) -> None:
        self.policy = policy
        self.params = policy.parameters(blocks=blocks)
        self.state = State.fresh(policy.n_arms)
        self.stream = Stream(seed, name).state

    def choose(self, announced: float | None = None, stream: Any = None) -> tuple[int, int]:
        """The arm of the next block and its length before any truncation."""
        x, C, w = self.state.x, self.state.C, self.state.w
        told = 0.0 if announced is None else announced
        arm = self.policy.choose(self.params, x, C, w, told, self.stream if stream is None else stream)
        return int(arm), int(x[ROUNDS])

    def observe(self, total: float, rounds: float) -> None:
        """The loss of the block."""
        self.policy.observe(self.params, self.state.x, self.state.C, self.state.w, float(total), float(rounds))

    def next_uniform(self) -> float:
        """The uniform that the next choice will draw by."""
        return uniform(self.stream.copy())

    @property
    def p(self) -> Any:
        """The distribution the current arm was drawn from."""
        return self.policy.probabilities(self.params, self.state)

    def copy(self, arm: int | None = None) -> "KernelGame":
        """The same game, to go on apart; as if `arm` had been drawn, when given."""
        other = object.__new__(KernelGame)
        other.policy, other.params, other.stream = self.policy, self.params, self.stream.copy()
        other.state = State(*(np.copy(part) for part in (self.state.x, self.state.C, self.state.w)))
        if arm is not None:
            other.state.x[ARM] = arm
        return other
