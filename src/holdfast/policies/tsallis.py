"""Algorithm 1 of the paper: follow the regularised leader with the ½-Tsallis regulariser, on blocks.

Tsallis-Switch, its varying-cost version and Tsallis-INF differ in the schedule of block lengths and learning rates
only; with each, losses are estimated by importance weighting or with reduced variance. `algorithm_1` puts the parts
together. Any number of games is played side by side, because no schedule depends on what is drawn.

A block may be observed at any time after its draw: all that its estimate needs is in it. Where it is observed before
anything else happens, as in a simulation, the next solution starts from the sums of this one, corrected in O(1);
otherwise from its s alone, which takes a pass or two more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np

from holdfast._numba.compile import kernel
from holdfast.checks import LARGEST, among, real_number, whole_number
from holdfast.errors import InvalidParameter
from holdfast.numerics import schedules
from holdfast.numerics.layout import Array, Flag, NonNegative, PerArm, Range, Scalar, Scratch, Whole, layout_of
from holdfast.numerics.random import next_uniform
from holdfast.numerics.schedules import LONGEST
from holdfast.numerics.simplex import (
    WIDEST,
    draw_squares,
    refine,
    refined,
    smallest,
    smallest_other,
    tsallis_solve,
    tsallis_start,
)
from holdfast.policies.policy import (
    ANNOUNCED,
    RAREST,
    Announcement,
    Kernel,
    Kernels,
    Policy,
    rearranged,
)

Above = Range(above=0.0, most=WIDEST)


class TsallisState(NamedTuple):
    """The state between two blocks."""

    n: Annotated[Scalar, Whole]  # blocks begun
    C: PerArm  # cumulative loss estimates, up to a common shift
    least: Scalar  # min C
    s: Annotated[Scalar, Range(-WIDEST, WIDEST)]  # min C − x of the last solution
    sum: Annotated[Scalar, NonNegative]  # a_n of Theorem 4, Σ b_t² of Theorem 2
    S3: Annotated[Scalar, NonNegative]  # Σ w³ and Σ w⁴ of the last solution
    S4: Annotated[Scalar, NonNegative]
    rest2: Annotated[Scalar, NonNegative]  # Σ w², Σ w³, Σ w⁴ without the arm that was observed last
    rest3: Annotated[Scalar, NonNegative]
    rest4: Annotated[Scalar, NonNegative]
    moved: Annotated[Scalar, NonNegative]  # D + s of that arm; 0 where the sums are of no use
    fresh: Annotated[Scalar, Flag]  # 1 if C is as the last draw left it
    w: Annotated[PerArm, Above]  # √ρ √p_i of the last draw, up to `step`
    step: Scalar  # the solver's last step, over which w is refined
    S2: Scratch  # Σ w² of the last solution
    target: Scratch  # the draw: what Σ w² must exceed
    reached: Scratch  # and what it has come to
    updated: Scratch  # C of the arm that is observed, with its loss
    lowest: Scratch  # min C after that


class TsallisBlock(NamedTuple):
    """Values that a block's estimate is made of."""

    arm: Scalar
    rounds: Scalar
    probability: Annotated[Scalar, Range(RAREST, 1.0 + 1e-9)]
    n: Annotated[Scalar, Range(1.0, Whole.most, whole=True)]  # its number
    rho: Annotated[Scalar, Above]  # ρ = η²/4
    y: Annotated[Scalar, Above]  # C_I − min C + s: 1/p_I = ρy²
    v: Annotated[Scalar, Above]  # √ρ √p_I
    baseline: Annotated[Scalar, NonNegative]  # reduced variance: b_I, which C_I has got at the draw
    before: Scalar  # and C_I before that


REBASE = 4096.0
"""C is shifted back to a minimum of zero when that exceeds this many s: p depends on differences only."""


# Schedules: |B_n|, η_n and the largest loss of the block that begins, number state.n; and what they read of `params`.


class Schedule(NamedTuple):
    """A kernel, and its parameters."""

    kernel: Kernel
    params: type


class RateParams(NamedTuple):
    """Parameters of Theorems 2 and 4."""

    rate_factor: float  # of the learning rate


class LambdaParams(NamedTuple):
    """Parameters of Theorem 1."""

    rate_factor: float
    lam: float  # λ


class BoundParams(NamedTuple):
    """Parameters of Corollary 3."""

    rate_factor: float
    bound: float  # B


class GivenParams(NamedTuple):
    """Parameters of a schedule given by hand, for n = 1, 2, …"""

    lengths: Array
    rates: Array


@kernel
def theorem_1(params: Any, state: Any, announced: float) -> tuple[float, float, float]:
    """Set the schedule of Theorem 1, for the switching cost λ."""
    n = state.n[0]
    a = schedules.theorem_1_length(n, float(state.C.shape[0]), params.lam)  # a_n
    rounds = schedules.whole_rounds(a)
    return rounds, params.rate_factor * schedules.theorem_1_rate(n, a), rounds


@kernel
def theorem_4(params: Any, state: Any, announced: float) -> tuple[float, float, float]:
    """Set the schedule of Theorem 4, for the announced switching cost λ_n."""
    K = float(state.C.shape[0])
    state.sum[0] += schedules.theorem_4_increment(state.n[0], K, announced)  # a_n
    rounds = schedules.whole_rounds(schedules.theorem_4_length(K, announced, state.sum[0]))
    return rounds, params.rate_factor * schedules.theorem_4_rate(K, state.sum[0]), rounds


@kernel
def corollary_3(params: Any, state: Any, announced: float) -> tuple[float, float, float]:
    """Set the schedule of Corollary 3, for losses in [0, B]: one round at a time."""
    return 1.0, params.rate_factor * schedules.corollary_3_rate(state.n[0], params.bound), params.bound


@kernel
def theorem_2(params: Any, state: Any, announced: float) -> tuple[float, float, float]:
    """Set the schedule of Theorem 2, for losses in [0, b_t], b_t announced: one round at a time."""
    state.sum[0] += announced * announced  # Σ b_s²
    return 1.0, params.rate_factor * schedules.theorem_2_rate(state.sum[0]), announced


@kernel
def given(params: Any, state: Any, announced: float) -> tuple[float, float, float]:
    """Set the given block lengths and learning rates, as Algorithm 1 takes them."""
    n, last = int(state.n[0]), params.lengths.shape[0]
    row = (n if n < last else last) - 1
    return params.lengths[row], params.rates[row], params.lengths[row]


THEOREM_1, COROLLARY_3 = Schedule(theorem_1, LambdaParams), Schedule(corollary_3, BoundParams)
THEOREM_2, THEOREM_4 = Schedule(theorem_2, RateParams), Schedule(theorem_4, RateParams)
GIVEN = Schedule(given, GivenParams)


@kernel
def solve_block(state: Any, eta: float) -> int:
    """Compute p_n as `state.w` and `state.step`. Return the solver's passes over the arms."""
    r, rho = 2.0 / eta, 0.25 * eta * eta
    for g in range(state.s.shape[0]):
        s, y = state.s[g], state.moved[g]
        start = tsallis_start(r, rho, s, state.rest2[g], state.rest3[g], state.rest4[g], y)
        state.s[g] = start if y > 0.0 else (r if r > s else s)
        state.moved[g] = 0.0
    passes: int = tsallis_solve(  # p_n = argmin ⟨p, C_{n−1}⟩ − Σ (4√p_i − 2p_i)/η_n    Algorithm 1, line 4
        state.C, state.least, r, rho, state.s, state.w, state.step, state.S2, state.S3, state.S4
    )
    return passes


@kernel
def draw_block(state: Any, rounds: float, eta: float, streams: Any, block: Any) -> None:
    """Compute p_n, and draw I_n from it (Algorithm 1, lines 4 and 5)."""
    solve_block(state, eta)
    rho, C, w = 0.25 * eta * eta, state.C, state.w
    for g in range(state.s.shape[0]):
        state.target[g] = next_uniform(streams, g) * rho
    draw_squares(w, state.step, rho, state.target, state.reached, block.arm)  # I_n ~ p_n    Algorithm 1, line 5
    for g in range(state.s.shape[0]):
        arm = int(block.arm[g])
        v = refined(w[arm, g], state.step[g])
        p = v * v / rho  # p_I = (2v/η)²
        block.v[g] = v
        block.y[g] = (C[arm, g] - state.least[g]) + state.s[g]
        block.probability[g] = p if p < 1.0 else 1.0
    block.rounds[0], block.rho[0], block.n[0], state.fresh[0] = rounds, rho, state.n[0], 1.0


@kernel
def observe(params: Any, state: Any, block: Any, totals: Any, rounds: float) -> None:
    """Add the estimate C_I += c/p_I (Algorithm 1, lines 6 to 8), with 1/p_I = ρ(D_I + s)²."""
    rho, C = block.rho[0], state.C
    in_order = state.fresh[0] == 1.0 and block.n[0] == state.n[0]
    smallest_other(C, block.arm, state.lowest)  # before the loss is needed: the processor can begin early
    for g in range(state.s.shape[0]):
        arm = int(block.arm[g])
        v, y = block.v[g], block.y[g]
        q = v * v
        rest2, rest3, rest4 = rho - q, state.S3[g] - q * v, state.S4[g] - q * q
        state.rest2[g] = rest2 if rest2 > 0.0 else 0.0
        state.rest3[g] = rest3 if rest3 > 0.0 else 0.0
        state.rest4[g] = rest4 if rest4 > 0.0 else 0.0
        updated = C[arm, g] + totals[g] * rho * y * y  # C_n(I) = C_{n−1}(I) + c_n/p_n(I)    Algorithm 1, line 7
        state.updated[g] = updated
        state.lowest[g] = state.lowest[g] if state.lowest[g] < updated else updated
    for g in range(state.s.shape[0]):
        C[int(block.arm[g]), g] = state.updated[g]
    settle(state)
    for g in range(state.s.shape[0]):
        state.moved[g] = (C[int(block.arm[g]), g] - state.least[g]) + state.s[g] if in_order else 0.0
    state.fresh[0] = 0.0


@kernel
def draw_around_baseline(state: Any, rounds: float, eta: float, bound: float, streams: Any, block: Any) -> None:
    """Draw a block around a baseline: C_i += b_i = (B/2) 1[p_i ≥ (ηB)²] (Zimmert and Seldin 2021)."""
    if state.fresh[0] == 1.0:  # a block before this one is still out, and min C not yet that of its baselines
        smallest(state.C, state.lowest)
        settle(state)
    draw_block(state, rounds, eta, streams, block)
    rho, half, C = block.rho[0], 0.5 * bound, state.C
    threshold = 2.0 * bound * rho * (1.0 - 1e-14)  # √p ≥ ηB  ⇔  w ≥ 2Bρ, equality included
    for g in range(state.s.shape[0]):
        block.before[g] = C[int(block.arm[g]), g]
        block.baseline[g] = half if block.v[g] >= threshold else 0.0
    for i in range(C.shape[0]):
        for g in range(state.s.shape[0]):
            b = half if refined(state.w[i, g], state.step[g]) >= threshold else 0.0
            C[i, g] += b  # ℓ̂_i = b_i + 1[I = i](ℓ − b_i)/p_i: its first part


@kernel
def observe_reduced_variance(params: Any, state: Any, block: Any, totals: Any, rounds: float) -> None:
    """Add the estimate C_I += (c − b_I)/p_I."""
    rho, C = block.rho[0], state.C
    in_order = state.fresh[0] == 1.0 and block.n[0] == state.n[0]
    for g in range(state.s.shape[0]):
        arm = int(block.arm[g])
        weighted = (totals[g] - block.baseline[g]) * rho / (block.v[g] * block.v[g])  # (ℓ − b_I)/p_I
        once = block.before[g] + (block.baseline[g] + weighted)  # one rounding instead of two, where it is possible
        C[arm, g] = once if in_order else C[arm, g] + weighted
    smallest(C, state.lowest)
    settle(state)
    for g in range(state.s.shape[0]):
        state.moved[g] = 0.0
    state.fresh[0] = 0.0


@kernel
def settle(state: Any) -> None:
    """Take `lowest` as the new min C, keep s at the same x = min C − s, and keep C near zero."""
    far = 0
    for g in range(state.s.shape[0]):
        state.s[g] += state.lowest[g] - state.least[g]
        state.least[g] = state.lowest[g]
        far += int(abs(state.least[g]) > REBASE * state.s[g])
    if far > 0:
        for g in range(state.s.shape[0]):
            if abs(state.least[g]) > REBASE * state.s[g]:
                for i in range(state.C.shape[0]):
                    state.C[i, g] -= state.least[g]
                state.least[g] = 0.0


@cache
def algorithm_1(schedule: Schedule, estimator: str) -> Kernels:
    """Return the kernels of Algorithm 1 on the blocks of a schedule: only what it plays is compiled."""
    next_block = schedule.kernel
    if estimator == "importance-weighted":

        @kernel
        def choose(params: Any, state: Any, announced: float, streams: Any, block: Any) -> None:
            """Begin a block whose loss will be weighted by 1/p_I."""
            state.n[0] += 1.0
            rounds, eta, _ = next_block(params, state, announced)
            draw_block(state, rounds, eta, streams, block)

        return Kernels(choose, observe, TsallisState, TsallisBlock, True, schedule.params)

    @kernel
    def choose_reduced_variance(params: Any, state: Any, announced: float, streams: Any, block: Any) -> None:
        """Draw a block whose loss will be weighted around a baseline."""
        state.n[0] += 1.0
        rounds, eta, bound = next_block(params, state, announced)
        draw_around_baseline(state, rounds, eta, bound, streams, block)

    return Kernels(choose_reduced_variance, observe_reduced_variance, TsallisState, TsallisBlock, True, schedule.params)


FASTER = {"importance-weighted": 1.0, "reduced-variance": 2.0}
"""Learning-rate factor of each loss estimator (Zimmert and Seldin 2021)."""


class Tsallis(Policy):
    """Base of the policies that play Algorithm 1."""

    def probabilities(self, params: Any, state: Any, block: Any) -> Array:
        p = refine(state.w, float(state.step[0])) ** 2
        return np.asarray(p / p.sum())

    def correct(self, params: Any, state: Any, block: Any, was: float, now: float, rounds: float) -> bool:
        """Correct the estimate, a sum over blocks. The next solution starts as after a block observed late."""
        state.C[int(block.arm[0])] += (now - was) * block.rho[0] / block.v[0] ** 2
        state.s[0] += state.C.min() - state.least[0]
        state.least[0], state.moved[0], state.fresh[0] = state.C.min(), 0.0, 0.0
        return True

    def carried_over(self, state: Mapping[str, Any], kept: Sequence[int | None]) -> dict[str, Any]:
        """Keep the estimates. A new arm gets that of the best, and is as likely; a retired one is dropped.

        Nothing but the estimates is needed: the next solution starts from s alone, as after a block observed late.
        """
        stays = any(arm is not None for arm in kept)
        new = {"C": min(state["C"]), "w": 1e-200 if stays else len(kept) ** -0.5}  # w² = 0: not in the last draw
        after = rearranged(layout_of(TsallisState), state, kept, new)
        least = min(after["C"])
        if state["n"] == 0:
            return {**after, "w": [0.0] * len(kept)}
        v = refine(np.array(after["w"]), state["step"])
        s = max(state["s"] + (least - state["least"]), 1e-100)
        sums = {"S3": float((v**3).sum()), "S4": float((v**4).sum())}
        return {**after, **sums, "least": least, "s": s, "moved": 0.0, "fresh": 0.0}


@dataclass(frozen=True)
class WithEstimator(Tsallis):
    """Algorithm 1 with either estimator of losses; `label` says which."""

    estimator: Literal["importance-weighted", "reduced-variance"] = field(
        default="importance-weighted", kw_only=True, metadata=among(FASTER)
    )

    @property
    def label(self) -> str:
        return self.id if self.estimator == "importance-weighted" else f"{self.id}-rv"


# Tsallis-Switch: the paper's algorithm, for a fixed and for a varying switching cost.

FASTEST = 1e15
"""Largest learning rate: beyond it, losses of order 1 are lost in rounding."""

MOST_TABULATED = 10**8
"""Most blocks in a schedule given by hand."""

Given = Sequence[float] | Callable[[int], float]
Params = LambdaParams | GivenParams


@dataclass(frozen=True)
class TsallisSwitch(WithEstimator):
    """Algorithm 1 with the block lengths and learning rates of Theorem 1.

    Block n holds its arm for max(⌈a_n⌉, 1) rounds, a_n = (3λ/2)√(n/K), with η_n = 2/(a_n + 1)·√(2/n). It needs
    neither the horizon nor the regime. Its pseudo-regret with switching cost is O((λK)^{1/3}T^{2/3} + √(KT))
    against any oblivious adversary and O(((λK)^{2/3}T^{1/3} + ln T) Σ 1/Δ_i) when the gaps are constant and
    the best arm is unique (`holdfast.bounds.theorem_1`).

    Parameters
    ----------
    n_arms, arms, units
        The number of arms K, or their names; the lowest and the highest loss of a round. As for every policy.
    switching_cost
        λ: cost of one switch, in `units`. Only a schedule given by hand does without.
    estimator
        ``"importance-weighted"``: c/p_I for the arm played, as in the paper. ``"reduced-variance"``: the same around
        half of a block's length where p_i ≥ (η_n|B_n|)², with twice the rate; not in the paper.
    block_lengths, learning_rates
        A schedule other than Theorem 1's, as the algorithm's input allows: lists for n = 1, 2, …, or functions of n
        for an endless game. Rates must not increase.

    Examples
    --------
    >>> player = TsallisSwitch(n_arms=3, switching_cost=2.0).player(seed=1)
    >>> arm = player.ask()
    >>> player.hold
    2
    """

    id = "tsallis-switch"

    switching_cost: float | None = field(default=None, kw_only=True)
    block_lengths: Given | None = field(default=None, kw_only=True)
    learning_rates: Given | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        given = self.block_lengths is not None or self.learning_rates is not None
        if self.switching_cost is None and given:
            self._set("switching_cost", 0.0)  # a given schedule has no use for it
        if self.switching_cost is None:
            raise InvalidParameter("switching_cost", "must be given to TsallisSwitch", None)
        self._set("switching_cost", self.one_cost(self.switching_cost))
        if (self.block_lengths is None) != (self.learning_rates is None):
            missing = "learning_rates" if self.learning_rates is None else "block_lengths"
            raise InvalidParameter(missing, "must be given together with the other half of the schedule", None)
        for name in ("block_lengths", "learning_rates"):
            given = getattr(self, name)
            if given is not None and not callable(given):
                values = () if isinstance(given, str) or not isinstance(given, Iterable) else tuple(given)
                if not values:
                    raise InvalidParameter(name, "must be a function of n or a list of numbers", given)
                self._set(name, tuple(v.item() if isinstance(v, np.generic) else v for v in values))
        if self.block_lengths is not None and not callable(self.block_lengths):
            self.table(len(self.block_lengths))
        if self.learning_rates is not None and not callable(self.learning_rates):
            self.table(len(self.learning_rates))

    @property
    def kernels(self) -> Kernels:
        schedule = THEOREM_1 if self.block_lengths is None else GIVEN
        return algorithm_1(schedule, self.estimator)

    def table(self, blocks: int) -> tuple[Array, Array]:
        """Return the given schedule up to block `blocks`, or as far as its lists reach, checked."""
        if blocks > MOST_TABULATED:
            raise InvalidParameter("block_lengths", f"must end by block {MOST_TABULATED}", f"{blocks} blocks")
        lengths, rates = np.empty(0), np.empty(0)
        for name, given in (("block_lengths", self.block_lengths), ("learning_rates", self.learning_rates)):
            numbers = range(1, blocks + 1)
            values = [given(n) for n in numbers] if callable(given) else list((given or ())[:blocks])
            if name == "block_lengths":
                lengths = np.array(
                    [
                        float(whole_number(f"block_lengths at n={n}", v, least=1, most=int(LONGEST)))
                        for n, v in enumerate(values, 1)
                    ]
                )
            else:
                rates = np.array(
                    [
                        real_number(f"learning_rates at n={n}", v, least=1 / LARGEST, most=FASTEST)
                        for n, v in enumerate(values, 1)
                    ]
                )
        rises = np.nonzero(np.diff(rates) > 0)[0]
        if len(rises):
            n = int(rises[0]) + 2
            raise InvalidParameter(
                f"learning_rates at n={n}", f"must not exceed {rates.item(n - 2)!r} at n={n - 1}", rates.item(n - 1)
            )
        shared = min(len(lengths), len(rates))
        return lengths[:shared], rates[:shared]

    def parameters(self) -> Params:
        return self.parameters_reaching(block=64)

    def parameters_reaching(self, *, block: int = 1, horizon: float = 1.0) -> Params:
        if self.block_lengths is None:
            lam = (self.switching_cost or 0.0) / self.unit
            return LambdaParams(FASTER[self.estimator], lam)
        lengths, rates = self.table(block)
        while lengths.sum() < horizon:
            if len(lengths) < block:
                rule = f"must cover the horizon of {horizon:g} rounds; they end after {lengths.sum():g} rounds"
                raise InvalidParameter("block_lengths and learning_rates", rule, f"{len(lengths)} blocks")
            block *= 2
            lengths, rates = self.table(block)
        return GivenParams(lengths, rates)

    def blocks_covered(self, params: Any) -> float:
        return math.inf if self.block_lengths is None else float(len(params.lengths))


@dataclass(frozen=True)
class VaryingTsallisSwitch(Tsallis):
    """Algorithm 1 with the schedule of Theorem 4, for a switching cost λ_n announced at the start of block n.

    a_n = Σ_{s≤n} (λ_s + √(K/s)), |B_n| = max(⌈√(λ_n a_n/K)⌉, 1), η_n = 2√(2K)/(3a_n). The costs must not depend
    on the arms drawn (errata, point 20). For a constant cost use `TsallisSwitch`: this schedule learns two to
    six times slower there (errata, point 19).

    Parameters
    ----------
    n_arms, arms, units
        The number of arms K, or their names; the lowest and the highest loss of a round. As for every policy.

    Examples
    --------
    >>> player = VaryingTsallisSwitch(n_arms=4).player(seed=1)
    >>> arm = player.ask(switching_cost=0.3)
    >>> player.tell(0.5)
    """

    id = "tsallis-switch-varying"
    kernels = algorithm_1(THEOREM_4, "importance-weighted")

    @property
    def announces(self) -> Announcement:
        return "switching_cost"

    def parameters(self) -> RateParams:
        return RateParams(rate_factor=1.0)


# Tsallis-INF: the algorithm without blocks on which Tsallis-Switch is built.


@dataclass(frozen=True)
class TsallisInf(WithEstimator):
    """Tsallis-INF (Zimmert and Seldin, JMLR 2021), as generalised by Theorem 2 and Corollary 3 of the paper.

    It redraws in each round and ignores switching costs: the baseline to which Tsallis-Switch
    is compared. η_t = 2/(B√t) for losses in [0, B].

    Parameters
    ----------
    n_arms, arms, units
        The number of arms K, or their names; the lowest and the highest loss of a round. As for every policy.
    estimator
        ``"importance-weighted"``: ℓ/p_I for the arm played. ``"reduced-variance"``: the same around B/2 where
        p_i ≥ (η_t B)², with twice the rate.
    loss_bound
        B; or ``"announced"``: then each round's bound b_t is told by ``ask(loss_bound=b)`` before it is played, and
        η_t = 2/√(Σ b_s²), which Theorem 2 allows.

    Examples
    --------
    >>> player = TsallisInf(3, loss_bound="announced").player(seed=2)
    >>> arm = player.ask(loss_bound=4.0)
    >>> player.tell(3.5)
    """

    id = "tsallis-inf"

    loss_bound: float | Literal["announced"] = field(default=1.0, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.loss_bound != ANNOUNCED:
            if isinstance(self.loss_bound, str):
                raise InvalidParameter("loss_bound", "must be a number above 0 or 'announced'", self.loss_bound)
            self._set("loss_bound", real_number("loss_bound", self.loss_bound, least=1 / LARGEST, most=LARGEST))
        if self.loss_bound != 1.0 and self.units != (0.0, 1.0):
            raise InvalidParameter("loss_bound", "and units cannot both be given", self.loss_bound)

    @property
    def announces(self) -> Announcement | None:
        return "loss_bound" if self.loss_bound == ANNOUNCED else None

    @property
    def bounds(self) -> tuple[float, float]:
        return self.units if isinstance(self.loss_bound, str) or self.loss_bound == 1.0 else (0.0, self.loss_bound)

    @property
    def kernels(self) -> Kernels:
        schedule = THEOREM_2 if self.loss_bound == ANNOUNCED else COROLLARY_3
        return algorithm_1(schedule, self.estimator)

    def parameters(self) -> RateParams | BoundParams:
        faster = FASTER[self.estimator]
        if isinstance(self.loss_bound, str):
            return RateParams(faster)
        return BoundParams(faster, self.loss_bound)
