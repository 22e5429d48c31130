"""What every policy is: a frozen description, and two kernels that play it in blocks.

    choose(params, x, C, w, announced, stream) -> arm   the arm of the next block, as in x[ARM]; its length in x[ROUNDS]
    observe(params, x, C, w, total, rounds)             the loss of that block

`params` is read-only; `x` (scalars), `C` and `w` (one number an arm) are the state of one game, owned by the
caller. `announced` is what the policy is told at the start of a block (Theorem 4's λ_n, Theorem 2's b_t),
`stream` the random stream it draws from. `rounds` may be less than x[ROUNDS] only in the last block of a game.

A policy whose blocks have the same lengths in every game may write its two kernels for several games *abreast*: all
arrays get a second dimension with one column a game, arms go to x[ARM, g], the common x[BLOCK] and x[ROUNDS] are those
of column 0, and `observe` is handed a row of losses. `alone` makes the kernels of one game from them.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from holdfast._numba.compile import kernel
from holdfast._numba.rows import as_rows, local_rows
from holdfast.checks import real_number, whole_number
from holdfast.errors import InvalidParameter

if TYPE_CHECKING:
    from holdfast.players import Player

BLOCK, ARM, ROUNDS = 0, 1, 2
"""The scalars every policy keeps: blocks begun, arm of the current one, its length before any truncation."""

OWN = 3
"""The first scalar of `x` that is a policy's own."""

N_SCALARS = 16
"""Numbers in `x`."""

LARGEST = 1e50
"""Ranges and costs beyond this (or below its inverse) would overflow in the solver."""

MOST_ARMS = 10**7

Array = np.ndarray[Any, np.dtype[np.float64]]


Kernel = Callable[..., Any]

_ABREAST: dict[Kernel, Kernel] = {}
"""For each kernel that `alone` made, the one it was made from."""


def alone(choose_abreast: Kernel, observe_abreast: Kernel) -> tuple[Kernel, Kernel]:
    """The two kernels of one game, from those of games abreast, which `simulate` will find by them."""

    @kernel
    def choose(params: Any, x: Any, C: Any, w: Any, announced: float, stream: Any) -> int:
        choose_abreast(params, as_rows(x, 1), as_rows(C, 1), as_rows(w, 1), announced, as_rows(stream, 1))
        return int(x[ARM])

    @kernel
    def observe(params: Any, x: Any, C: Any, w: Any, total: float, rounds: float) -> None:
        totals = local_rows(1, 1)
        totals[0, 0] = total
        observe_abreast(params, as_rows(x, 1), as_rows(C, 1), as_rows(w, 1), totals[0], rounds)

    _ABREAST.update({choose: choose_abreast, observe: observe_abreast})
    return choose, observe


@dataclass(frozen=True)
class State:
    """The state of one game: scalars and two numbers an arm."""

    x: Array
    C: Array
    w: Array

    @classmethod
    def fresh(cls, n_arms: int) -> State:
        """Before the first block."""
        return cls(np.zeros(N_SCALARS), np.zeros(n_arms), np.zeros(n_arms))


@dataclass(frozen=True)
class Policy(ABC):
    """What to play: parameters only. `player()` begins a game; `holdfast.simulate` plays many."""

    n_arms: int = None  # type: ignore[assignment]
    """The number of arms K. Leave it out when `arms` names them."""

    id: ClassVar[str]
    """The policy's name in tables and on the command line."""
    announces: ClassVar[str | None] = None
    """What the world must announce at the start of each block: ``"switching_cost"``, ``"loss_bound"`` or nothing."""
    choose: ClassVar[Kernel]
    observe: ClassVar[Kernel]

    arms: Sequence[str] | None = field(default=None, kw_only=True)
    """Names of the arms; `ask` then returns the name."""
    loss_range: tuple[float, float] = field(default=(0.0, 1.0), kw_only=True)
    """The range of one round's loss in your own units; `switching_cost` is read in the same units."""

    def __post_init__(self) -> None:
        self._set("arms", _checked_names(self.arms))
        if self.arms is not None and self.n_arms in (None, len(self.arms)):
            self._set("n_arms", len(self.arms))
        elif self.arms is not None:
            raise InvalidParameter(
                "n_arms",
                f"must be the number of names in arms, {len(self.arms)}, or be left out",
                self.n_arms,
            )
        if self.arms is None and isinstance(self.n_arms, (list, tuple)):
            raise InvalidParameter("n_arms", "must be a number; give names as arms=[...]", self.n_arms)
        if self.arms is None and self.n_arms is None:
            raise InvalidParameter("n_arms", "must be given, or the arms by name: arms=[...]", None)
        self._set("n_arms", whole_number("n_arms", self.n_arms, least=1, most=MOST_ARMS))
        self._set("loss_range", _checked_range(self.loss_range))

    def _set(self, name: str, value: object) -> None:
        """Put a checked value into this frozen object, while it is being made."""
        object.__setattr__(self, name, value)

    @property
    def label(self) -> str:
        """The name of this policy in a table when no other is given."""
        return self.id

    @property
    def abreast(self) -> tuple[Kernel, Kernel] | None:
        """The two kernels for several games abreast, if those of one game were made from them."""
        choose, observe = _ABREAST.get(self.choose), _ABREAST.get(self.observe)
        return None if choose is None or observe is None else (choose, observe)

    @property
    def bounds(self) -> tuple[float, float]:
        """What one round may lose, as it is told."""
        return self.loss_range

    @property
    def unit(self) -> float:
        """The width of `loss_range`: one normalised loss in the user's units."""
        return self.loss_range[1] - self.loss_range[0]

    @abstractmethod
    def parameters(self, horizon: float | None = None, blocks: int = 64) -> Array:
        """The read-only array the kernels take. `horizon` and `blocks` tell how far a tabulated schedule must reach."""

    def blocks_covered(self, params: Array) -> float:
        """The number of blocks `params` is good for: all, unless a schedule is tabulated."""
        return math.inf

    @abstractmethod
    def probabilities(self, params: Array, state: State) -> Array:
        """The distribution the current block's arm was drawn from."""

    def player(
        self, seed: object = None, *, replication: int = 0, loss_range: tuple[float, float] | None = None
    ) -> Player:
        """Begin a game. With the same `seed` it plays as replication `replication` of `simulate` does."""
        from holdfast.players import Player

        policy = self if loss_range is None else replace(self, loss_range=loss_range)
        return Player(policy, seed=seed, replication=replication)

    def settings(self) -> dict[str, Any]:
        """The parameters as plain values, enough to make this policy again."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return {"policy": self.id} | {
            name: list(v) if isinstance(v, tuple) else v for name, v in values.items() if v is not None
        }


def must_be_given(policy: Policy, *names: str) -> None:
    """An error for the first of `names` that was left out."""
    for name in names:
        if getattr(policy, name) is None:
            raise InvalidParameter(name, f"must be given to {type(policy).__name__}", None)


def _checked_names(arms: object) -> tuple[str, ...] | None:
    if arms is None:
        return None
    rule = "must be a list of different names"
    if isinstance(arms, (str, bytes)) or not isinstance(arms, Sequence) or len(arms) == 0:
        raise InvalidParameter("arms", rule, arms)
    if not all(isinstance(name, str) and name for name in arms):
        raise InvalidParameter("arms", rule + ", each a non-empty string", arms)
    twice = [name for i, name in enumerate(arms) if name in arms[:i]]
    if twice:
        raise InvalidParameter("arms", f"{rule}; {twice[0]!r} is there twice", list(arms))
    return tuple(arms)


def _checked_range(loss_range: object) -> tuple[float, float]:
    rule = "must be two finite numbers (lowest, highest), the first smaller"
    if not isinstance(loss_range, (tuple, list)) or len(loss_range) != 2:
        raise InvalidParameter("loss_range", rule, loss_range)
    try:
        lowest, highest = (real_number("loss_range", bound) for bound in loss_range)
    except InvalidParameter:
        raise InvalidParameter("loss_range", rule, loss_range) from None
    if not lowest < highest or not math.isfinite(highest - lowest):
        raise InvalidParameter("loss_range", rule, loss_range)
    return lowest, highest
