"""BaSE: batched successive elimination, the paper's stochastic baseline with few switches."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar, Literal

import numpy as np

from holdfast._numba.compile import kernel
from holdfast.checks import real_number, whole_number
from holdfast.errors import InvalidParameter, nearest
from holdfast.policies.protocol import ARM, BLOCK, OWN, ROUNDS, Array, Policy, State, must_be_given
from holdfast.rng import uniform
from holdfast.schedules import floor_power, least_root

GRIDS = ("arithmetic", "geometric", "minimax")
ORDERS = ("index", "random", "round-robin")

HORIZON, THRESHOLD, ORDER, BATCHES, GRID = range(5)
"""Places in `params`: T, γ ln(TK), the order, M, then the grid points t_1 … t_M."""

BATCH, ACTIVE, SHARE, TURN, PULLS, PLAYED = range(OWN, OWN + 6)
"""Places in `x`: batches begun, |A|, q, blocks begun in this batch, pulls of each active arm, rounds played."""


@kernel
def begin_batch(params: Any, x: Any, w: Any, stream: Any) -> None:
    """Set the share q of each active arm (all that is left for the leader in the last batch)."""
    x[BATCH] += 1.0
    x[TURN] = 0.0
    left = params[HORIZON] - x[PLAYED]
    if x[BATCH] >= params[BATCHES] or left <= 0.0:
        x[ACTIVE] = 1.0
        x[SHARE] = max(left, 1.0)
        return
    target = params[GRID + int(x[BATCH]) - 1]
    x[SHARE] = max(1.0, math.floor((target - x[PLAYED]) / x[ACTIVE]))
    if params[ORDER] == 1.0:
        for i in range(int(x[ACTIVE]) - 1, 0, -1):  # Fisher-Yates
            j = int(uniform(stream) * (i + 1))
            w[i], w[j] = w[j], w[i]


@kernel
def end_batch(params: Any, x: Any, C: Any, w: Any) -> None:
    """Drop each arm whose mean exceeds the least by √(γ ln(TK)/τ); before the last batch, all but the best."""
    x[PULLS] += x[SHARE]
    active = int(x[ACTIVE])
    best = w[0]
    for i in range(1, active):
        arm = w[i]
        if C[int(arm)] < C[int(best)] or (C[int(arm)] == C[int(best)] and arm < best):
            best = arm
    if x[BATCH] >= params[BATCHES] - 1.0 or x[PLAYED] >= params[HORIZON]:
        w[0] = best  # commit
        x[ACTIVE] = 1.0
        return
    threshold = math.sqrt(params[THRESHOLD] / x[PULLS]) * x[PULLS]
    kept = 0
    for i in range(active):
        if C[int(w[i])] - C[int(best)] < threshold:
            w[kept] = w[i]
            kept += 1
    x[ACTIVE] = kept


@kernel
def choose(params: Any, x: Any, C: Any, w: Any, announced: float, stream: Any) -> int:
    """The next active arm: for its whole share, or for one round when the order is round-robin."""
    x[BLOCK] += 1.0
    if x[BLOCK] == 1.0:
        for i in range(w.shape[0]):
            w[i] = i
        x[ACTIVE] = w.shape[0]
        begin_batch(params, x, w, stream)
    elif x[TURN] < 0.0:  # `observe` ended the batch
        begin_batch(params, x, w, stream)
    active = x[ACTIVE]
    if params[ORDER] == 2.0 and active > 1.0:
        place = x[TURN] % active
        rounds = 1.0
    else:
        place = x[TURN]
        rounds = x[SHARE]
    x[TURN] += 1.0
    arm = int(w[int(place)])
    x[ARM], x[ROUNDS] = arm, rounds
    return arm


@kernel
def observe(params: Any, x: Any, C: Any, w: Any, total: float, rounds: float) -> None:
    """Add the loss; after the last block of a batch, eliminate."""
    C[int(x[ARM])] += total
    x[PLAYED] += rounds
    turns = x[ACTIVE]
    if params[ORDER] == 2.0 and x[ACTIVE] > 1.0:
        turns *= x[SHARE]
    if x[TURN] >= turns:
        end_batch(params, x, C, w)
        x[TURN] = -1.0


@dataclass(frozen=True)
class BaSE(Policy):
    """Batched successive elimination (Gao, Han, Ren and Zhou, NeurIPS 2019) on a grid of batches.

    In batch m every arm still active is held for its share of the rounds up to t_m; then an arm is dropped
    when its mean loss exceeds the least by √(γ ln(TK)/τ), τ the rounds each active arm has had. The last batch
    commits to the best mean. It must know the horizon T, and has no guarantee unless the losses are i.i.d.

    The paper says neither how many batches, nor which γ, nor in which order (errata, point 23). Defaults:
    M = ⌈ln T⌉ geometric, ⌈T^0.4⌉ arithmetic, ⌈log₂ log₂ T⌉ minimax; γ = 0.5 as in its authors' code; arms in
    the order of their index. Past the horizon it stays with the arm it committed to.

    >>> BaSE(8, horizon=100_000).batches
    12
    """

    choose: ClassVar[Callable[..., Any]] = staticmethod(choose)
    observe: ClassVar[Callable[..., Any]] = staticmethod(observe)

    horizon: int = None  # type: ignore[assignment]
    """T, the number of rounds that will be played."""
    grid: Literal["arithmetic", "geometric", "minimax"] = "geometric"
    batches: int = field(default=0, kw_only=True)
    """M; 0 stands for the grid's default."""
    gamma: float = field(default=0.5, kw_only=True)
    order: Literal["index", "random", "round-robin"] = field(default="index", kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        must_be_given(self, "horizon")
        self._set("horizon", whole_number("horizon", self.horizon, least=1))
        for name, known in (("grid", GRIDS), ("order", ORDERS)):
            value = getattr(self, name)
            if value not in known:
                rule = f"must be one of {', '.join(map(repr, known))}{nearest(value, known)}"
                raise InvalidParameter(name, rule, value)
        self._set("gamma", real_number("gamma", self.gamma, above=0))
        batches = whole_number("batches", self.batches, least=0, most=self.horizon)
        self._set("batches", batches or default_batches(self.grid, self.horizon))

    @property
    def id(self) -> str:  # type: ignore[override]
        """``base-arithmetic``, ``base-geometric`` or ``base-minimax``."""
        return f"base-{self.grid}"

    @property
    def grid_points(self) -> tuple[int, ...]:
        """t_1, …, t_M with t_M = T."""
        return grid_points(self.grid, self.batches, self.horizon)

    def parameters(self, horizon: float | None = None, blocks: int = 64) -> Array:
        """As the kernels take them."""
        threshold = self.gamma * math.log(self.horizon * self.n_arms)
        head = [self.horizon, threshold, ORDERS.index(self.order), self.batches]
        return np.array([*head, *self.grid_points], dtype=np.float64)

    def probabilities(self, params: Array, state: State) -> Array:
        """All on the current arm: it was not drawn."""
        p = np.zeros(self.n_arms)
        p[int(state.x[ARM])] = 1.0
        return p


def default_batches(grid: str, horizon: int) -> int:
    """M where none is given."""
    if grid == "geometric":
        batches = math.ceil(math.log(horizon))
    elif grid == "arithmetic":
        batches = least_root(Fraction(horizon**2), 5)  # ⌈T^0.4⌉
    else:
        batches = math.ceil(math.log2(max(2.0, math.log2(max(2, horizon)))))
    return min(max(batches, 1), horizon)


def grid_points(grid: str, batches: int, horizon: int) -> tuple[int, ...]:
    """Ends t_1 < … < t_M = T of the batches: ⌊mT/M⌋, ⌊T^{m/M}⌋, or ⌊a^{2−2^{1−m}}⌋ with a = T^{1/(2−2^{1−M})}."""
    M, T = batches, horizon
    if grid == "arithmetic":
        points = [m * T // M for m in range(1, M)]
    elif grid == "geometric":
        points = [floor_power(T, Fraction(m, M)) for m in range(1, M)]
    else:  # a^{2−2^{1−m}} is T to a quotient of the powers of two below
        points = [floor_power(T, Fraction(2**M - 2 ** (M - m), 2**M - 1)) for m in range(1, M)]
    return (*points, T)
