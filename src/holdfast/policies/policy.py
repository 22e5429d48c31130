"""What every policy is: a frozen description, and two kernels that play it in blocks.

    choose(params, state, announced, streams, block)   begin a block: fill in its arm, rounds and probability
    observe(params, state, block, totals, rounds)      what that block lost over so many rounds

`params` is a read-only array. `state` is the game, `block` the block in play: records of named numbers
(`holdfast.layouts`), owned by the caller. `announced` is what the policy is told at the start of a block (Theorem 4's
λ_n, Theorem 2's b_t), `streams` the random streams it draws from.

**A block is a value.** Whatever `observe` needs of the draw is in the block, not in the state: so a block may be
stored, sent elsewhere and observed late, after others have begun, and in any order. A policy that cannot go on without
a loss says so (`waits_for_losses`). `rounds` is fewer than the block's own only where some of its losses never came.

Every array has one column per game. A policy whose blocks have the same lengths in every game may be played *abreast*:
its kernels are then handed several columns at once, and the common ``block.rounds`` is that of column 0. All others are
handed one column, here as in online play and on a GPU.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import numpy as np

from holdfast.checks import LARGEST, address_of, number_range, real_number, whole_number
from holdfast.errors import BadSavedState, InvalidParameter
from holdfast.layouts import Array, Layout, PerArm, layout_of

if TYPE_CHECKING:
    from holdfast import Player

RAREST = 1e-20
"""No arm of a smaller probability is drawn by a uniform of 53 bits, but for the first arm by a uniform of 0."""

MOST_ARMS = 10**7

Kernel = Callable[..., Any]
"""What Numba compiles. Its arguments are arrays on a CPU or on a GPU, or plain NumPy's: no type says that."""

Announcement = Literal["switching_cost", "loss_bound"]
"""What the world may have to tell a policy at the start of each block."""

Feedback = Literal["own", "all"]
"""Whose losses a policy sees: those of its own arm, or those of all arms."""

BLOCK_FIELDS = ("arm", "rounds", "probability")
"""What the block of every policy begins with."""


class Kernels(NamedTuple):
    """All that is needed to play a policy, apart from its parameters."""

    choose: Kernel
    observe: Kernel
    state: type
    """A NamedTuple of what a game keeps."""
    block: type
    """A NamedTuple that begins with `arm`, `rounds` and `probability`, then whatever `observe` wants handed back."""
    abreast: bool = False
    """Whether several games can be played at once: only where their blocks have the same lengths."""
    sees: Feedback = "own"
    """Whose losses `observe` is given: those of the arm in play, or, ``totals[i, g]``, those of all arms."""

    @property
    def state_layout(self) -> Layout:
        """Where the numbers of the state lie."""
        return layout_of(self.state)

    @property
    def block_layout(self) -> Layout:
        """Where the numbers of a block lie."""
        return _block_layout(self.block)


class AllSeen(NamedTuple):
    """What the state of every policy that sees all losses has, whatever else it has (`holdfast.layouts.extended`)."""

    known: PerArm  # the losses of the last round
    age: PerArm  # rounds since they were told
    shut: PerArm  # 1 where an arm is not available in this round


@cache
def _block_layout(block: Any) -> Layout:
    layout = layout_of(block)
    if tuple(layout.kinds)[:3] != BLOCK_FIELDS or layout.n_vectors or not all(k.saved for k in layout.kinds.values()):
        raise TypeError(f"{block.__name__} must begin with arm, rounds and probability, and have Scalars only")
    return layout


@dataclass(frozen=True)
class Policy(ABC):
    """What to play: parameters only. `player()` begins a game; `holdfast.simulate` plays many."""

    n_arms: int = 0
    """The number of arms K. Leave it out when `arms` names them."""

    id: ClassVar[str]
    """The policy's name in tables and on the command line."""
    waits_for_losses: ClassVar[bool] = False
    """Whether the next block can begin only when all losses of this one are known. It hears of every block then, also
    of one whose losses were all dropped: of no rounds and no loss."""

    deterministic: ClassVar[bool] = False
    """Whether it draws nothing: the same losses give the same game, whatever the seed and the replication."""

    knows_probabilities: ClassVar[bool] = True
    """Whether it knows what its arms are drawn from; if not, its blocks have the probability 0."""

    arms: Sequence[str] | None = field(default=None, kw_only=True)
    """Names of the arms; `ask` then returns the name."""
    loss_range: tuple[float, float] = field(default=(0.0, 1.0), kw_only=True)
    """The range of one round's loss in your own units; `switching_cost` is read in the same units."""

    def __post_init__(self) -> None:
        self._set("arms", _checked_names(self.arms))
        if self.arms is not None and self.n_arms in (0, len(self.arms)):
            self._set("n_arms", len(self.arms))
        elif self.arms is not None:
            raise InvalidParameter(
                "n_arms",
                f"must be the number of names in arms, {len(self.arms)}, or be left out",
                self.n_arms,
            )
        if self.arms is None and isinstance(self.n_arms, (list, tuple)):
            raise InvalidParameter("n_arms", "must be a number; give names as arms=[...]", self.n_arms)
        if self.arms is None and (self.n_arms is None or self.n_arms == 0):
            rule = f"must be given, from 1 to {MOST_ARMS}, or the arms by name: arms=[...]"
            raise InvalidParameter("n_arms", rule, self.n_arms)
        self._set("n_arms", whole_number("n_arms", self.n_arms, least=1, most=MOST_ARMS))
        self._set("loss_range", number_range("loss_range", self.loss_range))

    def _set(self, name: str, value: object) -> None:
        """Put a checked value into this frozen object, while it is being made."""
        object.__setattr__(self, name, value)

    @property
    def label(self) -> str:
        """The name of this policy in a table when no other is given."""
        return self.id

    @property
    @abstractmethod
    def kernels(self) -> Kernels:
        """What plays it."""

    @property
    def announces(self) -> Announcement | None:
        """What the world must tell at the start of each block, if anything."""
        return None

    @property
    def sees(self) -> Feedback:
        """Whose losses it is told: those of its own arm, or those of all arms."""
        return self.kernels.sees

    @property
    def bounds(self) -> tuple[float, float]:
        """What one round may lose, as it is told."""
        return self.loss_range

    @property
    def unit(self) -> float:
        """The width of `loss_range`: one normalised loss in the user's units."""
        return self.loss_range[1] - self.loss_range[0]

    def checked_cost(self, value: object) -> float:
        """What one switch costs, in the units of `loss_range`; or an error."""
        return real_number("switching_cost", value, least=0, most=LARGEST * self.unit)

    @abstractmethod
    def parameters(self, horizon: float | None = None, blocks: int = 64) -> Array:
        """The read-only array the kernels take. `horizon` and `blocks` tell how far a tabulated schedule must reach."""

    def blocks_covered(self, params: Array) -> float:
        """The number of blocks `params` is good for: all, unless a schedule is tabulated."""
        return math.inf

    @abstractmethod
    def probabilities(self, params: Array, state: Any, block: Any) -> Array:
        """The distribution that the arm of `block` was drawn from, `state` being as the draw left it."""

    def check_saved(self, state: Mapping[str, Any], block: Mapping[str, Any] | None) -> None:
        """An error for saved numbers, all of them finite, that no game of this policy can have come to."""
        return None

    def carried_over(self, state: Mapping[str, Any], kept: Sequence[int | None]) -> dict[str, Any]:
        """The state with which this policy goes on from a game of one with other settings.

        `kept` has for each arm which arm it was before, None for a new one. Where only settings other than the arms
        have changed, the state stays as it is, unless a policy says otherwise; whether arms can come and go, and what a
        new one begins with, each policy says for itself.
        """
        before = [len(state[name]) for name, kind in self.kernels.state_layout.saved_kinds.items() if kind.per_arm]
        if list(kept) != list(range(max([self.n_arms, *before]))):
            rule = f"cannot be added to a game of {self.label}, nor retired"
            raise InvalidParameter("arms", rule, None if self.arms is None else list(self.arms))
        return dict(state)

    def player(
        self, seed: object = None, *, replication: int = 0, loss_range: tuple[float, float] | None = None
    ) -> Player:
        """Begin a game. With the same `seed` it plays as replication `replication` of `simulate` does."""
        from holdfast import Player  # by its public name: players stand above policies

        policy = self if loss_range is None else replace(self, loss_range=loss_range)
        return Player(policy, seed=seed, replication=replication)

    def settings(self) -> dict[str, Any]:
        """The parameters as plain values, enough to make this policy again."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return {"policy": address_of(self)} | {
            name: list(v) if isinstance(v, tuple) else v for name, v in values.items() if v is not None
        }


def checked_parameters(policy: Policy, horizon: float | None = None) -> Array:
    """The array that the kernels take; or an error where a policy, a user's own, has none."""
    params = policy.parameters() if horizon is None else policy.parameters(horizon=horizon)
    if not isinstance(params, np.ndarray):
        raise InvalidParameter("parameters", "must be an array of numbers", params)
    return params


def rearranged(
    layout: Layout, state: Mapping[str, Any], kept: Sequence[int | None], new: Mapping[str, float]
) -> dict[str, Any]:
    """A state by name with other arms: those of `kept`, and `new` numbers for those that were not there."""
    return {
        name: [new[name] if arm is None else values[arm] for arm in kept] if layout.kinds[name].per_arm else values
        for name, values in state.items()
    }


def _checked_names(arms: object) -> tuple[str, ...] | None:
    if arms is None:
        return None
    rule = "must be a list of different names"
    if isinstance(arms, (str, bytes)) or not isinstance(arms, Sequence) or len(arms) == 0:
        raise InvalidParameter("arms", rule, arms)
    if not all(isinstance(name, str) and name for name in arms):
        raise InvalidParameter("arms", rule + ", each a non-empty string", arms)
    if len(set(arms)) < len(arms):
        twice = next(name for name, count in Counter(arms).items() if count > 1)
        raise InvalidParameter("arms", f"{rule}; {twice!r} is there twice", list(arms))
    return tuple(arms)


def must_be(holds: bool, what: str) -> None:
    """An error about saved numbers unless `holds`."""
    if not holds:
        raise BadSavedState(f"saved player data is damaged: {what}")
