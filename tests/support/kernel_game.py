"""A game played with a policy's two kernels, as the player and the simulation play it."""

from typing import Any

import numpy as np

from holdfast import Policy, Stream
from holdfast.numerics.random import uniform
from holdfast.players.game import Game


def stream_of(u: float) -> Any:
    """A stream whose next uniform is `u`, a multiple of 2⁻⁵³."""
    word = int(u * 2**53) << 11
    rotated = (word >> 23 | word << 41) % 2**64  # xoshiro256++ gives rotl(s0 + s3, 23) + s0, here with s0 = 0
    return np.array([0, 1, 1, rotated], dtype=np.uint64)


class KernelGame:
    """One game of `policy`: choose a block, observe the loss of the last or of any other, look at p."""

    def __init__(self, policy: Policy, name: str = "kernel game", seed: int = 11) -> None:
        self.policy = policy
        self.game = Game(policy, seed=0)
        self.game.stream[:] = Stream(seed, name).state

    @property
    def state(self) -> Any:
        """The numbers of the game by name; they may be changed."""
        return self.game.state_layout.named(self.game.numbers, self.game.vectors)

    @property
    def columns(self) -> Any:
        """The same, as kernels take them: with one column per game."""
        kinds = self.game.state_layout.kinds.values()
        parts = zip(self.state, kinds, strict=True)
        return type(self.state)(*(part.reshape(-1, 1) if kind.per_arm else part for part, kind in parts))

    @property
    def block(self) -> Any:
        """The block that was begun last, by name."""
        return self.game.block_layout.named(self.game.block, self.game.vectors[:0])

    @property
    def p(self) -> Any:
        """The distribution the last arm was drawn from."""
        return self.game.probabilities()

    def choose(self, announced: float | None = None, stream: Any = None) -> tuple[int, int]:
        """The arm of the next block and its length before any truncation; drawn from `stream`, when given."""
        own = self.game.stream
        if stream is not None:
            self.game.stream = stream
        arm, rounds = self.game.begin(0.0 if announced is None else announced)
        self.game.stream = own
        return arm, rounds

    def kept_block(self) -> Any:
        """The block that was begun last, to be observed whenever it suits."""
        return self.game.block.copy()

    def observe(self, total: float, rounds: float, block: Any = None) -> None:
        """The loss of a block: of the one begun last, unless another is given."""
        self.game.observe(self.game.block if block is None else block, float(total), float(rounds))

    def next_uniform(self) -> float:
        """The uniform that the next choice will draw by."""
        return uniform(self.game.stream.copy())

    def copy(self) -> "KernelGame":
        """The same game, to go on apart."""
        other = object.__new__(KernelGame)
        other.policy, other.game = self.policy, self.game.copy()
        return other

    def if_drawn(self, arm: int, p: Any, announced: float | None = None) -> "KernelGame":
        """A copy that has begun its next block with `arm`; `p` is what it is drawn from."""
        below = float(np.sum(p[:arm]))
        other = self.copy()
        found, _ = other.choose(announced, stream_of(below + 0.5 * float(p[arm])))
        assert found == arm
        return other
