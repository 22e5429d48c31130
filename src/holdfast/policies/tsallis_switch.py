"""Tsallis-Switch: the paper's algorithm, for a fixed and for a varying switching cost."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from holdfast.checks import LARGEST, one_of, real_number, whole_number
from holdfast.errors import InvalidParameter
from holdfast.layouts import Array
from holdfast.policies import tsallis_kernels as tsallis
from holdfast.policies.policy import HIGHEST_COST, Announcement, Kernels
from holdfast.schedules import LONGEST

FASTEST = 1e15
"""Learning rates beyond this are lost in the rounding of losses of order 1."""

MOST_TABULATED = 10**8
"""Blocks that a schedule given by hand may have."""

Given = Sequence[float] | Callable[[int], float]
Params = tsallis.LambdaParams | tsallis.GivenParams


@dataclass(frozen=True)
class TsallisSwitch(tsallis.Tsallis):
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
        λ: what one switch costs, in `units`. Only a schedule given by hand can do without.
    estimator
        ``"importance-weighted"``: c/p_I for the arm played, as in the paper. ``"reduced-variance"``: the same around
        half of a block's length where p_i ≥ (η_n|B_n|)², with twice the rate; not in the paper.
    block_lengths, learning_rates
        Another schedule than Theorem 1's, as the algorithm's input allows: lists for n = 1, 2, …, or functions of n
        for an endless game. Rates must not increase.

    Examples
    --------
    >>> player = TsallisSwitch(n_arms=3, switching_cost=2.0).player(seed=1)
    >>> arm = player.ask()
    >>> player.hold
    2
    """

    id: ClassVar[str] = "tsallis-switch"

    switching_cost: float | None = field(default=None, kw_only=True)
    estimator: Literal["importance-weighted", "reduced-variance"] = field(default="importance-weighted", kw_only=True)
    block_lengths: Given | None = field(default=None, kw_only=True)
    learning_rates: Given | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        given = self.block_lengths is not None or self.learning_rates is not None
        if self.switching_cost is None and given:
            self._set("switching_cost", 0.0)  # a given schedule has no use for it
        if self.switching_cost is None:
            raise InvalidParameter("switching_cost", "must be given to TsallisSwitch", None)
        one_of("estimator", self.estimator, tsallis.FASTER)
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
    def label(self) -> str:
        """``tsallis-switch``, or ``tsallis-switch-rv`` with reduced variance."""
        return self.id if self.estimator == "importance-weighted" else f"{self.id}-rv"

    @property
    def reduces_variance(self) -> bool:
        """Whether losses are estimated around a baseline."""
        return self.estimator == "reduced-variance"

    @property
    def kernels(self) -> Kernels:
        """Algorithm 1's, on the blocks of Theorem 1 or on given ones."""
        schedule = tsallis.THEOREM_1 if self.block_lengths is None else tsallis.GIVEN
        return tsallis.algorithm_1(schedule, self.estimator)

    def table(self, blocks: int) -> tuple[Array, Array]:
        """The given schedule up to block `blocks`, or as far as its lists reach, checked."""
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
        """λ, or the first 64 blocks of a given schedule."""
        return self.parameters_reaching(block=64)

    def parameters_reaching(self, *, block: int = 1, horizon: float = 1.0) -> Params:
        """The same, with a given schedule tabulated up to `block`, or to cover `horizon` rounds."""
        if self.block_lengths is None:
            lam = (self.switching_cost or 0.0) / self.unit
            return tsallis.LambdaParams(tsallis.FASTER[self.estimator], lam)
        lengths, rates = self.table(block)
        while lengths.sum() < horizon:
            if len(lengths) < block:
                rule = f"must cover the horizon of {horizon:g} rounds; they end after {lengths.sum():g} rounds"
                raise InvalidParameter("block_lengths and learning_rates", rule, f"{len(lengths)} blocks")
            block *= 2
            lengths, rates = self.table(block)
        return tsallis.GivenParams(lengths, rates)

    def blocks_covered(self, params: Any) -> float:
        """The number of blocks `params` has a length and a rate for."""
        return math.inf if self.block_lengths is None else float(len(params.lengths))


@dataclass(frozen=True)
class VaryingTsallisSwitch(tsallis.Tsallis):
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

    id: ClassVar[str] = "tsallis-switch-varying"
    kernels = tsallis.algorithm_1(tsallis.THEOREM_4, "importance-weighted")

    @property
    def announces(self) -> Announcement:
        """λ_n."""
        return "switching_cost"

    def parameters(self) -> tsallis.RateParams:
        """Only the rate's."""
        return tsallis.RateParams(rate_factor=1.0)

    def sums(self, n: float) -> tuple[float, float]:
        """What a_n may be."""
        K = self.n_arms
        a = 2.0 * math.sqrt(K) * (math.sqrt(n + 1.0) - 1.0)  # ≤ Σ √(K/s), reached when every λ_s is 0
        return a * (1 - 1e-9), n * (HIGHEST_COST + math.sqrt(K))
